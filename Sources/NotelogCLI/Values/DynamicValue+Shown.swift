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

  /// The value so that `init(json:as:)` brings back the very same.
  ///
  /// What JSON can't say is an object with one member, named by what it holds.
  var json: JSONValue {
    switch self {
    case .missing: .null
    case .boolean(let value): .boolean(value)
    case .integer(let value): value.json
    case .unsigned(let value): value.json
    case .double(let value): value.isFinite ? .number(value.description) : ["double": value.description]
    case .text(let value): .string(value)
    case .bytes(let bytes): ["base64": Data(bytes).base64EncodedString()]
    case .date(let date):
      Moment.text(date.timeIntervalSinceReferenceDate)?.json
        ?? ["secondsSince2001": date.timeIntervalSinceReferenceDate.description]
    case .uuid(let value): .string(value.uuidString.lowercased())
    case .url(let value): .string(value.absoluteString)
    case .json(let bytes): ["json": String(decoding: bytes, as: UTF8.self)]
    }
  }

  /// Reads what `json` gave; `nil` where it is no value of the type.
  init?(json: JSONValue, as type: FieldType) {
    let value: DynamicValue? =
      switch (type, json) {
      case (_, .null): .missing
      case (.boolean, .boolean(let value)): .boolean(value)
      case (.integer, .number(let text)): Int64(text).map(Self.integer)
      case (.unsigned, .number(let text)): UInt64(text).map(Self.unsigned)
      case (.double, .number(let text)): Double(text).flatMap { $0.isFinite ? .double($0) : nil }
      case (.double, .object): Self.only("double", json).flatMap(Double.init).map(Self.double)
      case (.text, .string(let text)): .text(text)
      case (.bytes, .object):
        Self.only("base64", json).flatMap { Data(base64Encoded: $0) }.map { .bytes([UInt8]($0)) }
      case (.date, .string(let text)): Moment.seconds(text).map(Self.date)
      case (.date, .object): Self.only("secondsSince2001", json).flatMap(Double.init).map(Self.date)
      case (.uuid, .string(let text)): UUID(uuidString: text).map(Self.uuid)
      case (.url, .string(let text)): try? DynamicValue(text: text, as: .url)
      case (.json, .object): Self.only("json", json).flatMap { try? DynamicValue(text: $0, as: .json) }
      default: nil
      }
    guard let value else { return nil }
    self = value
  }

  private static func date(_ seconds: Double) -> DynamicValue {
    .date(Date(timeIntervalSinceReferenceDate: seconds))
  }

  /// The text of an object's only member, if it has that name.
  private static func only(_ name: String, _ json: JSONValue) -> String? {
    guard case .object(let members) = json, members.count == 1, case .string(let text)? = json[name] else {
      return nil
    }
    return text
  }
}
