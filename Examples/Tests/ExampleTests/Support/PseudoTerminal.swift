// A program on a terminal whose other end a test holds.

import CTerminal
import Foundation
import Glibc
import Testing

/// A program that runs on a pseudo-terminal, and what that shows.
final class PseudoTerminal {
  private let holder: Int32
  private let process: pid_t
  private var code: Int32?
  private(set) var screen: Screen
  /// All bytes that the program sent.
  private(set) var sent: [UInt8] = []

  /// Starts a program.
  init(
    _ program: String, _ arguments: [String], in folder: URL, columns: Int = 80, rows: Int = 24,
    hasAlternate: Bool = true
  ) throws {
    var name = [CChar](repeating: 0, count: 64)
    holder = terminal_open(&name, name.count)
    guard holder >= 0 else { throw Failure(message: "there is no pseudo-terminal to be had") }
    screen = Screen(columns: columns, rows: rows, hasAlternate: hasAlternate)
    terminal_resize(holder, Int32(columns), Int32(rows))
    let device = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    process = try start(program, arguments, in: folder, terminal: device)
  }

  deinit {
    if code == nil {
      kill(process, SIGKILL)
      _ = exitCode(of: process)
    }
    close(holder)
  }

  /// Types text; `\u{3}` is Ctrl-C.
  func type(_ text: String) {
    var bytes = Array(text.utf8)
    write(holder, &bytes, bytes.count)
  }

  func resize(columns: Int, rows: Int) {
    screen.resize(columns: columns, rows: rows)
    terminal_resize(holder, Int32(columns), Int32(rows))
  }

  func send(_ signal: Int32) { kill(process, signal) }

  /// Reads until the screen is as a condition wants it.
  func expect(
    _ what: String, _ location: SourceLocation = #_sourceLocation, until isThere: (Screen) -> Bool
  ) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while !isThere(screen) {
      guard ContinuousClock.now < deadline, read() else {
        Issue.record("\(what) was not shown, but:\n\(screen.text)", sourceLocation: location)
        throw Failure(message: what)
      }
    }
  }

  /// Reads until a text is on the screen.
  func expect(_ text: String, _ location: SourceLocation = #_sourceLocation) throws {
    try expect("'\(text)'", location) { $0.text.contains(text) }
  }

  /// Reads what is left, and waits for the end.
  func finish() -> Int32 {
    while read() {}
    let code = code ?? exitCode(of: process)
    self.code = code
    return code
  }

  private func read() -> Bool {
    var polled = pollfd(fd: holder, events: Int16(POLLIN), revents: 0)
    guard poll(&polled, 1, 60_000) > 0 else { return false }
    var buffer = [UInt8](repeating: 0, count: 65536)
    let count = Glibc.read(holder, &buffer, buffer.count)
    guard count > 0 else { return false }
    sent += buffer.prefix(count)
    screen.take(buffer.prefix(count))
    return true
  }
}
