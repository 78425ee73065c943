// The figures of all engines, workload by workload, with ours beside the best peer's.

/// Figures by workload and engine.
struct Table {
  let engines: [String]
  /// Engines whose library is not there.
  var missing: Set<String> = []
  private var workloads: [String] = []
  private var figures: [String: [String: [Figure]]] = [:]

  init(engines: [String]) { self.engines = engines }

  /// Takes in a round's figure.
  mutating func add(_ figure: Figure) {
    if figures[figure.workload] == nil { workloads.append(figure.workload) }
    figures[figure.workload, default: [:]][figure.engine, default: []].append(figure)
  }

  private func median(_ workload: String, _ engine: String) -> Figure? {
    Figure.median(figures[workload]?[engine] ?? [])
  }

  /// One line of JSON a figure: medians, and the least and most that was measured.
  var json: String {
    workloads.flatMap { workload in
      engines.compactMap { engine -> String? in
        guard var figure = median(workload, engine) else { return nil }
        let values = (figures[workload]?[engine] ?? []).map(\.value)
        figure.counts += [("least", values.min() ?? 0), ("most", values.max() ?? 0)]
        if engine == "notelog", let ratio = ratio(workload) {
          figure.counts.append(("ratioToBestPeer", ratio))
        }
        return figure.json
      }
    }.joined(separator: "\n")
  }

  /// Ours over the best peer's: the median of what it was round by round, as a slow moment of the machine
  /// slows a whole round.
  private func ratio(_ workload: String) -> Double? {
    guard let ours = figures[workload]?["notelog"] else { return nil }
    let peers = engines.filter(PeerEngine.names.contains).compactMap { median(workload, $0) }
    let best =
      ours[0].isRate ? peers.max { $0.value < $1.value } : peers.min { $0.value < $1.value }
    guard let best, let theirs = figures[workload]?[best.engine] else { return nil }
    let ratios = zip(ours, theirs).map { $0.value / $1.value }.sorted()
    return ratios[(ratios.count - 1) / 2]
  }

  /// A table for people.
  var text: String {
    let shown = engines.filter { !missing.contains($0) }
    var lines = [
      Self.left("", 22) + shown.map { Self.right($0, 12) }.joined() + Self.right("ratio", 9) + "  unit"
    ]
    for workload in workloads {
      let row = shown.map { engine in
        Self.right(median(workload, engine).map { Figure.text($0.value) } ?? "–", 12)
      }
      let ratio = Self.right(ratio(workload).map { "\(Figure.text(($0 * 100).rounded() / 100))×" } ?? "–", 9)
      let unit = shown.lazy.compactMap { median(workload, $0)?.unit }.first ?? ""
      lines.append(Self.left(workload, 22) + row.joined() + ratio + "  " + unit)
    }
    return lines.joined(separator: "\n")
  }

  private static func left(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private static func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(1, width - text.count)) + text
  }
}
