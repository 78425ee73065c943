// Values as the tool shows them: text for people, JSON for programs; and JSON read back.
import Foundation
import Notelog

extension DynamicValue {
  /// The value as text. Bytes are in base64, dates in RFC 3339, UUIDs as ids are.
  var shown: String {
    switch self {
    case .bytes(let bytes): Data(bytes).base64EncodedString()
    case .date(let date):
      date.shown ?? "\(date.timeIntervalSinceReferenceDate)\(Self.afterYears)"
    case .uuid(let value): RecordID(value).shown
    default: description
    }
  }

  /// The value so that `FieldType.value(json:)` brings back the very same.
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
      date.shown?.json ?? ["secondsSince2001": date.timeIntervalSinceReferenceDate.description]
    case .uuid: .string(shown)
    case .url(let value): .string(value.absoluteString)
    case .json(let bytes): ["json": String(decoding: bytes, as: UTF8.self)]
    }
  }

  /// What stands behind a moment's seconds that no year says.
  fileprivate static let afterYears = " seconds after 2001"

  /// A moment, in seconds since 2001.
  static func date(_ seconds: Double) -> DynamicValue { .date(Date(timeIntervalSinceReferenceDate: seconds)) }
}

extension Date {
  /// As programs read it; nil where RFC 3339 can't say it.
  var shown: String? { Moment.text(timeIntervalSinceReferenceDate) }

  /// As people read it, to the second.
  func shown(isUTC: Bool) -> String? {
    Moment.minute(timeIntervalSinceReferenceDate, isUTC: isUTC, withSeconds: true)
  }
}

extension FieldType {
  /// Reads what `DynamicValue.json` gave, a day too; `nil` where it is no value of the type.
  func value(json: JSONValue, isUTC: Bool = false) -> DynamicValue? {
    switch (self, json) {
    case (_, .null): .missing
    case (.boolean, .boolean(let value)): .boolean(value)
    case (.integer, .number(let text)): Int64(text).map(DynamicValue.integer)
    case (.unsigned, .number(let text)): UInt64(text).map(DynamicValue.unsigned)
    case (.double, .number(let text)): Double(text).flatMap { $0.isFinite ? .double($0) : nil }
    case (.double, .object): Self.only("double", json).flatMap(Self.decimal).map(DynamicValue.double)
    case (.text, .string(let text)), (.date, .string(let text)), (.uuid, .string(let text)),
      (.url, .string(let text)):
      value(strictly: text, isUTC: isUTC)
    case (.bytes, .object):
      Self.only("base64", json).flatMap { Data(base64Encoded: $0) }.map { .bytes([UInt8]($0)) }
    case (.date, .object): Self.only("secondsSince2001", json).flatMap(Double.init).map(DynamicValue.date)
    case (.json, .object): Self.only("json", json).flatMap { value(strictly: $0) }
    default: nil
    }
  }

  /// Reads what stands for a value of the type in other programs' texts, and nothing beside it; nil where it is
  /// none. A day is its midnight, local or in UTC.
  func value(strictly text: String, isUTC: Bool = false) -> DynamicValue? {
    switch self {
    case .text: .text(text)
    case .boolean: ["true": true, "1": true, "false": false, "0": false][text].map(DynamicValue.boolean)
    case .integer: Int64(text).flatMap { String($0) == text ? .integer($0) : nil }
    case .unsigned: UInt64(text).flatMap { String($0) == text ? .unsigned($0) : nil }
    case .double: Self.decimal(text).map(DynamicValue.double)
    case .date where text.utf8.count == 10: Moment.period(text, isUTC: isUTC).map { .date($0.lowerBound) }
    case .date: (Moment.seconds(text) ?? Self.secondsBeyondYears(text)).map(DynamicValue.date)
    case .uuid: UUID(uuidString: text).map(DynamicValue.uuid)
    case .url:
      URL(string: text, encodingInvalidCharacters: false).flatMap {
        $0.absoluteString == text ? .url($0) : nil
      }
    case .json: (try? EncodedJSON(utf8: Array(text.utf8))).map { .json($0.utf8) }
    case .bytes:
      Data(base64Encoded: text).flatMap { $0.base64EncodedString() == text ? .bytes([UInt8]($0)) : nil }
    }
  }

  /// Reads what somebody writes for a value of the type, numbers and UUIDs in other forms too; nil where it is
  /// none.
  func value(of text: String) -> DynamicValue? {
    switch self {
    case .boolean: Bool(text).map(DynamicValue.boolean)
    case .integer: Int64(text).map(DynamicValue.integer)
    case .unsigned: UInt64(text).map(DynamicValue.unsigned)
    case .uuid: RecordID(text).map { .uuid($0.uuid) }
    case .date: text.utf8.count < 10 ? nil : Moment.period(text, isUTC: false).map { .date($0.lowerBound) }
    case .text, .bytes, .url, .json, .double: value(strictly: text)
    }
  }

  /// The nearest double to a decimal number; infinity and NaN as they are printed. Swift would read hexadecimal
  /// ones too, and other words.
  private static func decimal(_ text: String) -> Double? {
    if ["inf", "-inf", "nan"].contains(text) { return Double(text) }
    guard text.utf8.allSatisfy({ (48...57).contains($0) || "+-.eE".utf8.contains($0) }) else { return nil }
    return Double(text).flatMap { $0.isFinite ? $0 : nil }
  }

  /// The moment of a text that was printed because no year says it.
  private static func secondsBeyondYears(_ text: String) -> Double? {
    guard text.hasSuffix(DynamicValue.afterYears) else { return nil }
    let seconds = Double(text.dropLast(DynamicValue.afterYears.count))
    return seconds.flatMap { DynamicValue.date($0).shown == text ? $0 : nil }
  }

  /// The text of an object's only member, if it has that name.
  private static func only(_ name: String, _ json: JSONValue) -> String? {
    if case .object(let members) = json, members.count == 1 { json[name]?.string } else { nil }
  }
}

extension RecordID {
  /// The id as a lower-case UUID.
  var shown: String { uuid.uuidString.lowercased() }
}
