// A terminal of which every key is heard, and on which rows are drawn.

import Dispatch
import Glibc

/// The process's terminal, while a program has it to itself.
///
/// Nothing drawn gets into the scrollback: rows go to the alternate screen, each to its place, and none makes
/// the screen scroll.
@MainActor
public final class Terminal {
  private let old: termios
  private var drawn: [String] = []
  private var decoder = KeyDecoder()
  private var signals: [any DispatchSourceSignal] = []
  private var isOver = false
  /// Signals write into it, so that waiting ends.
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
    // The alternate screen, no wrapping, no cursor.
    send("\u{1B}[?1049h\u{1B}[?7l\u{1B}[?25l")
    for number in [SIGWINCH, SIGTERM, SIGHUP, SIGINT] { hear(number) }
  }

  private func hear(_ number: Int32) {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    let end = wake.write
    // On Dispatch's thread, not the main actor's.
    source.setEventHandler { @Sendable in
      var byte: UInt8 = number == SIGWINCH ? 0 : 1
      _ = write(end, &byte, 1)
    }
    source.resume()
    signals.append(source)
  }

  /// Gives the terminal back as it was.
  public func close() {
    guard !isOver else { return }
    isOver = true
    clear()
    send("\u{1B}[?25h\u{1B}[?7h\u{1B}[?1049l")
    var attributes = old
    tcsetattr(0, TCSAFLUSH, &attributes)
  }

  /// Columns and rows.
  public var size: (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// What happened while waiting.
  public enum Event: Equatable, Sendable {
    case key(Key)
    case resized
    /// The terminal is gone, or the process is told to end.
    case ended
  }

  /// Waits for keys or a change of size, for a time at most.
  ///
  /// - Returns: What happened; empty where the time has passed.
  public func wait(atMost seconds: Double) -> [Event] {
    let milliseconds = Int32(max(0, min(seconds * 1000, 1e9)).rounded(.up))
    guard let source = ready(within: milliseconds) else { return [] }
    if source == wake.read {
      if received(from: wake.read).contains(1) { return [.ended] }
      drawn = []
      return [.resized]
    }
    var events: [Event] = []
    repeat {
      let bytes = received(from: 0)
      if bytes.isEmpty { return events + [.ended] }
      events += decoder.keys(in: bytes, isAll: false).map { .key($0) }
    } while decoder.isInMiddle && ready(within: 25) == 0
    return events + decoder.keys(in: [], isAll: true).map { .key($0) }
  }

  /// Drops what was typed and not yet waited for.
  public func forgetTyped() {
    tcflush(0, TCIFLUSH)
    decoder = KeyDecoder()
  }

  /// The descriptor on which something has come; nil where nothing has in time.
  private func ready(within milliseconds: Int32) -> Int32? {
    var polled = [wake.read, 0].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    guard poll(&polled, 2, milliseconds) > 0 else { return nil }
    return polled.first { $0.revents != 0 }?.fd
  }

  private func received(from descriptor: Int32) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &buffer, buffer.count)
    return Array(buffer.prefix(max(count, 0)))
  }

  /// Draws rows from the top, nothing below them; only what changed is sent.
  public func draw(_ rows: [Row]) {
    let (columns, count) = size
    var sent = ""
    for index in 0..<count {
      let row = (index < rows.count ? rows[index] : Row()).sequence(columns: columns)
      if index < drawn.count, drawn[index] == row { continue }
      sent += "\u{1B}[\(index + 1);1H\u{1B}[2K\(row)"
      if index < drawn.count { drawn[index] = row } else { drawn.append(row) }
    }
    drawn = Array(drawn.prefix(count))
    send(sent)
  }

  /// Leaves nothing on the screen, nor in the memory of what was drawn.
  ///
  /// Row by row: some terminals keep in their scrollback what is erased as a whole.
  public func clear() {
    drawn = []
    send((1...size.rows).map { "\u{1B}[\($0);1H\u{1B}[2K" }.joined() + "\u{1B}[H")
  }

  private func send(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return }
      bytes = bytes.dropFirst(count)
    }
  }
}
