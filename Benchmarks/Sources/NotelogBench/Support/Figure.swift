// What was measured: one figure, its line of JSON, and the median of several rounds.
import Foundation

/// One figure.
struct Figure {
  var engine: String
  var workload: String
  var value: Double
  var unit: String
  /// Nanoseconds at p50, p90, p99 and p99.9 where the workload has operations.
  var latencies: Latencies?
  /// What else was counted, by name: system calls an operation and the like.
  var counts: [(name: String, value: Double)] = []

  /// Whether more is better.
  var isRate: Bool { unit.hasSuffix("/s") }

  var json: String {
    var fields = [
      #""engine":"\#(engine)""#, #""workload":"\#(workload)""#, #""value":\#(Self.text(value))"#,
      #""unit":"\#(unit)""#,
    ]
    if let latencies {
      fields += latencies.named.map { #""\#($0.name)Nanoseconds":\#($0.value)"# }
    }
    fields += counts.map { #""\#($0.name)":\#(Self.text($0.value))"# }
    return "{" + fields.joined(separator: ",") + "}"
  }

  /// A line for people.
  var row: String {
    let name = workload.padding(toLength: max(36, workload.count), withPad: " ", startingAt: 0)
    let number = Self.text(value)
    let times = (latencies?.named ?? []).map { "\($0.name) \(Self.text(Double($0.value) / 1e6)) ms" }
    let details = (times + counts.map { "\($0.name) \(Self.text($0.value))" }).joined(separator: ", ")
    return name + String(repeating: " ", count: max(1, 12 - number.count)) + number + " " + unit
      + (details.isEmpty ? "" : "  (\(details))")
  }

  /// A number with as many digits as it deserves.
  static func text(_ value: Double) -> String {
    value.magnitude >= 100 ? String(Int(value.rounded())) : String((value * 1000).rounded() / 1000)
  }

  /// The figure whose value is the median of several rounds'.
  static func median(_ figures: [Figure]) -> Figure? {
    let sorted = figures.sorted { $0.value < $1.value }
    guard !sorted.isEmpty else { return nil }
    return sorted[(sorted.count - 1) / 2]
  }
}

/// The times that operations took.
struct Latencies {
  let named: [(name: String, value: UInt64)]

  /// The percentiles of some times.
  init?(_ times: [UInt64]) {
    let sorted = times.sorted()
    guard !sorted.isEmpty else { return nil }
    named = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)].map { name, part in
      (name, sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))])
    }
  }
}
