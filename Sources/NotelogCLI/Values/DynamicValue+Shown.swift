// Values as the tool shows them: text for people, JSON for programs; and JSON read back.
import Foundation
import Notelog

extension DynamicValue {
  /// The value as text. Bytes are in base64, dates in RFC 3339.
  var shown: String {
    switch self {
    case .bytes(let bytes): Data(bytes).base64EncodedString()
    case .date(let date):
      Moment.text(date.timeIntervalSinceReferenceDate)
        ?? "\(date.timeIntervalSinceReferenceDate) seconds after 2001"
    default: description
    }
  }

  /// What goes to stdout when one field is asked for: text and bytes as they are.
  var raw: [UInt8] {
    switch self {
    case .bytes(let bytes), .json(let bytes): bytes
    default: Array(shown.utf8)
    }
  }

  /// Writes the value so that `init(json:as:)` brings back the very same.
  ///
  /// What JSON can't say is an object with one member, named by what it holds.
  func write(to json: inout JSONWriter) throws(ToolError) {
    switch self {
    case .missing: json.null()
    case .boolean(let value): json.boolean(value)
    case .integer(let value): json.number(value)
    case .unsigned(let value): json.number(value)
    case .double(let value) where value.isFinite: json.number(value)
    case .double(let value): try json.object { $0.member("double", value.description) }
    case .text(let value): json.string(value)
    case .bytes(let bytes): try json.object { $0.member("base64", Data(bytes).base64EncodedString()) }
    case .date(let date):
      let seconds = date.timeIntervalSinceReferenceDate
      guard let text = Moment.text(seconds) else {
        return try json.object { $0.member("secondsSince2001", seconds.description) }
      }
      json.string(text)
    case .uuid(let value): json.string(value.uuidString.lowercased())
    case .url(let value): json.string(value.absoluteString)
    case .json(let bytes): try json.object { $0.member("json", String(decoding: bytes, as: UTF8.self)) }
    }
  }

  /// Reads what `write(to:)` wrote; `nil` where it is no value of the type.
  init?(json: JSONValue, as type: FieldType) {
    switch (type, json) {
    case (_, .null): self = .missing
    case (.boolean, .boolean(let value)): self = .boolean(value)
    case (.integer, .number(let text)):
      guard let value = Int64(text) else { return nil }
      self = .integer(value)
    case (.unsigned, .number(let text)):
      guard let value = UInt64(text) else { return nil }
      self = .unsigned(value)
    case (.double, .number(let text)):
      guard let value = Double(text), value.isFinite else { return nil }
      self = .double(value)
    case (.double, .object):
      guard let value = Self.only("double", json).flatMap(Double.init) else { return nil }
      self = .double(value)
    case (.text, .string(let text)): self = .text(text)
    case (.bytes, .object):
      guard let data = Self.only("base64", json).flatMap({ Data(base64Encoded: $0) }) else { return nil }
      self = .bytes([UInt8](data))
    case (.date, .string(let text)):
      guard let seconds = Moment.seconds(text) else { return nil }
      self = .date(Date(timeIntervalSinceReferenceDate: seconds))
    case (.date, .object):
      guard let seconds = Self.only("secondsSince2001", json).flatMap(Double.init) else { return nil }
      self = .date(Date(timeIntervalSinceReferenceDate: seconds))
    case (.uuid, .string(let text)):
      guard let value = UUID(uuidString: text) else { return nil }
      self = .uuid(value)
    case (.url, .string(let text)):
      guard let value = URL(string: text), value.absoluteString == text else { return nil }
      self = .url(value)
    case (.json, .object):
      guard let text = Self.only("json", json), (try? JSONReader.read(Array(text.utf8))) != nil else {
        return nil
      }
      self = .json(Array(text.utf8))
    default: return nil
    }
  }

  /// The text of an object's only member, if it has that name.
  private static func only(_ name: String, _ json: JSONValue) -> String? {
    guard case .object(let members) = json, members.count == 1, case .string(let text)? = json[name] else {
      return nil
    }
    return text
  }
}
