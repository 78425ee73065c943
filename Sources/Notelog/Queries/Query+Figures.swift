// Figures about what a query finds: how many, the least, the greatest, the sum.

import NotelogBase
import NotelogFormat

extension Query {
  /// How many records there are, limit and offset applied; those that can't be read are left out, as in `entries()`.
  ///
  /// Without conditions, and where nothing is known to be damaged, none is read: then a record counts of which nobody knows yet that it can't be read. A
  /// query with ``onDamage(_:)`` reads all of them.
  ///
  /// - Throws: `CancellationError` where the task was cancelled; what `entries()` throws.
  public func count() throws -> Int {
    try checkLimit()
    guard limit != 0 else { return 0 }
    let moment = moment ?? store.journal.snapshot()
    let reader = try store.reader(for: R.self)
    let all = try listedCount(reader, moment) ?? foundCount(reader, moment)
    return Swift.min(Swift.max(all - offset, 0), limit ?? .max)
  }

  /// How many records the collection lists, where that is what is asked for; nil else.
  private func listedCount(_ reader: RecordReader<R>, _ moment: Snapshot) throws -> Int? {
    guard isOfAll, !store.journal.isDamaged else { return nil }
    let count = try moment.recordCount(in: reader.plan.collection.number)
    // What is damaged may have turned out now.
    return store.journal.isDamaged ? nil : count
  }

  private func foundCount(_ reader: RecordReader<R>, _ moment: Snapshot) throws -> Int {
    let way = try unordered.way(reader, moment)
    let counts = try inParts { part in
      var count = 0
      try forEach(on: way, reader, moment, part: part) { _ in
        count += 1
        return count != wantedCount
      }
      return count
    }
    return counts.reduce(0, +)
  }

  /// The least value of a field among the records found; nil where there is none. NaN is passed over.
  ///
  /// - Complexity: That of the first record sorted by the field: with an index, hardly more than one record is read.
  /// - Throws: `locked` where a locked field is needed; what `entries()` throws.
  public func min<Value: Comparable & FieldValue>(of path: FieldKeyPath<R, Value>) throws -> Value? {
    try first(FieldOrder(path: path, direction: .ascending, order: ValueOrder())) { $0 == $0 }
  }

  /// The least value of a field among the records found, nil and NaN passed over; nil where there is none.
  public func min<Value: Comparable & FieldValue>(of path: FieldKeyPath<R, Value?>) throws -> Value? {
    try first(FieldOrder(path: path, direction: .ascending, order: ValueOrder())) { $0 != nil && $0 == $0 }
      ?? nil
  }

  /// The greatest value of a field among the records found; nil where there is none. NaN is passed over.
  ///
  /// - Complexity: That of the first record sorted by the field: with an index, hardly more than one record is read.
  /// - Throws: `locked` where a locked field is needed; what `entries()` throws.
  public func max<Value: Comparable & FieldValue>(of path: FieldKeyPath<R, Value>) throws -> Value? {
    try first(FieldOrder(path: path, direction: .descending, order: ValueOrder())) { $0 == $0 }
  }

  /// The greatest value of a field among the records found, nil and NaN passed over; nil where there is none.
  public func max<Value: Comparable & FieldValue>(of path: FieldKeyPath<R, Value?>) throws -> Value? {
    try first(FieldOrder(path: path, direction: .descending, order: ValueOrder())) { $0 != nil && $0 == $0 }
      ?? nil
  }

  /// The sum of a field's values in the records found.
  ///
  /// - Complexity: O(*n*) in the records. Without conditions, of an indexed field, none of them is read, but what the store lists of
  ///   them; where something is known to be damaged they are, and those that can't be are left out.
  /// - Throws: `limitExceeded` where the sum is no value of the type; `locked` where a locked field is needed; what `entries()`
  ///   throws.
  public func sum<Value: FixedWidthInteger & FieldValue>(of path: FieldKeyPath<R, Value>) throws -> Value {
    try total(of: path, { $0 }, Self.add)
  }

  /// The sum of a field's values in the records found, nil passed over.
  public func sum<Value: FixedWidthInteger & FieldValue>(of path: FieldKeyPath<R, Value?>) throws -> Value {
    try total(of: path, { $0 ?? 0 }, Self.add)
  }

  /// The sum of a field's values in the records found. They are added as they lie in the store: the last digits may differ from one
  /// time to the next.
  public func sum<Value: BinaryFloatingPoint & FieldValue>(of path: FieldKeyPath<R, Value>) throws -> Value {
    try total(of: path, { $0 }, { $0 + $1 })
  }

  /// The sum of a field's values in the records found, nil passed over.
  public func sum<Value: BinaryFloatingPoint & FieldValue>(of path: FieldKeyPath<R, Value?>) throws -> Value {
    try total(of: path, { $0 ?? 0 }, { $0 + $1 })
  }

  /// Whether it asks for all records of the collection, and is not told of those that can't be read.
  private var isOfAll: Bool { conditions.isEmpty && cursor == nil && !tellsOfDamage }

  @Sendable
  private static func add<Value: FixedWidthInteger>(_ left: Value, _ right: Value) throws -> Value {
    let (sum, overflow) = left.addingReportingOverflow(right)
    guard !overflow else { throw NotelogError(.limitExceeded, "the sum doesn't fit the type \(Value.self)") }
    return sum
  }

  /// The first value in an order, of those that count.
  private func first<Value: FieldValue>(
    _ order: FieldOrder<R, Value>, _ counts: @escaping @Sendable (Value) -> Bool
  ) throws -> Value? {
    guard limit == nil, offset == 0, cursor == nil else {
      var first: Value?
      for entry in try entries() {
        guard let value = try reading(entry.id, { try entry.value(of: order.path) }), counts(value) else {
          continue
        }
        if first.map({ order.compare(value, $0) == .before }) ?? true { first = value }
      }
      return first
    }
    let condition = FieldCondition<R>(order.path, IndexedCondition(anyNumberOf: Value.Stored.self)) { entry in
      counts(try entry.value(of: order.path))
    }
    var query = adding(QueryCondition(condition)).limit(1)
    query.order = order
    return try query.entries().first?.value(of: order.path)
  }

  /// Adds a field's values up, each made to what is added.
  private func total<Field: FieldValue, Sum: AdditiveArithmetic & Sendable>(
    of path: FieldKeyPath<R, Field>, _ summand: @escaping @Sendable (Field) -> Sum,
    _ add: @escaping @Sendable (Sum, Sum) throws -> Sum
  ) throws -> Sum {
    guard limit == nil, offset == 0 else {
      var sum = Sum.zero
      for entry in try entries() {
        if let value = try reading(entry.id, { try entry.value(of: path) }) {
          sum = try add(sum, summand(value))
        }
      }
      return sum
    }
    let moment = moment ?? store.journal.snapshot()
    let reader = try store.reader(for: R.self)
    if let listed = try listedTotal(of: path, summand, add, reader, moment) { return listed }
    let way = try unordered.way(reader, moment)
    let sums = try inParts { part in
      var sum = Sum.zero
      try forEach(on: way, reader, moment, part: part) { entry in
        if let value = try reading(entry.id, { try entry.value(of: path) }) {
          sum = try add(sum, summand(value))
        }
        return true
      }
      return sum
    }
    return try sums.dropFirst().reduce(sums[0], add)
  }

  /// The sum out of the sort keys that the store lists; nil where it doesn't list them all, or other than all records are asked for.
  private func listedTotal<Field: FieldValue, Sum: AdditiveArithmetic>(
    of path: FieldKeyPath<R, Field>, _ summand: (Field) -> Sum, _ add: (Sum, Sum) throws -> Sum,
    _ reader: RecordReader<R>, _ moment: Snapshot
  ) throws -> Sum? {
    guard isOfAll, !store.journal.isDamaged, let name = reader.indexName(of: path) else { return nil }
    var sum = Sum.zero
    var stored: [UInt8] = []
    var failure: (any Error)?
    let isWhole = try moment.forEachEnvelope(in: name.collection) { _, envelope in
      guard let key = Envelope.sortKey(of: name.field, in: envelope) else { return false }
      do {
        guard
          try SortKey.restore(
            &stored, of: Field.Stored.fieldType, isOptional: Field.Stored.isOptional,
            envelope.extracting(key))
        else { return false }
        sum = try add(sum, summand(Field(stored: Field.Stored(loading: stored.rawSpan))))
      } catch { failure = error }
      return failure == nil
    }
    if let failure { throw failure }
    return isWhole && !store.journal.isDamaged ? sum : nil
  }
}
