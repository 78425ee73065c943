// Asks for a password on the controlling terminal, whatever stdin and stdout are connected to.
import Foundation

enum PasswordPrompt {
  /// The most bytes a password may have.
  static let bytesMax = 1024

  /// Asks once.
  static func ask(_ question: String) throws(ToolError) -> [UInt8] {
    // SAFETY: the path is a literal, and the flags ask for no mode argument.
    let terminal = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC)
    guard terminal >= 0 else {
      throw ToolError(
        .locked, "a password is needed, and there is no terminal to ask on",
        hint: "give it with --password-file FILE")
    }
    defer { close(terminal) }
    return try TerminalEcho.off(on: terminal) { () throws(ToolError) in
      try Output(descriptor: terminal).writeNow(question + ": ")
      return try line(from: terminal)
    }
  }

  /// Asks for a new password, and once more to be sure.
  static func askTwice(_ question: String) throws(ToolError) -> [UInt8] {
    let first = try ask(question)
    guard !first.isEmpty else { throw ToolError(.failed, "an empty password protects nothing") }
    guard try ask("the same again") == first else { throw ToolError(.failed, "the two passwords differ") }
    return first
  }

  private static func line(from terminal: Int32) throws(ToolError) -> [UInt8] {
    var line: [UInt8] = []
    while true {
      var byte: UInt8 = 0
      // SAFETY: the pointer is to one local byte, and one byte is asked for.
      let count = unsafe read(terminal, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else {
        if line.isEmpty { throw ToolError(.locked, "no password was given") }
        return line
      }
      if byte == UInt8(ascii: "\n") { return line }
      guard line.count < bytesMax else {
        throw ToolError(.failed, "a password has at most \(bytesMax) bytes")
      }
      line.append(byte)
    }
  }
}
