// Conditions on one field.

import NotelogBase

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
