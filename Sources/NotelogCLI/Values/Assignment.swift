// `name=value` on a command line: text as it is, `@file` for a file's contents, `-` for standard input.
import Notelog

/// One field's new value, as the command line gives it.
struct Assignment: Sendable {
  var name: String
  /// What stands behind the sign: the value, `@` and a file's path, or `-`. nil where the field is cleared.
  private(set) var text: String?
  private var isStandardInput: Bool { text == "-" }

  /// The most bytes taken from a file or from standard input.
  static let bytesMax = 16 << 20

  /// Understands `name=value`.
  init(_ argument: String) throws {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else {
      throw ToolError.usage("'\(argument)' is not of the form name=value")
    }
    name = String(parts[0])
    text = String(parts[1])
  }

  /// Has a field cleared.
  init(clearing name: String) { self.name = name }

  /// Understands all of `arguments`, of which one may read standard input, and has fields cleared.
  static func all(
    _ arguments: some Sequence<String>, clearing cleared: [String] = []
  ) throws -> [Assignment] {
    let assignments = try arguments.map { try Assignment($0) } + cleared.map(Assignment.init(clearing:))
    var names: Set<String> = []
    for name in assignments.map(\.name) where !names.insert(name).inserted {
      throw ToolError.usage("\(name) is given twice")
    }
    guard assignments.count(where: \.isStandardInput) < 2 else {
      throw ToolError.usage("standard input can be only one field's value")
    }
    return assignments
  }

  /// The value, as the field's type reads it; none where the field is cleared.
  func value(as type: FieldType) throws -> DynamicValue {
    guard let text else { return .missing }
    let input = try input()
    let bytes =
      try input.map(Self.contents) ?? Array((text.hasPrefix("@@") ? text.dropFirst() : text[...]).utf8)
    if type == .bytes { return .bytes(bytes) }
    guard var text = String(validating: bytes, as: UTF8.self) else {
      throw ToolError(.failed, "the value of \(name) is not UTF-8")
    }
    // Tools end their lines, and so do editors their files: a file's text is taken as it is.
    if input != nil, type != .text || isStandardInput, text.last == "\n" { text.removeLast() }
    return try type.value(typed: text, for: name)
  }

  /// Where the value comes from, if it may be too long to be held and the field takes it piece by piece.
  func stream(into field: FieldInfo) throws -> Input? {
    guard field.isSealed, field.type == .bytes, !field.isPadded, !field.isCompressed, !field.revealsEquality,
      let input = try input()
    else { return nil }
    let isShort = input.byteCount.map { $0 <= Self.bytesMax } ?? false
    return isShort && !isStandardInput ? nil : input
  }

  /// What the value is read from; nothing where it stands in the command line.
  private func input() throws -> Input? {
    if isStandardInput { return Input() }
    guard let text, text.hasPrefix("@"), !text.hasPrefix("@@") else { return nil }
    do { return try Input(path: String(text.dropFirst())) } catch var error as ToolError {
      error.hint = "a text that begins with @ is written with @@"
      throw error
    }
  }

  private static func contents(of input: Input) throws -> [UInt8] {
    try input.readAll(
      upTo: bytesMax,
      orThrow: ToolError(
        .failed, "\(input.name) holds more than \(bytesMax >> 20) MiB, the most that a value may have here",
        hint:
          "'notelog set' takes any length, for a sealed field of bytes that is not padded, compressed or unique"
      ))
  }
}

extension FieldType {
  /// The value that somebody writes for a field: of what is no text, nothing is no value.
  func value(typed text: String, for name: String) throws -> DynamicValue {
    if text.isEmpty, self != .text { return .missing }
    if self == .date, text == "now" { return .date(Moment.now) }
    if let value = value(of: text) { return value }
    // The text is not quoted: it may have been meant for a sealed field, or come from a file.
    throw ToolError.usage(
      "\(name) takes \(named) value",
      hint: self == .date
        ? "for instance 2026-11-26T10:00:00Z, 2026-11-26T11:00:00+01:00, local time as 2026-11-26 or 2026-11-26 10:00, or now"
        : self == .boolean ? "true or false" : nil)
  }

  /// The type's name as a sentence has it: `a date`, `an integer`.
  var named: String { (self == .integer || self == .unsigned ? "an " : "a ") + name }
}
