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
  var text: String {
    switch self {
    case .null: "null"
    case .boolean(let value): "\(value)"
    case .number(let text): text
    case .string(let text): Self.quoted(text)
    case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { Self.quoted($0.name) + ":" + $0.value.text }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    let escaped = Escaping.escaped(text) { scalar in
      switch scalar {
      case "\"", "\\": "\\\(scalar)"
      case "\n", "\r", "\t": Escaping.spelled(scalar)
      // More than JSON asks for, as it reaches terminals too; all of them have four digits at most.
      case _ where Escaping.isUnsafe(scalar): "\\u" + String(0x10000 + scalar.value, radix: 16).dropFirst()
      default: nil
      }
    }
    return "\"\(escaped)\""
  }
}
