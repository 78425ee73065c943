// Where a password or key comes from: what the command line says, or a prompt.

import Notelog

/// The secret of one command line, read when it is needed, and once: a pipe says it only once.
enum SecretSource {
  private static let options: [Option] = [
    .passwordFile, .passwordDescriptor, .passwordCommand, .keyFile, .recoveryFile,
  ]

  /// The option that gives one; nil without one.
  static func option(of call: Invocation) throws -> Option? { try call.only(of: options) }

  /// The credential given on the command line; nil without one.
  static func given(_ call: Invocation) throws -> Credential? {
    guard let option = try option(of: call), let value = call.value(of: option) else {
      return nil
    }
    switch option {
    case .passwordDescriptor:
      let number = try call.number(of: option, in: Int32(0)...Int32.max) ?? 0
      return .passwordBytes(try password(from: number))
    case .passwordCommand: return .passwordBytes(try password(of: try SecretSource.words(value)))
    case .keyFile: return .keyBytes(try key(in: value))
    case .recoveryFile: return try recoveryKey(in: value)
    default: return .passwordBytes(try password(in: value))
    }
  }

  /// The most bytes a password may have.
  private static let bytesMax = 1024

  /// The password, asked for.
  static func ask() throws -> Credential {
    let hint = "give it with --password-file FILE, or keep the store unlocked with 'notelog unlock'"
    let typed = try TerminalEcho.ask("password", upTo: bytesMax, hint: hint)
    return .passwordBytes(try checked(typed, orElse: "no password was given", .locked))
  }

  /// A new password, asked for twice to be sure; `option` is what gives one without a terminal.
  static func askNew(_ option: Option) throws -> Credential {
    let hint = "give it with --\(option.long) FILE"
    let first = try checked(
      TerminalEcho.ask("new password", upTo: bytesMax, hint: hint),
      orElse: "an empty password protects nothing")
    let second = try TerminalEcho.ask("the same again", upTo: bytesMax, hint: hint)
    let areEqual = first.withBytes { first in
      second.withBytes { second in
        let (first, second) = (Span<UInt8>(_bytes: first), Span<UInt8>(_bytes: second))
        return first.count == second.count && first.indices.allSatisfy { first[$0] == second[$0] }
      }
    }
    guard areEqual else { throw ToolError(.failed, "the two passwords differ") }
    return .passwordBytes(first)
  }

  static func password(in path: String) throws -> SecretBytes {
    let contents = try contents(path, what: "password file")
    return try checked(try contents.droppingNewline(), orElse: "the password file '\(path)' is empty")
  }

  /// The first line that a descriptor gives; what is behind it stays there.
  private static func password(from descriptor: Int32) throws -> SecretBytes {
    let input = Input(borrowing: descriptor, name: "descriptor \(descriptor)")
    return try checked(
      try input.readSecret(upTo: bytesMax, isLine: true), orElse: "descriptor \(descriptor) gives no password"
    )
  }

  /// The most bytes that a program may print behind the password.
  private static let printedMax = 64 << 10

  /// The first line that a program prints.
  private static func password(of words: [String]) throws -> SecretBytes {
    let program = try Program.start(words)
    let output = Input(borrowing: program.output.number, name: "what '\(words[0])' prints")
    let line = try output.readSecret(upTo: bytesMax, isLine: true)
    // It may go on: a program whose reader has gone may fail. What it prints is wiped like the password.
    var rest = 0
    while rest <= printedMax, let more = try output.readSecret(upTo: bytesMax, isLine: true) {
      rest += more.byteCount + 1
    }
    guard rest <= printedMax else {
      throw ToolError(.failed, "the password command '\(words[0])' does not stop printing")
    }
    let code = program.wait()
    guard code == 0 else {
      throw ToolError(.failed, "the password command '\(words[0])' failed with exit code \(code)")
    }
    return try checked(line, orElse: "the password command '\(words[0])' printed no password")
  }

  /// Cuts the value of `--password-command`, or another command, at blanks. Between single quotes everything stands for itself; between double quotes, and outside,
  /// a backslash makes the next character stand for itself. Nothing is expanded, and no shell is started.
  static func words(_ text: String, of place: String = "--password-command") throws -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var rest = text[...]
    while let character = rest.popFirst() {
      switch (quote, character) {
      case (nil, " "), (nil, "\t"), (nil, "\n"):
        if let word { words.append(word) }
        word = nil
      case (nil, "'"), (nil, "\""):
        quote = character
        word = word ?? ""
      case ("'", "'"), ("\"", "\""): quote = nil
      case (nil, "\\"), ("\"", "\\"):
        guard let next = rest.popFirst() else {
          throw ToolError.usage("\(place) ends with a backslash")
        }
        word = (word ?? "") + String(next)
      default: word = (word ?? "") + String(character)
      }
    }
    guard quote == nil else { throw ToolError.usage("\(place) has a quote that is not closed") }
    if let word { words.append(word) }
    guard words.first?.isEmpty == false else { throw ToolError.usage("\(place) names no program") }
    return words
  }

  /// The 32 bytes of `--key-file`.
  private static func key(in path: String) throws -> SecretBytes {
    let contents = try contents(path, what: "key file")
    // A key that happens to end in the byte of a newline is whole as it is.
    let key = contents.byteCount == 33 ? try contents.droppingNewline() : contents
    guard key.byteCount == 32 else {
      throw ToolError(.failed, "the key file '\(path)' holds \(contents.byteCount) bytes, not 32")
    }
    return key
  }

  /// The letters of `--recovery-file`.
  private static func recoveryKey(in path: String) throws -> Credential {
    let text = try contents(path, what: "recovery key's file").withBytes { bytes in
      guard let text = try? UTF8Span(validating: Span<UInt8>(_bytes: bytes)) else { return "" }
      return String(copying: text)
    }
    return try .recoveryKey(text: text)
  }

  /// A secret's file: read no further than a secret can reach.
  private static func contents(_ path: String, what: String) throws -> SecretBytes {
    let input = try Input(path: path, what: what)
    if input.isReadableByOthers {
      Console.say("warning", "others may read the \(input.name): chmod go= '\(path)'")
    }
    return try input.readSecret(upTo: bytesMax + 1, isLine: false) ?? SecretBytes([])
  }

  /// A password that the tool takes: not empty, not too long, and UTF-8.
  private static func checked(
    _ given: SecretBytes?, orElse refusal: String, _ code: ExitCode = .failed
  ) throws -> SecretBytes {
    guard let password = given, password.byteCount > 0 else { throw ToolError(code, refusal) }
    guard password.byteCount <= bytesMax else {
      throw ToolError(.failed, "a password has at most \(bytesMax) bytes")
    }
    let isText = password.withBytes { (try? UTF8Span(validating: Span<UInt8>(_bytes: $0))) != nil }
    guard isText else { throw ToolError(.failed, "the password is not UTF-8") }
    return password
  }
}

extension SecretBytes {
  /// The same without one newline at its end.
  fileprivate func droppingNewline() throws -> SecretBytes {
    let count = withBytes { bytes in
      let bytes = Span<UInt8>(_bytes: bytes)
      return !bytes.isEmpty && bytes[bytes.count - 1] == UInt8(ascii: "\n") ? bytes.count - 1 : bytes.count
    }
    if count == byteCount { return self }
    return try extracting(0..<count)
  }
}
