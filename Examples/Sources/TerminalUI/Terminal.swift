// A terminal of which every key is heard, and on which lines are drawn.

import Dispatch
import Glibc

/// The process's terminal, while a program has it for itself: on the alternate screen, so that nothing gets into the scrollback.
@MainActor
public final class Terminal {
  private let old: termios
  private var drawn: [String] = []
  private var decoder = KeyDecoder()
  private var sources: [any DispatchSourceSignal] = []
  private var isOver = false
  /// Written to by signals, so that waiting ends.
  private let wake: (read: Int32, write: Int32)

  /// Takes the terminal.
  ///
  /// - Returns: Nil where standard input or output is none.
  public init?() {
    var attributes = termios()
    var ends: [Int32] = [0, 0]
    guard isatty(0) == 1, isatty(1) == 1, tcgetattr(0, &attributes) == 0, pipe(&ends) == 0 else { return nil }
    old = attributes
    wake = (ends[0], ends[1])
    cfmakeraw(&attributes)
    tcsetattr(0, TCSAFLUSH, &attributes)
    send("\u{1B}[?1049h\u{1B}[?25l")
    for number in [SIGWINCH, SIGTERM, SIGHUP, SIGINT] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      let end = wake.write
      source.setEventHandler { @Sendable in
        var byte: UInt8 = number == SIGWINCH ? 0 : 1
        _ = write(end, &byte, 1)
      }
      source.resume()
      sources.append(source)
    }
  }

  /// Gives the terminal back as it was.
  public func close() {
    guard !isOver else { return }
    isOver = true
    clear()
    send("\u{1B}[?25h\u{1B}[?1049l")
    var attributes = old
    tcsetattr(0, TCSAFLUSH, &attributes)
  }

  /// Columns and lines.
  public var size: (columns: Int, lines: Int) {
    var size = winsize()
    guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// What happened while waiting.
  public enum Event: Equatable, Sendable {
    case key(Key)
    case resized
    /// Nothing, for as long as was waited for.
    case idle
    /// The terminal is gone, or the process is told to end.
    case ended
  }

  /// Waits for keys, a change of size, or the time to pass.
  public func wait(_ seconds: Double) -> [Event] {
    var polled = [
      pollfd(fd: 0, events: Int16(POLLIN), revents: 0),
      pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0),
    ]
    guard poll(&polled, 2, Int32(max(0, min(seconds * 1000, 1e9)))) > 0 else { return [.idle] }
    var buffer = [UInt8](repeating: 0, count: 4096)
    if polled[1].revents != 0 {
      let count = read(wake.read, &buffer, buffer.count)
      if buffer.prefix(max(count, 0)).contains(1) { return [.ended] }
      drawn = []
      return [.resized]
    }
    let count = read(0, &buffer, buffer.count)
    if count <= 0 { return [.ended] }
    return decoder.keys(in: buffer.prefix(count)).map { .key($0) }
  }

  /// Draws lines from the top, one of them inverse; only those that changed are sent.
  public func draw(_ lines: [String], inverse: Int? = nil) {
    let (columns, count) = size
    var sent = drawn.isEmpty ? "\u{1B}[2J" : ""
    for index in 0..<count {
      var line = (index < lines.count ? lines[index] : "").fitted(to: columns)
      if index == inverse { line = "\u{1B}[7m\(line)\u{1B}[0m" }
      if index < drawn.count, drawn[index] == line { continue }
      sent += "\u{1B}[\(index + 1);1H\(line)"
      if index < drawn.count { drawn[index] = line } else { drawn.append(line) }
    }
    drawn = Array(drawn.prefix(count))
    send(sent)
  }

  /// Leaves nothing on the screen, nor in the memory of what was drawn.
  public func clear() {
    drawn = []
    send("\u{1B}[2J\u{1B}[3J\u{1B}[H")
  }

  private func send(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
      if count <= 0 { return }
      bytes = bytes.dropFirst(count)
    }
  }
}
