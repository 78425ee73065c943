// Finding, sorting and counting the records of a type.

import NotelogJournal

/// The direction of a sort.
public enum SortDirection: Sendable {
  /// The smallest first.
  case ascending
  /// The largest first.
  case descending
}

/// A question about a collection's records at one moment: refined step by step, asked by ``entries()``, ``first()`` or ``count()``.
///
/// ```swift
/// let newest = try store.query(Note.self).sorted(by: \.time, .descending).limit(50).entries()
/// ```
///
/// Conditions and sorting on plain fields need no key; on sealed fields they open that field of each record.
public struct Query<R: Record>: Sendable {
  typealias Condition = @Sendable (RecordReader<R>, RecordID, RawSpan) throws -> Bool

  let store: Store
  /// The moment that is asked about; nil asks about the moment of asking.
  private let moment: Snapshot?
  private var conditions: [Condition] = []
  private var order: Order<R>?
  private var limit: Int?

  init(_ store: Store, _ moment: Snapshot? = nil) {
    self.store = store
    self.moment = moment
  }

  /// Only records whose field has this value.
  public func `where`<Value: Equatable & Sendable>(_ path: FieldKeyPath<R, Value>, is value: Value) -> Query {
    adding { reader, id, body in try reader.value(of: path, id, body) == value }
  }

  /// Only records whose field has a value in a range.
  public func `where`<Value: Comparable & Sendable>(
    _ path: FieldKeyPath<R, Value>, in range: some RangeExpression<Value> & Sendable
  ) -> Query {
    adding { reader, id, body in range.contains(try reader.value(of: path, id, body)) }
  }

  /// Only records whose field satisfies a condition; a sealed field is opened for it.
  public func filter<Value>(
    _ path: FieldKeyPath<R, Value>, _ condition: @escaping @Sendable (Value) throws -> Bool
  ) -> Query {
    adding { reader, id, body in try condition(try reader.value(of: path, id, body)) }
  }

  /// Sorted by a field; records with equal values come in the order of their ids.
  public func sorted<Value: Comparable & Sendable>(
    by path: FieldKeyPath<R, Value>, _ direction: SortDirection = .ascending
  ) -> Query {
    var query = self
    query.order = Order(path, direction)
    return query
  }

  /// At most this many records, the first in the order asked for.
  public func limit(_ count: Int) -> Query {
    precondition(count >= 0, "a limit is not negative")
    var query = self
    query.limit = count
    return query
  }

  /// The records found, their sealed fields unopened; in no particular order where none was asked for.
  ///
  /// - Throws: `locked` where a condition or the order needs a locked field; `damaged` and others as they are met.
  /// - Complexity: O(*n*) in the records of the collection, and O(limit) in memory where there is a limit. Sorted by an
  ///   indexed plain field and with a limit, it reads hardly more records than it returns.
  public func entries() throws -> [Entry<R>] {
    guard limit != 0 else { return [] }
    let reader = try store.reader(for: R.self)
    let moment = moment ?? store.journal.snapshot()
    if let order { return try order.collect(self, reader, moment, limit: limit) }
    var found: [Entry<R>] = []
    try scan(reader, moment) { id, revision, body in
      found.append(try reader.entry(id, revision, body))
      return found.count != limit
    }
    return found
  }

  /// The first record found.
  public func first() throws -> Entry<R>? { try limit(1).entries().first }

  /// How many records there are, the limit applied.
  public func count() throws -> Int {
    guard limit != 0 else { return 0 }
    var count = 0
    try scan(try store.reader(for: R.self), moment ?? store.journal.snapshot()) { _, _, _ in
      count += 1
      return count != limit
    }
    return count
  }

  /// Calls `body` with each record that satisfies all conditions, until it returns false.
  func scan(
    _ reader: RecordReader<R>, _ moment: Snapshot, _ body: (RecordID, UInt64, RawSpan) throws -> Bool
  ) throws {
    try moment.scan(reader.plan.collection.schema.collection) { id, revision, bytes in
      for condition in conditions where try !condition(reader, id, bytes) { return true }
      return try body(id, revision, bytes)
    }
  }

  /// Whether a record satisfies all conditions.
  func accepts(_ reader: RecordReader<R>, _ stored: OwnedRecord) throws -> Bool {
    for condition in conditions where try !condition(reader, stored.id, stored.body.rawSpan) { return false }
    return true
  }

  private func adding(_ condition: @escaping Condition) -> Query {
    var query = self
    query.conditions.append(condition)
    return query
  }
}

/// A property's key path, to read it by.
public typealias FieldKeyPath<R, Value> = any KeyPath<R, Value> & Sendable
