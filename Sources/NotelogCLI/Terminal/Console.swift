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

  /// Whether there is a terminal to ask on.
  static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && errorIsTerminal }

  /// Asks on the terminal whether to go on: whatever is no yes is a no.
  static func confirm(_ question: String) throws {
    guard canAsk else { throw ToolError.usage("without a terminal to ask, --yes goes on") }
    guard try ask(question) else { throw ToolError(.no, "nothing was changed") }
  }

  /// Asks on the terminal, where nothing but the return key is the answer that is proposed.
  static func ask(
    _ question: String, proposing proposed: Bool = false,
    on output: Output = Output(descriptor: STDERR_FILENO)
  ) throws -> Bool {
    try output.writeNow(Escaping.line(question) + (proposed ? " [Y/n] " : " [y/N] "))
    guard let answer = readLine()?.lowercased() else { return false }
    return answer.isEmpty ? proposed : ["y", "yes"].contains(answer)
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

/// Shows how far a piece of work has come, how fast it goes and how long it still takes, once it takes long;
/// and hears of Ctrl-C meanwhile.
final class Progress: Sendable {
  /// What ends before this shows nothing.
  static let silence = Duration.milliseconds(500)
  /// How often the line is written at most.
  private static let pause = Duration.milliseconds(100)

  private let output: Output?
  private let what: String
  private let unit: String?
  private let now: @Sendable () -> ContinuousClock.Instant
  private let start: ContinuousClock.Instant
  /// When the line is written next; and whether it is there, and all is done.
  private let line: Mutex<(next: ContinuousClock.Instant, isShown: Bool, isDone: Bool)>

  /// Begins; `what` is being done, `checking` for instance.
  ///
  /// Work that prints as it goes is its own progress, if that is seen on a terminal: `besideOutput` says so.
  /// What is counted are bytes, unless `unit` says what.
  convenience init(_ what: String, besideOutput: Bool = false, unit: String? = nil) {
    let isSeen = Console.errorIsTerminal && !(besideOutput && Console.outIsTerminal)
    self.init(what, unit: unit, on: isSeen ? Output(descriptor: STDERR_FILENO) : nil) { .now }
  }

  /// The same on an output, by a clock.
  init(
    _ what: String, unit: String?, on output: Output?,
    by now: @escaping @Sendable () -> ContinuousClock.Instant
  ) {
    (self.what, self.unit, self.output, self.now, start) = (what, unit, output, now, now())
    line = Mutex((start + Self.silence, false, false))
  }

  /// Shows that `done` of `total` is done; 0 is a total that nobody knows.
  ///
  /// - Returns: Whether to go on: not if Ctrl-C was typed.
  @discardableResult
  func update(_ done: Int, of total: Int) -> Bool {
    if let output {
      let time = now()
      line.withLock { line in
        line.isDone = total > 0 && done >= total
        guard time >= line.next else { return }
        line = (time + Self.pause, true, line.isDone)
        // Progress that cannot be shown is no reason to stop.
        try? output.writeNow("\r\u{1B}[K\(what) \(words(done, total, (time - start) / .seconds(1)))")
      }
    }
    return !Interrupt.isRequested
  }

  private func words(_ done: Int, _ total: Int, _ seconds: Double) -> String {
    let rate = Double(done) / seconds
    let tenths = Int(rate / 100_000)
    let speed = unit.map { "\(Int(rate)) \($0)/s" } ?? "\(tenths / 10).\(tenths % 10) MB/s"
    guard total > 0 else { return "\(done) \(unit ?? "bytes"), \(speed)" }
    let left = Int(min(1e9, Double(max(0, total - done)) / max(rate, 1e-9)).rounded(.up))
    let time = left < 120 ? "\(left) s" : left < 7200 ? "\(left / 60) min" : "\(left / 3600) h"
    return "\(min(99, Int(Double(done) / Double(total) * 100))) %, \(speed), \(time) left"
  }

  /// Ends the line with 100 % where all was done, and wipes it where it was not: what follows stands alone.
  func finish(isDone: Bool = false) {
    line.withLock { line in
      guard line.isShown else { return }
      line.isShown = false
      try? output?.writeNow("\r\u{1B}[K" + (isDone || line.isDone ? "\(what) 100 %\n" : ""))
    }
  }
}

/// Runs long work of the library, which tells how far it has come; what is said of its errors is as `saying`
/// has it. On Ctrl-C it ends in order, or at once where it only reads.
func withProgress<Result>(
  _ what: String, unit: String? = nil, saying words: [NotelogError.Code: ToolError] = [:],
  into target: String? = nil, onlyReading: Bool = false,
  _ body: (@escaping (Int, Int) -> Bool) throws -> Result
) throws -> Result {
  let progress = Progress(what, unit: unit)
  defer { progress.finish() }
  func run() throws -> Result {
    try saying(words, into: target) { try body(progress.update) }
  }
  let result = try onlyReading ? run() : Interrupt.deferred(run)
  progress.finish(isDone: !Interrupt.isRequested)
  return result
}

extension ToolError {
  /// Says it, and what can be done.
  func say() {
    Console.say("error", message)
    if let hint { Console.say("hint", hint) }
  }
}
