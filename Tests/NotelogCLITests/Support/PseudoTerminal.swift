// A real terminal for the tool, held at its other end by a test.
import CTestSupport
import Foundation
import Testing

/// A pseudo-terminal with a script running on it as its controlling terminal.
final class PseudoTerminal {
  private let holder: Int32
  private let child: Child
  /// All that was shown so far.
  private(set) var shown = ""
  private var seen = 0

  /// Runs `script` on a new terminal.
  init(_ script: String, in workbench: Workbench, environment: [String: String] = [:]) throws {
    var name = [CChar](repeating: 0, count: 64)
    // SAFETY: the pointer and count are the array's own.
    holder = unsafe terminal_open(&name, name.count)
    try #require(holder >= 0)
    let device = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    child = try Child.start(
      ["/bin/sh", "-c", script], in: workbench.folder,
      environment: Workbench.environment.merging(environment) { $1 }, streams: .terminal(device))
  }

  deinit { close(holder) }

  /// Reads until `text` was shown, after what was awaited before.
  func awaitText(_ text: String) throws {
    while true {
      let fresh = shown.dropFirst(seen)
      if let range = fresh.range(of: text) {
        seen = shown.distance(from: shown.startIndex, to: range.upperBound)
        return
      }
      try #require(readMore(), "the script ended without showing '\(text)', but: \(shown)")
    }
  }

  /// Types `text`; `\u{3}` is Ctrl-C.
  func type(_ text: String) throws {
    // SAFETY: the pointer and count are the array's own.
    let count = unsafe Array(text.utf8).withUnsafeBytes { unsafe write(holder, $0.baseAddress, $0.count) }
    try #require(count == text.utf8.count)
  }

  /// Sends a signal to the process on the terminal.
  func send(_ signal: Int32) { child.send(signal) }

  /// Whether what is typed is shown.
  var echoes: Bool {
    var settings = termios()
    // SAFETY: the pointer is to a local.
    return unsafe tcgetattr(holder, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
  }

  /// Reads to the end, types an answer whenever what is shown ends in its question, and waits for the
  /// script's end.
  func finish(answering answers: [(question: String, answer: String)]) throws -> Int32 {
    while readMore() {
      if let (_, answer) = answers.first(where: { shown.hasSuffix($0.question) }) { try type(answer) }
    }
    return child.wait()
  }

  /// Reads what is left and waits for the script's end.
  func finish() -> Int32 {
    while readMore() {}
    return child.wait()
  }

  private func readMore() -> Bool {
    var bytes = [UInt8](repeating: 0, count: 4096)
    var wasClosed = false
    while true {
      // SAFETY: the pointer and count are the array's own.
      let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(holder, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      // Where the script writes and closes just then, the system says so before it gives what was written.
      if count < 0, errno == EIO, !wasClosed {
        wasClosed = true
        continue
      }
      guard count > 0 else { return false }
      shown += String(decoding: bytes.prefix(count), as: UTF8.self)
      return true
    }
  }
}
