// A JSON value, read or to be written.

/// A JSON document.
enum JSONValue: Equatable, Sendable {
  case null
  case boolean(Bool)
  /// The number as it is spelled: what it means is for the field's type to say.
  case number(String)
  case string(String)
  case array([JSONValue])
  /// Members in the order of the text; no name occurs twice.
  case object([Member])

  struct Member: Equatable, Sendable {
    var name: String
    var value: JSONValue
  }

  /// The member of that name, of an object.
  subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  /// The text that it is; nil where it is something else.
  var string: String? { if case .string(let text) = self { text } else { nil } }
}

/// What stands for itself in a JSON document.
protocol JSONRepresentable {
  var json: JSONValue { get }
}

extension JSONValue: JSONRepresentable {
  var json: JSONValue { self }
}

extension String: JSONRepresentable {
  var json: JSONValue { .string(self) }
}

extension Bool: JSONRepresentable {
  var json: JSONValue { .boolean(self) }
}

extension BinaryInteger {
  var json: JSONValue { .number(String(self)) }
}

extension Int: JSONRepresentable {}
extension UInt32: JSONRepresentable {}
extension UInt64: JSONRepresentable {}

extension Array: JSONRepresentable where Element: JSONRepresentable {
  var json: JSONValue { .array(map(\.json)) }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
  /// An object. A member without a value is left out.
  init(dictionaryLiteral members: (String, (any JSONRepresentable)?)...) {
    self = .object(members.compactMap { name, value in value.map { Member(name: name, value: $0.json) } })
  }
}

// MARK: - JSON going out, a value on a line of its own.

extension JSONValue {
  /// The value's text, without line breaks.
  var text: [UInt8] {
    var bytes: [UInt8] = []
    write(into: &bytes)
    return bytes
  }

  private func write(into bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .boolean(let value): bytes += (value ? "true" : "false").utf8
    case .number(let text): bytes += text.utf8
    case .string(let text): Self.write(text, into: &bytes)
    case .array(let values):
      bytes.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        value.write(into: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        Self.write(member.name, into: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(into: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  private static func write(_ text: String, into bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": bytes += "\\\"".utf8
      case "\\": bytes += "\\\\".utf8
      case "\n": bytes += "\\n".utf8
      case "\r": bytes += "\\r".utf8
      case "\t": bytes += "\\t".utf8
      // More than JSON asks for, as it reaches terminals too; all of them have four digits at most.
      case _ where Escaping.isUnsafe(scalar):
        bytes += ("\\u" + String(0x10000 + scalar.value, radix: 16).dropFirst()).utf8
      case _ where scalar.isASCII: bytes.append(UInt8(truncatingIfNeeded: scalar.value))
      default: bytes += scalar.utf8
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
