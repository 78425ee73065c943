// Where a command's words go: data to stdout, everything else to stderr.

import Foundation
import Notelog
import Synchronization

/// The process's outputs, and what they are connected to.
enum Console {
  static let out = Output(descriptor: STDOUT_FILENO)
  static let outIsTerminal = isatty(STDOUT_FILENO) == 1
  static let errorIsTerminal = isatty(STDERR_FILENO) == 1
  /// Colour only on a terminal that has it, and only if the user did not refuse it.
  private static let outHasColour: Bool = {
    let environment = ProcessInfo.processInfo.environment
    return outIsTerminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
  }()

  /// How many columns stdout's terminal has.
  static let width: Int = {
    var size = winsize()
    // SAFETY: the pointer is to a local of the type that the request fills.
    let isKnown = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    let told = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) } ?? 80
    return min(max(isKnown ? Int(size.ws_col) : told, 20), 10_000)
  }()

  /// One line on stderr, `notelog: error: …` for instance. It is for people: what is kept in a log reaches a
  /// terminal later.
  static func say(_ kind: String, _ message: String) {
    // Nothing can be done where even stderr is gone.
    try? Output(descriptor: STDERR_FILENO).writeNow("notelog: \(kind): \(Escaping.line(message))\n")
  }

  /// Asks on the terminal whether to go on: whatever is no yes is a no.
  static func confirm(_ question: String) throws {
    guard isatty(STDIN_FILENO) == 1, errorIsTerminal else {
      throw ToolError.usage("without a terminal to ask, --yes goes on")
    }
    try Output(descriptor: STDERR_FILENO).writeNow(Escaping.line(question) + " [y/N] ")
    guard ["y", "yes"].contains(readLine()?.lowercased()) else {
      throw ToolError(.no, "nothing was changed")
    }
  }

  /// `text` in an ANSI style, where the terminal has colour.
  static func styled(_ text: String, _ style: Style) -> String {
    outHasColour ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  enum Style: Int, Sendable {
    case bold = 1
    case dim = 2
    case red = 31
    case green = 32
  }
}

/// `1 segment`, `2 segments`.
func counted(_ count: Int, _ noun: String) -> String {
  "\(count) \(noun)\(count == 1 ? "" : "s")"
}

extension String {
  /// The text with blanks behind it, so that it is so wide at least.
  func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

// MARK: - A buffered stream onto a descriptor, whose every failure is heard of.

/// Standard output: written in pieces of 64 KiB, and when flushed.
final class Output: Sendable {
  private let descriptor: Int32
  private let buffer = Mutex<[UInt8]>([])
  private static let capacity = 64 << 10

  init(descriptor: Int32) { self.descriptor = descriptor }

  func write(_ text: String) throws {
    try write(bytes: Array(text.utf8))
  }

  func write(bytes: [UInt8]) throws {
    let isFull = buffer.withLock { buffer in
      buffer += bytes
      return buffer.count >= Self.capacity
    }
    if isFull { try flush() }
  }

  /// Writes a text at once, behind what has been collected.
  func writeNow(_ text: String) throws {
    try write(text)
    try flush()
  }

  /// Writes what has been collected.
  func flush() throws {
    let bytes = buffer.withLock { buffer in
      defer { buffer.removeAll(keepingCapacity: true) }
      return buffer
    }
    // SAFETY: bytes are bytes.
    let error = unsafe Descriptor.write(bytes.span.bytes, to: descriptor)
    if error == EPIPE { throw ToolError.closedPipe }
    guard error == 0 else {
      throw ToolError(.failed, "cannot write to standard output: \(systemError(error))")
    }
  }
}

// MARK: - Progress of long work: one line on stderr that rewrites itself, on a terminal only.

/// Shows how far a piece of work has come, and hears of Ctrl-C meanwhile.
final class Progress: Sendable {
  private let output: Output?
  private let what: String
  private let shown = Mutex<String?>(nil)

  /// Begins; `what` is being done, `checking` for instance.
  ///
  /// Work that prints as it goes is its own progress, if that is seen on a terminal: `besideOutput` says so.
  init(_ what: String, besideOutput: Bool = false) {
    self.what = what
    let isSeen = Console.errorIsTerminal && !(besideOutput && Console.outIsTerminal)
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

/// Runs long work of the library, which tells how far it has come; what is said of its errors is as `saying`
/// has it. On Ctrl-C it ends in order, or at once where it only reads.
func withProgress<Result>(
  _ what: String, saying words: [NotelogError.Code: ToolError] = [:], into target: String? = nil,
  onlyReading: Bool = false, _ body: (@escaping (Int, Int) -> Bool) throws -> Result
) throws -> Result {
  let progress = Progress(what)
  defer { progress.finish() }
  func run() throws -> Result {
    try saying(words, into: target) {
      try body { done, total in progress.update(done, of: total) }
    }
  }
  return try onlyReading ? run() : Interrupt.deferred(run)
}
