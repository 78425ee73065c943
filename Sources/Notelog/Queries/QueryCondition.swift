// Conditions of a query, and what is made of them by and, or and not.

import Foundation
import NotelogBase

/// What must be so of a record for a query to find it: conditions on fields, joined by `&&`, `||` and `!`.
///
/// ```swift
/// let found = try store.query(Note.self)
///   .where(.field(\.folder, is: 3) || .field(\.time, in: lastWeek...) && !.field(\.name, hasPrefix: "Re: "))
///   .entries()
/// ```
///
/// Each condition on a field is also a method of ``Query`` (`where(\.folder, is: 3)`), whose conditions all have to hold. What is on the left is
/// asked first, and where that decides, what is on the right is not asked: put a condition on a sealed field, which has to be opened, last.
public struct QueryCondition<R: Record>: Sendable {
  /// A condition as one thread asks it: what does not change from record to record was looked up.
  typealias Bound = (ScannedRecord) throws -> Bool

  enum Node: Sendable {
    case field(FieldCondition<R>)
    /// All of them hold; so it is where there is none.
    case all([QueryCondition])
    /// One of them holds, at least.
    case any([QueryCondition])
    /// Not all of them hold.
    case notAll([QueryCondition])
  }

  let node: Node

  init(_ node: Node) { self.node = node }

  init(_ condition: FieldCondition<R>) { node = .field(condition) }

  /// Both conditions hold.
  public static func && (left: QueryCondition, right: QueryCondition) -> QueryCondition {
    func parts(_ condition: QueryCondition) -> [QueryCondition] {
      if case .all(let conditions) = condition.node { conditions } else { [condition] }
    }
    return QueryCondition(.all(parts(left) + parts(right)))
  }

  /// One of the conditions holds, or both do.
  public static func || (left: QueryCondition, right: QueryCondition) -> QueryCondition {
    func parts(_ condition: QueryCondition) -> [QueryCondition] {
      if case .any(let conditions) = condition.node { conditions } else { [condition] }
    }
    return QueryCondition(.any(parts(left) + parts(right)))
  }

  /// The condition doesn't hold.
  public static prefix func ! (condition: QueryCondition) -> QueryCondition {
    QueryCondition(.notAll([condition]))
  }

  /// The conditions on fields that it is made of.
  var fields: [FieldCondition<R>] {
    switch node {
    case .field(let condition): [condition]
    case .all(let conditions), .any(let conditions), .notAll(let conditions): conditions.flatMap(\.fields)
    }
  }

  /// The condition, ready for a scanner.
  func bound(to scanner: RecordScanner<R>) throws -> Bound {
    switch node {
    case .field(let condition): return try condition.bind(scanner)
    case .all(let conditions):
      let bound = try conditions.map { try $0.bound(to: scanner) }
      return { record in
        for condition in bound where try !condition(record) { return false }
        return true
      }
    case .any(let conditions):
      let bound = try conditions.map { try $0.bound(to: scanner) }
      return { record in
        for condition in bound where try condition(record) { return true }
        return false
      }
    case .notAll(let conditions):
      let bound = try conditions.map { try $0.bound(to: scanner) }
      return { record in
        for condition in bound where try !condition(record) { return true }
        return false
      }
    }
  }
}

extension Query {
  /// The conditions, ready for a scanner; they all have to hold, and the record comes after the cursor if there is one.
  func bound(to scanner: RecordScanner<R>) throws -> QueryCondition<R>.Bound {
    let holds = try QueryCondition(.all(conditions)).bound(to: scanner)
    guard let follows = try following(scanner.reader) else { return holds }
    return { record in try holds(record) && follows(ScannedEntry(record, scanner)) }
  }
}

// MARK: - Conditions on one field.

extension QueryCondition {
  /// The field has this value. If the field is indexed and few records have it, only those are read; so it is with a sealed field that
  /// ``Unique`` keeps digests of.
  ///
  /// Values are equal where `==` says so, except that text is compared by its UTF-8 bytes: a letter that can be composed
  /// in two ways is two letters. In an indexed field of a type of your own, values that are equal must be stored alike.
  public static func field<Value: Equatable & Sendable>(
    _ path: FieldKeyPath<R, Value>, is value: Value
  ) -> QueryCondition {
    let equality = ValueEquality<Value>()
    return QueryCondition(
      FieldCondition(path, IndexedCondition(is: value), values: storedValues([value])) { entry in
        equality.areEqual(try entry.value(of: path), value)
      })
  }

  /// The field has another value than this. An index helps where this is nil.
  public static func field<Value: Equatable & Sendable>(
    _ path: FieldKeyPath<R, Value>, isNot value: Value
  ) -> QueryCondition {
    let equality = ValueEquality<Value>()
    return QueryCondition(
      FieldCondition(path, IndexedCondition(isNot: value)) { entry in
        !equality.areEqual(try entry.value(of: path), value)
      })
  }

  /// The field has one of these values, compared as one value is. If the field is indexed, or sealed and has digests, and few
  /// records have one, only those are read.
  ///
  /// - Complexity: O(1) a record, however many values there are.
  public static func field<Value: Hashable & Sendable>(
    _ path: FieldKeyPath<R, Value>, isIn values: some Sequence<Value>
  ) -> QueryCondition {
    let values = Array(values)
    // Texts that are other bytes may be one to a dictionary.
    let known = Dictionary(grouping: values) { $0 }
    let equality = ValueEquality<Value>()
    return QueryCondition(
      FieldCondition(path, IndexedCondition(isIn: values), values: storedValues(values)) { entry in
        let value = try entry.value(of: path)
        return known[value]?.contains { equality.areEqual($0, value) } ?? false
      })
  }

  /// The field has a value in a range: `5..<9`, `5...9`, `5...`, `..<9` or `...9`. If the field is an indexed number, date, UUID or text
  /// and few records are in the range, only those are read.
  ///
  /// Text is in the order of its UTF-8 bytes, as where it is sorted: see `sorted(by:_:)`. Types of your own compare as
  /// they say; indexes don't help with those.
  public static func field<Value: Comparable & Sendable>(
    _ path: FieldKeyPath<R, Value>, in range: some RangeExpression<Value> & Sendable
  ) -> QueryCondition {
    let known = ValueRange(range)
    let indexed = known.flatMap { IndexedCondition(in: $0, isOptional: false) }
    guard let known, Value.self == String.self else {
      return QueryCondition(
        FieldCondition(path, indexed) { entry in range.contains(try entry.value(of: path)) })
    }
    let order = ValueOrder<Value>()
    return QueryCondition(
      FieldCondition(path, indexed) { entry in known.contains(try entry.value(of: path), in: order) })
  }

  /// The field has a value, and it is in a range; nil is in none.
  public static func field<Value: Comparable & Sendable>(
    _ path: FieldKeyPath<R, Value?>, in range: some RangeExpression<Value> & Sendable
  ) -> QueryCondition {
    guard let known = ValueRange(range) else {
      return QueryCondition(
        FieldCondition(path) { entry in try entry.value(of: path).map { range.contains($0) } ?? false })
    }
    let order = ValueOrder<Value>()
    return QueryCondition(
      FieldCondition(path, IndexedCondition(in: known, isOptional: true)) { entry in
        guard let value = try entry.value(of: path) else { return false }
        return Value.self == String.self ? known.contains(value, in: order) : range.contains(value)
      })
  }

  /// The text field begins with a text. If the field is indexed and few records are left, only those are read.
  ///
  /// The bytes of both are compared: upper case is not lower case.
  public static func field<Value: FieldValue>(
    _ path: FieldKeyPath<R, Value>, hasPrefix text: String
  ) -> QueryCondition where Value.Stored == String {
    let prefix = Array(text.utf8)
    let indexed = IndexedCondition(hasPrefix: text, isOptional: false)
    return QueryCondition(FieldCondition(textOf: path, indexed) { $0.starts(with: prefix.rawSpan) })
  }

  /// The text field has a text that begins with another.
  public static func field<Value: FieldValue>(
    _ path: FieldKeyPath<R, Value>, hasPrefix text: String
  ) -> QueryCondition where Value.Stored == String? {
    let prefix = Array(text.utf8)
    let indexed = IndexedCondition(hasPrefix: text, isOptional: true)
    return QueryCondition(FieldCondition(textOf: path, indexed) { $0.starts(with: prefix.rawSpan) })
  }

  /// The text field holds a text; a sealed field is opened for it.
  ///
  /// The bytes of both are compared, and no string is made: upper case is not lower case, and a letter that can be
  /// composed in two ways is two letters.
  public static func field<Value: FieldValue>(
    _ path: FieldKeyPath<R, Value>, contains text: String
  ) -> QueryCondition where Value.Stored == String {
    let needle = Array(text.utf8)
    return QueryCondition(FieldCondition(textOf: path) { $0.contains(needle.rawSpan) })
  }

  /// The text field has a text that holds another; a sealed field is opened for it.
  public static func field<Value: FieldValue>(
    _ path: FieldKeyPath<R, Value>, contains text: String
  ) -> QueryCondition where Value.Stored == String? {
    let needle = Array(text.utf8)
    return QueryCondition(FieldCondition(textOf: path) { $0.contains(needle.rawSpan) })
  }

  /// The field's value satisfies a condition of your own; a sealed field is opened for it.
  public static func field<Value>(
    _ path: FieldKeyPath<R, Value>, satisfies condition: @escaping @Sendable (Value) throws -> Bool
  ) -> QueryCondition {
    QueryCondition(FieldCondition(path) { entry in try condition(try entry.value(of: path)) })
  }
}

extension RawSpan {
  /// Whether the bytes begin with others.
  fileprivate func starts(with prefix: RawSpan) -> Bool {
    byteCount >= prefix.byteCount && extracting(0..<prefix.byteCount).elementsEqual(prefix)
  }
}

// MARK: - One condition of a query on one field.

/// What must be so of a field for a record to be found.
struct FieldCondition<R: Record>: Sendable {
  let path: any PartialKeyPath<R> & Sendable
  /// What an index of the field makes of the condition; nil where it can't help.
  let indexed: IndexedCondition?
  /// The values of which the field has one, as they are stored; nil where the condition says something else.
  let values: [[UInt8]]?
  /// Makes the condition ready for a scanner.
  let bind: @Sendable (RecordScanner<R>) throws -> QueryCondition<R>.Bound

  /// A condition that looks at a record's bytes.
  init(
    _ path: any PartialKeyPath<R> & Sendable, indexed: IndexedCondition?, values: [[UInt8]]? = nil,
    bind: @escaping @Sendable (RecordScanner<R>) throws -> QueryCondition<R>.Bound
  ) {
    self.path = path
    self.indexed = indexed
    self.values = values
    self.bind = bind
  }

  /// A condition that looks at a value.
  init(
    _ path: any PartialKeyPath<R> & Sendable, _ indexed: IndexedCondition? = nil, values: [[UInt8]]? = nil,
    _ holds: @escaping @Sendable (ScannedEntry<R>) throws -> Bool
  ) {
    self.init(path, indexed: indexed, values: values) { scanner in
      { record in try holds(ScannedEntry(record, scanner)) }
    }
  }

  /// A condition that looks at the bytes of a text, which may be optional.
  init<Value: FieldValue>(
    textOf path: FieldKeyPath<R, Value>, _ indexed: IndexedCondition? = nil,
    _ holds: @escaping @Sendable (RawSpan) -> Bool
  ) {
    self.init(path, indexed: indexed) { scanner in
      let index = try scanner.reader.plan.index(of: path)
      let isOptional = Value.Stored.isOptional
      // What a record has that lacks the field.
      let initial = try scanner.reader.plan.prototype[keyPath: path].stored as? String
      let isInitial = initial.map { $0.withUTF8Bytes(holds) } ?? false
      return { record in
        try scanner.text(in: index, isOptional: isOptional, of: record, holds) ?? isInitial
      }
    }
  }
}

// MARK: - Which runs of a field's index hold the records for which a condition holds.

/// A condition as an ordered index sees it.
struct IndexedCondition: Sendable {
  /// Outside of these ranges no record satisfies the condition; inside, some may not.
  let ranges: [KeyRange]
  /// The condition in words.
  let description: String

  /// The condition that a field has a value; nil for values without a sort key.
  init?<Value: Equatable & Sendable>(is value: Value) {
    guard let key = sortKey(of: value) else { return nil }
    ranges = [KeyRange(of: key)]
    description = shown(value)
  }

  /// The condition that a field has another value: an index helps where that means any value at all.
  init?<Value: Equatable & Sendable>(isNot value: Value) {
    guard isOptional(Value.self), sortKey(of: value) == KeyRange.absent else { return nil }
    ranges = [KeyRange(from: KeyRange.present, to: nil)]
    description = "any value"
  }

  /// The condition that a field has one of some values.
  init?<Value: Equatable & Sendable>(isIn values: some Sequence<Value>) {
    var ranges: [KeyRange] = []
    var words: [String] = []
    for value in values {
      guard let key = sortKey(of: value) else { return nil }
      ranges.append(KeyRange(of: key))
      if words.count < Self.shownCount { words.append(shown(value)) }
    }
    self.ranges = ranges
    let rest = ranges.count > words.count ? ", and \(ranges.count - words.count) more" : ""
    description = "[\(words.joined(separator: ", "))\(rest)]"
  }

  /// The condition that a field has a value in a range; nil where sort keys are in another order than values.
  init?<Value: Comparable & Sendable>(in range: ValueRange<Value>, isOptional: Bool) {
    guard ValueOrder<Value>.isThatOfKeys else { return nil }
    func key(_ value: Value) -> [UInt8]? { isOptional ? sortKey(of: Optional(value)) : sortKey(of: value) }
    // Texts that begin alike may be one in an index: the last may be in the range where it says that it isn't.
    ranges = [
      KeyRange(
        from: range.lower.flatMap(key) ?? (isOptional ? KeyRange.present : []), to: range.upper.flatMap(key),
        includingUpper: range.includesUpper || Value.self == String.self)
    ]
    let ends = (range.lower.map(shown) ?? "", range.upper.map(shown) ?? "")
    description = ends.0 + (range.includesUpper ? "..." : "..<") + ends.1
  }

  /// The condition that a text begins with another.
  init(hasPrefix text: String, isOptional: Bool) {
    ranges = [KeyRange(beginningWith: (isOptional ? KeyRange.present : []) + text.utf8)]
    description = "\(shown(text))*"
  }

  /// The condition that a field has a value that is one, no nil and no NaN.
  init<Stored: StoredValue>(anyNumberOf type: Stored.Type) {
    let isFloating = Stored.fieldType == .double || Stored.fieldType == .date
    let start = Stored.isOptional ? KeyRange.present : []
    let notANumber = start + [UInt8](repeating: .max, count: 8)
    ranges = [KeyRange(from: start, to: isFloating ? notANumber : nil, includingUpper: !isFloating)]
    description = "any value"
  }

  /// How many values a description names.
  private static let shownCount = 5
}

/// A value's sort key, as long as an index entry needs it; nil for what has none.
private func sortKey<Value>(of value: Value) -> [UInt8]? {
  guard let type = Value.self as? any FieldValue.Type else { return nil }
  func key<Field: FieldValue>(_ type: Field.Type) -> [UInt8]? {
    guard let stored = try? (value as? Field)?.stored, Field.Stored.fieldType.isSortable else { return nil }
    return SortKey.key(of: stored)
  }
  return key(type)
}

/// Values as they are stored, with a presence byte where they may be missing; nil where one can't be stored.
func storedValues<Value>(_ values: [Value]) -> [[UInt8]]? {
  func bytes<Field: FieldValue>(_ type: Field.Type) -> [[UInt8]]? {
    var all: [[UInt8]] = []
    for value in values {
      guard let stored = try? (value as? Field)?.stored else { return nil }
      all.append(stored.storedBytes)
    }
    return all
  }
  return (Value.self as? any FieldValue.Type).flatMap { bytes($0) }
}

private func isOptional(_ type: any Any.Type) -> Bool {
  func ask<Field: FieldValue>(_ type: Field.Type) -> Bool { Field.Stored.isOptional }
  return (type as? any FieldValue.Type).map { ask($0) } ?? false
}

private func shown(_ value: some Any) -> String {
  (value as? String)?.debugDescription ?? String(describing: value)
}

// MARK: - How queries compare values: as their types do, and text by its bytes (docs/format-derived.md 33).

/// Whether a query takes two values for the same.
struct ValueEquality<Value: Equatable & Sendable>: Sendable {
  let areEqual: @Sendable (Value, Value) -> Bool

  private init(_ areEqual: @escaping @Sendable (Value, Value) -> Bool) { self.areEqual = areEqual }

  init() {
    let text = ValueEquality<String> { $0.hasBytes(of: $1) }
    let optionalText = ValueEquality<String?> { left, right in
      guard let left, let right else { return left == nil && right == nil }
      return left.hasBytes(of: right)
    }
    self =
      text as? ValueEquality<Value> ?? optionalText as? ValueEquality<Value>
      ?? ValueEquality { $0 == $1 }
  }
}

/// The order of values in a query.
struct ValueOrder<Value: Sendable>: Sendable {
  let precedes: @Sendable (Value, Value) -> Bool
  /// Whether sort keys are in the same order as the values.
  let isThatOfKeys: Bool
}

extension ValueOrder where Value: Comparable {
  private init(_ precedes: @escaping @Sendable (Value, Value) -> Bool) {
    self.precedes = precedes
    isThatOfKeys = Self.isThatOfKeys
  }

  init() {
    let text = ValueOrder<String> { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    // What is not equal to itself, as NaN, comes last.
    self =
      text as? ValueOrder<Value>
      ?? ValueOrder { left, right in left < right || (right != right && left == left) }
  }

  /// Whether sort keys are in the same order as the values. Types of an app's own compare as they like.
  static var isThatOfKeys: Bool { typesInOrderOfKeys.contains(ObjectIdentifier(Value.self)) }
}

extension ValueOrder {
  /// The order of optional values: nil comes first.
  init<Wrapped: Comparable & Sendable>() where Value == Wrapped? {
    let order = ValueOrder<Wrapped>()
    isThatOfKeys = order.isThatOfKeys
    precedes = { left, right in
      guard let right else { return false }
      guard let left else { return true }
      return order.precedes(left, right)
    }
  }
}

private let typesInOrderOfKeys = Set(
  [
    Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self, UInt32.self,
    UInt64.self, Double.self, Float.self, String.self, Date.self, UUID.self, RecordID.self,
  ].map { (type: any Any.Type) in ObjectIdentifier(type) })

extension String {
  fileprivate func hasBytes(of other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

// MARK: - The bounds of a range of values, which a range expression keeps to itself.

/// From where to where a range goes.
struct ValueRange<Value: Comparable & Sendable>: Sendable {
  let lower: Value?
  let upper: Value?
  let includesUpper: Bool

  /// Takes the bounds of one of the standard library's ranges; nil for any other.
  init?(_ range: some RangeExpression<Value>) {
    switch range {
    case let range as ClosedRange<Value>:
      (lower, upper, includesUpper) = (range.lowerBound, range.upperBound, true)
    case let range as Range<Value>:
      (lower, upper, includesUpper) = (range.lowerBound, range.upperBound, false)
    case let range as PartialRangeFrom<Value>: (lower, upper, includesUpper) = (range.lowerBound, nil, true)
    case let range as PartialRangeThrough<Value>:
      (lower, upper, includesUpper) = (nil, range.upperBound, true)
    case let range as PartialRangeUpTo<Value>: (lower, upper, includesUpper) = (nil, range.upperBound, false)
    default: return nil
    }
  }

  /// Whether a value is in the range, in an order that may be another than the type's.
  func contains(_ value: Value, in order: ValueOrder<Value>) -> Bool {
    if let lower, order.precedes(value, lower) { return false }
    guard let upper else { return true }
    return includesUpper ? !order.precedes(upper, value) : order.precedes(value, upper)
  }
}
