// Asks for a password on the controlling terminal, whatever stdin and stdout are connected to.
import Foundation
import Notelog

enum PasswordPrompt {
  /// The most bytes a password may have.
  static let bytesMax = 1024

  /// Asks once; `hint` is what can be done where there is no terminal.
  static func ask(_ question: String, hint: String) throws(ToolError) -> SecretBytes {
    // SAFETY: the path is a literal, and the flags ask for no mode argument.
    let terminal = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC)
    guard terminal >= 0 else {
      throw ToolError(.locked, "a \(question) is needed, and there is no terminal to ask on", hint: hint)
    }
    defer { close(terminal) }
    return try TerminalEcho.off(on: terminal) { () throws(ToolError) in
      try Output(descriptor: terminal).writeNow(question + ": ")
      let input = Input(borrowing: terminal, name: "the terminal")
      guard let line = try input.readSecretLine(upTo: bytesMax) else {
        throw ToolError(.locked, "no password was given")
      }
      guard line.byteCount <= bytesMax else { throw tooLong }
      return line
    }
  }

  /// Asks for a new password, and once more to be sure.
  static func askTwice(_ question: String, hint: String) throws(ToolError) -> SecretBytes {
    let first = try ask(question, hint: hint)
    guard first.byteCount > 0 else { throw ToolError(.failed, "an empty password protects nothing") }
    let second = try ask("the same again", hint: hint)
    let areEqual = first.withBytes { first in
      second.withBytes { second in
        let (first, second) = (Span<UInt8>(_bytes: first), Span<UInt8>(_bytes: second))
        return first.count == second.count && first.indices.allSatisfy { first[$0] == second[$0] }
      }
    }
    guard areEqual else { throw ToolError(.failed, "the two passwords differ") }
    return first
  }

  static let tooLong = ToolError(.failed, "a password has at most \(bytesMax) bytes")
}
