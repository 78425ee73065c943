// Progress of long work: one line on stderr that rewrites itself, on a terminal only.
import Synchronization

/// Shows how far a piece of work has come, and hears of Ctrl-C meanwhile.
final class Progress: Sendable {
  private let output: Output?
  private let what: String
  private let shown = Mutex<String?>(nil)

  /// Begins; `what` is being done, `checking` for instance.
  ///
  /// Work that prints as it goes is its own progress, if that is seen on a terminal: `besideOutput` says so.
  init(_ what: String, on console: Console, besideOutput: Bool = false) {
    self.what = what
    let isSeen = console.errorIsTerminal && !(besideOutput && console.outIsTerminal)
    output = isSeen ? Output(descriptor: 2) : nil
  }

  /// Shows that `done` of `total` is done; only a change by a whole percent is written.
  ///
  /// - Returns: Whether to go on: not if Ctrl-C was typed.
  func update(_ done: Int, of total: Int) -> Bool {
    if output != nil, total > 0 { show("\(min(100, done / max(1, total / 100))) %") }
    return !Interrupt.isRequested
  }

  /// Shows how many there are so far, where nobody knows how many will come.
  func count(_ done: Int) {
    if output != nil { show("\(done)") }
  }

  private func show(_ text: String) {
    shown.withLock { shown in
      guard text != shown else { return }
      shown = text
      // Progress that cannot be shown is no reason to stop.
      try? output?.writeNow("\r\u{1B}[K\(what) \(text)")
    }
  }

  /// Wipes the line, so that what follows stands alone.
  func finish() {
    shown.withLock { shown in
      guard shown != nil else { return }
      shown = nil
      try? output?.writeNow("\r\u{1B}[K")
    }
  }
}

extension Console {
  /// Runs long work of the library, which tells how far it has come, and turns its errors into the tool's.
  func withProgress<Result>(
    _ what: String, missing: ToolError? = nil, taken: ToolError? = nil, into target: String? = nil,
    _ body: (@escaping (Int, Int) -> Bool) throws -> Result
  ) throws(ToolError) -> Result {
    let progress = Progress(what, on: self)
    defer { progress.finish() }
    return try asking(missing: missing, taken: taken, into: target) {
      try body { done, total in progress.update(done, of: total) }
    }
  }
}
