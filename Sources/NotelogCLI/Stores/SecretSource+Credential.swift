// The credential of a command line, as the library takes it.
import Notelog

extension SecretSource {
  /// The credential given on the command line; `nil` without one.
  func given() throws(ToolError) -> Credential? {
    if let keyFile { return .key(try key(in: keyFile)) }
    if let passwordFile { return .password(try Self.text(try password(in: passwordFile))) }
    return nil
  }

  /// The credential given, or the password asked for.
  func require() throws(ToolError) -> Credential {
    if let given = try given() { return given }
    return .password(try Self.text(try PasswordPrompt.ask("password")))
  }

  /// The credential given, or a new password asked for twice.
  func requireNew() throws(ToolError) -> Credential {
    if let given = try given() { return given }
    return .password(try Self.text(try PasswordPrompt.askTwice("new password")))
  }

  private static func text(_ bytes: [UInt8]) throws(ToolError) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ToolError(.failed, "the password is not UTF-8")
    }
    return text
  }
}
