// A column of a table on its way in: what its values are, or what the field that takes them has them be.
import Foundation
import Notelog

/// A column, and what all of its values are.
struct SourceColumn: Equatable, Sendable {
  var name: String
  /// What the table calls it.
  let source: String
  /// What its values are by themselves, or were declared to be.
  let found: FieldType
  /// What they are one by one.
  let kinds: ColumnKinds
  /// The field that takes them, of a collection that is there already.
  var field: FieldInfo?

  init(name: String, source: String? = nil, type: FieldType, _ kinds: ColumnKinds) {
    (self.name, self.source, found, self.kinds) = (name, source ?? name, type, kinds)
  }

  /// The type of the values that rows have.
  var type: FieldType { field?.type ?? found }
  var isOptional: Bool { field?.isOptional ?? (kinds.nothing > 0) }

  /// Which of its values become another kind of value; nil where all stay what they are, or were declared to be.
  var changes: String? {
    if type == found, type == .date || type == .boolean { return nil }
    let counts: [(count: Int, kind: String, same: [FieldType])] = [
      (kinds.integers, "integer", [.integer, .unsigned]), (kinds.doubles, "double", [.double]),
      (kinds.booleans, "boolean", [.boolean]), (kinds.longNumbers, "long number", []),
    ]
    let changed = counts.filter { $0.count > 0 && !$0.same.contains(type) }.map { counted($0.count, $0.kind) }
    return changed.isEmpty ? nil : "\(changed.joined(separator: " and ")) as \(type.name)"
  }

  /// The text of a cell as a value; nil where it is none. What no field asked for gives the very same text when it is printed, or the same number.
  func value(_ text: String) -> DynamicValue? {
    if field != nil { return DynamicValue(strictly: text, as: type) }
    if type == .text { return .text(text) }
    guard let value = DynamicValue(strictly: text, as: type),
      value.shown == text || type == .double && value.shown == text + ".0"
    else { return nil }
    return value
  }

  /// That a row's value does not fit. What goes into a sealed field is not quoted.
  func refusal(_ shown: String?, row: Int64) -> ToolError {
    let place = "row \(row), column '\(name)': "
    guard let shown else {
      return ToolError(.failed, place + "there is no value, and the field is not optional")
    }
    let value = field?.isSealed ?? false ? "the value" : "'\(Self.short(shown))'"
    return ToolError(.failed, place + "\(value) is not \(type.named) value")
  }

  /// The beginning of what is long.
  static func short(_ text: String) -> String { text.count > 40 ? text.prefix(39) + "…" : text }
}

extension DynamicValue {
  /// Reads what stands for a value of a type in other programs' texts, and nothing beside it; nil where it is none.
  init?(strictly text: String, as type: FieldType) {
    let value: DynamicValue? =
      switch type {
      case .text: .text(text)
      case .boolean: ["true": true, "1": true, "false": false, "0": false][text].map(Self.boolean)
      case .integer: Int64(text).flatMap { String($0) == text ? .integer($0) : nil }
      case .unsigned: UInt64(text).flatMap { String($0) == text ? .unsigned($0) : nil }
      case .double: Self.decimal(text).map(Self.double)
      case .date: Moment.seconds(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
      case .uuid: UUID(uuidString: text).map(Self.uuid)
      case .url, .json: try? DynamicValue(text: text, as: type)
      case .bytes:
        Data(base64Encoded: text).flatMap { $0.base64EncodedString() == text ? .bytes([UInt8]($0)) : nil }
      }
    guard let value else { return nil }
    self = value
  }

  /// The nearest double to a decimal number. Swift would read hexadecimal ones, infinity and NaN too.
  private static func decimal(_ text: String) -> Double? {
    guard text.utf8.allSatisfy({ (48...57).contains($0) || "+-.eE".utf8.contains($0) }) else { return nil }
    return Double(text).flatMap { $0.isFinite ? $0 : nil }
  }
}

/// What values of one column are, found out value by value.
struct ColumnKinds: Equatable, Sendable {
  var integers = 0
  var doubles = 0
  var booleans = 0
  var texts = 0
  var bytes = 0
  var documents = 0
  var nothing = 0
  /// How many of the integers are 0 or 1.
  var zerosAndOnes = 0
  /// How many of the integers a double may not keep.
  var longIntegers = 0
  /// How many of the texts are numbers that no number keeps.
  var longNumbers = 0

  /// The integers that a double keeps, each.
  static let shortIntegers = -(Int64(1) << 53)...Int64(1) << 53

  mutating func count(_ integer: Int64) {
    integers += 1
    if !Self.shortIntegers.contains(integer) { longIntegers += 1 }
  }

  /// The type that holds all of them: numbers become text beside text.
  func type(of column: String) throws(ToolError) -> FieldType {
    let others = integers + doubles + booleans + texts
    if bytes > 0 || documents > 0 {
      guard others == 0, bytes == 0 || documents == 0 else {
        throw ToolError(
          .failed, "the column '\(column)' holds \(bytes > 0 ? "bytes" : "lists or objects") and other values"
        )
      }
      return bytes > 0 ? .bytes : .json
    }
    if texts > 0 || booleans > 0 && integers + doubles > 0 || doubles > 0 && longIntegers > 0 { return .text }
    if booleans > 0 { return .boolean }
    return doubles > 0 ? .double : integers > 0 ? .integer : .text
  }
}
