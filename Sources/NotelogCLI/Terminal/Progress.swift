// Progress of long work: one line on stderr that rewrites itself, on a terminal only.

/// Shows how far a piece of work has come.
struct Progress {
  private let output: Output?
  private let what: String
  private var shown: Int?

  /// Begins; `what` is being done, `checking` for instance.
  init(_ what: String, on console: Console) {
    self.what = what
    output = console.errorIsTerminal ? Output(descriptor: 2) : nil
  }

  /// Shows that `done` of `total` is done; only a change by a whole percent is written.
  mutating func update(_ done: Int, of total: Int) {
    guard let output, total > 0 else { return }
    let percent = min(100, done * 100 / total)
    guard percent != shown else { return }
    shown = percent
    // Progress that cannot be shown is no reason to stop.
    try? output.writeNow("\r\u{1B}[K\(what) \(percent) %")
  }

  /// Wipes the line.
  mutating func finish() {
    guard shown != nil else { return }
    shown = nil
    try? output?.writeNow("\r\u{1B}[K")
  }
}
