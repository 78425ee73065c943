// Where a password or key comes from: the files named on the command line, or a prompt.

import Notelog

/// The secrets of one command line, read when they are first needed.
struct SecretSource: Sendable {
  var passwordFile: String?
  var keyFile: String?

  init(_ invocation: Invocation) {
    passwordFile = invocation.value(of: .passwordFile)
    keyFile = invocation.value(of: .keyFile)
  }

  /// Whether a key was given, so that one need not be asked for.
  var isGiven: Bool { passwordFile != nil || keyFile != nil }

  /// The password of `--password-file`.
  func password(in path: String) throws(ToolError) -> [UInt8] {
    let contents = try Self.contents(path, what: "password file")
    let password = contents.last == UInt8(ascii: "\n") ? contents.dropLast() : contents
    guard !password.isEmpty else { throw ToolError(.failed, "the password file '\(path)' is empty") }
    guard password.count <= PasswordPrompt.bytesMax else {
      throw ToolError(.failed, "a password has at most \(PasswordPrompt.bytesMax) bytes")
    }
    return password
  }

  /// The 32 bytes of `--key-file`.
  func key(in path: String) throws(ToolError) -> [UInt8] {
    let contents = try Self.contents(path, what: "key file")
    // A key that happens to end in the byte of a newline is whole as it is.
    let key = contents.count == 33 && contents.last == UInt8(ascii: "\n") ? contents.dropLast() : contents
    guard key.count == 32 else {
      throw ToolError(.failed, "the key file '\(path)' holds \(contents.count) bytes, not 32")
    }
    return key
  }

  /// A secret's file: read no further than a secret can reach.
  private static func contents(_ path: String, what: String) throws(ToolError) -> [UInt8] {
    try Input(path: path, what: what).readAll(upTo: PasswordPrompt.bytesMax + 1)
  }
}

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
