// Conditions as sets of sort keys, which indexes look up and records are held against.

import Foundation
import NotelogBase

/// The sort keys of the values that a condition permits.
struct KeySet: Sendable {
  /// How many values a description names.
  private static let shownCount = 5

  /// The type of the values.
  let type: FieldType
  /// The ranges in which the keys are, ascending, each without the presence byte of an optional field.
  private let ranges: [KeyRange]
  /// Whether a missing value is permitted.
  let includesMissing: Bool
  /// The values as they are stored, without presence bytes; nil where a range says which they are.
  private let values: [[UInt8]]?
  /// The condition in words.
  let words: String
  /// Whether the keys decide. Otherwise some that they permit are not meant.
  let decides: Bool
  /// Whether the case of ASCII letters is ignored. Then ranges don't say where values are in an index.
  private(set) var ignoresCase = false

  private init(
    _ type: FieldType, _ ranges: [KeyRange], includesMissing: Bool = false, values: [[UInt8]]? = nil,
    _ words: String, decides: Bool = true
  ) {
    self.type = type
    self.ranges = ranges.sorted { $0.lower.lexicographicallyPrecedes($1.lower) }
    self.includesMissing = includesMissing
    self.values = values
    self.words = words
    self.decides = decides
  }

  /// Values as they are stored, without presence bytes.
  init(_ values: [[UInt8]], includesMissing: Bool, of type: FieldType, _ words: String, decides: Bool) {
    let ranges = values.map { KeyRange(of: Self.key(of: $0, type)) }
    self.init(
      type, ranges, includesMissing: includesMissing, values: values, words, decides: decides)
  }

  /// Some values; nil for a type that has no keys. Values that equal nothing, as NaN, are in no set.
  init?<Value: Equatable & Sendable>(_ values: [Value]) {
    guard let type = fieldType(of: Value.self) else { return nil }
    var stored: [[UInt8]] = []
    var includesMissing = false
    for value in values where value == value {
      guard let bytes = storedBytes(of: value) else { return nil }
      if let bytes = bytes.present { stored.append(bytes) } else { includesMissing = true }
    }
    let words = values.prefix(Self.shownCount).map(shown).joined(separator: ", ")
    let rest = values.count > Self.shownCount ? ", and \(values.count - Self.shownCount) more" : ""
    self.init(
      stored, includesMissing: includesMissing, of: type, values.count == 1 ? words : "[\(words)\(rest)]",
      decides: hasOrderOfKeys(Value.self))
  }

  /// A range of values; nil where keys are in another order than values.
  init?<Value: Comparable & Sendable>(in range: some RangeExpression<Value>) {
    guard let bounds = bounds(of: range), let type = fieldType(of: Value.self), hasOrderOfKeys(Value.self)
    else { return nil }
    func key(_ value: Value?) -> [UInt8]? {
      value.flatMap { storedBytes(of: $0)?.present }.map { Self.key(of: $0, type) }
    }
    let words =
      (bounds.lower.map(shown) ?? "") + (bounds.includesUpper ? "..." : "..<")
      + (bounds.upper.map(shown) ?? "")
    self.init(
      type, from: key(bounds.lower), to: key(bounds.upper), includingUpper: bounds.includesUpper, words)
  }

  /// The values that are numbers between two keys, if it is a type of numbers: NaN is in no range.
  init(_ type: FieldType, from lower: [UInt8]?, to upper: [UInt8]?, includingUpper: Bool, _ words: String) {
    let notANumber = type == .double || type == .date ? [UInt8](repeating: .max, count: 8) : nil
    let range =
      if let notANumber, upper ?? notANumber == notANumber {
        // What is compared with NaN is in no range either.
        KeyRange(from: lower ?? [], to: upper == nil ? notANumber : [], includingUpper: false)
      } else {
        KeyRange(from: lower ?? [], to: upper, includingUpper: includingUpper)
      }
    self.init(type, [range], words)
  }

  /// Any value that is there.
  init(presentOf type: FieldType) { self.init(type, [KeyRange(from: [], to: nil)], "any value") }

  /// The texts that begin with another.
  init(beginningWith text: String) {
    self.init(.text, [KeyRange(beginningWith: Array(text.utf8))], "\(shown(text))*")
  }

  /// The texts that are another, but for the case of ASCII letters.
  init(ignoringCaseOf text: String) {
    self.init([Array(text.utf8)], includesMissing: false, of: .text, shown(text), decides: true)
    ignoresCase = true
  }

  /// The ranges of the keys of a field.
  func ranges(isOptional: Bool) -> [KeyRange] {
    guard isOptional else { return ranges }
    let present = ranges.map { range in
      KeyRange(
        from: KeyRange.present + range.lower, to: range.upper.map { KeyRange.present + $0 },
        includingUpper: range.includesUpper)
    }
    return (includesMissing ? [KeyRange(of: KeyRange.absent)] : []) + present
  }

  /// The values as a field has them; nil where they are not listed.
  func values(isOptional: Bool) -> [[UInt8]]? {
    guard isOptional else { return values }
    return values.map { (includesMissing ? [KeyRange.absent] : []) + $0.map { KeyRange.present + $0 } }
  }

  /// The key of a value that is stored without a presence byte.
  static func key(of value: [UInt8], _ type: FieldType) -> [UInt8] {
    SortKey.key(of: value.rawSpan, type, isOptional: false, byteCount: value.count)
  }
}

extension [KeyRange] {
  /// Whether a key is in one of the ranges, which are ascending.
  ///
  /// - Complexity: O(log *n*) in the ranges.
  func contains(_ key: RawSpan) -> Bool {
    let place = firstPlace { $0.lower.rawSpan.compare(key) > 0 }
    guard place > 0 else { return false }
    guard let upper = self[place - 1].upper else { return true }
    let order = key.compare(upper.rawSpan)
    return order < 0 || order == 0 && self[place - 1].includesUpper
  }
}

// MARK: - Swift's values as they are stored.

/// Whether the sort keys of a type's values are equal where the values are, and in the same order. Types of
/// an app's own compare as they like.
func hasOrderOfKeys(_ type: any Any.Type) -> Bool { typesInOrderOfKeys.contains(ObjectIdentifier(type)) }

private let typesInOrderOfKeys: Set<ObjectIdentifier> = {
  func both<Value: FieldValue>(_ type: Value.Type) -> [ObjectIdentifier] {
    [ObjectIdentifier(type), ObjectIdentifier(Value?.self)]
  }
  let types: [any FieldValue.Type] = [
    Bool.self, Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self,
    UInt32.self, UInt64.self, Double.self, Float.self, String.self, [UInt8].self, Date.self, UUID.self,
    RecordID.self,
  ]
  return Set(types.flatMap { both($0) })
}()

/// The type that values are stored as; nil for what has no sort key.
private func fieldType(of type: any Any.Type) -> FieldType? {
  func stored<Value: FieldValue>(_ type: Value.Type) -> FieldType { Value.Stored.fieldType }
  let found = (type as? any FieldValue.Type).map { stored($0) }
  return found?.isSortable == true ? found : nil
}

/// A value as it is stored, without its presence byte: nothing for one that is missing. nil where it can't be
/// stored.
private func storedBytes<Value>(of value: Value) -> (present: [UInt8]?, Void)? {
  func bytes<Field: FieldValue>(_ type: Field.Type) -> (present: [UInt8]?, Void)? {
    guard let bytes = try? (value as? Field)?.stored.storedBytes else { return nil }
    guard Field.Stored.isOptional else { return (bytes, ()) }
    return (bytes.first == 1 ? Array(bytes.dropFirst()) : nil, ())
  }
  return (Value.self as? any FieldValue.Type).flatMap { bytes($0) }
}

private func shown(_ value: some Any) -> String {
  (value as? String)?.debugDescription ?? String(describing: value)
}

/// The bounds of one of the standard library's ranges, which a range expression keeps to itself.
private func bounds<Value: Comparable>(
  of range: some RangeExpression<Value>
) -> (lower: Value?, upper: Value?, includesUpper: Bool)? {
  switch range {
  case let range as ClosedRange<Value>: (range.lowerBound, range.upperBound, true)
  case let range as Range<Value>: (range.lowerBound, range.upperBound, false)
  case let range as PartialRangeFrom<Value>: (range.lowerBound, nil, true)
  case let range as PartialRangeThrough<Value>: (nil, range.upperBound, true)
  case let range as PartialRangeUpTo<Value>: (nil, range.upperBound, false)
  default: nil
  }
}
