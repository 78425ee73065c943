// Finding, sorting and counting the records of a type.

import NotelogBase

/// A question about a collection's records at one moment: refined step by step, asked by `entries()`, `first()`, `count()`, `min(of:)`, `max(of:)`
/// or `sum(of:)`.
///
/// ```swift
/// let newest = try store.query(Note.self).sorted(by: \.time, .descending).limit(50).entries()
/// ```
///
/// Conditions and sorting on plain fields need no key; on sealed fields they open that field of each record.
public struct Query<R: Record>: Sendable {
  let store: Store
  /// The moment that is asked about; nil asks about the moment of asking.
  let moment: Snapshot?
  private(set) var conditions: [QueryCondition<R>] = []
  var order: (any RecordOrder<R>)?
  /// Behind which place in the order records are asked for.
  var cursor: QueryCursor?
  var limit: Int?
  /// How many records are passed over.
  var offset = 0
  /// How many threads go through the records, each through a part.
  private(set) var partCount = 1
  /// What is told of what is left out.
  private var damageHandler: (@Sendable (Finding) throws -> Void)?

  init(_ store: Store, _ moment: Snapshot? = nil) {
    self.store = store
    self.moment = moment
  }

  /// Asked by several threads, which share the records between them: worth it where sealed fields are opened.
  ///
  /// Conditions are then called on several threads at once.
  public func parallel(_ threadCount: Int) -> Query {
    precondition(threadCount > 0, "a query is asked by one thread or more")
    var query = self
    query.partCount = threadCount
    return query
  }

  /// Told of each record, or place, that can't be read: what is sound is found all the same, and the rest left out.
  ///
  /// ```swift
  /// let notes = try store.query(Note.self).onDamage { finding in log(finding.message) }.entries()
  /// ```
  ///
  /// Without it what can't be read is left out as well, and ``Store/damage`` knows it afterwards. A closure that throws ends the
  /// query. It may be called on several threads at once.
  public func onDamage(_ handler: @escaping @Sendable (Finding) throws -> Void) -> Query {
    var query = self
    query.damageHandler = handler
    return query
  }

  /// Sorted by a field, and where it was sorted before, within records that are equal so far; records with equal values come in
  /// the order of their ids.
  ///
  /// ```swift
  /// store.query(Note.self).sorted(by: \.isPinned, .descending).sorted(by: \.time, .descending)
  /// ```
  ///
  /// Values are in the order that their type says, and NaN comes last. Text is in the order of its UTF-8 bytes, that of
  /// Unicode's numbers: the same on every machine and in every language, in memory and in an index, and for text in one
  /// normal form that of Swift's `<`. To show text in the order of somebody's language, sort what was found.
  public func sorted<Value: Comparable & FieldValue>(
    by path: FieldKeyPath<R, Value>, _ direction: SortDirection = .ascending
  ) -> Query {
    adding(FieldOrder(path: path, direction: direction, order: ValueOrder()))
  }

  /// Sorted by a field that may be nil, which comes before all values.
  public func sorted<Value: Comparable & FieldValue>(
    by path: FieldKeyPath<R, Value?>, _ direction: SortDirection = .ascending
  ) -> Query {
    adding(FieldOrder(path: path, direction: direction, order: ValueOrder()))
  }

  /// The records found, their sealed fields unopened; in no particular order where none was asked for.
  ///
  /// Records that can't be read are left out: ``onDamage(_:)`` tells of them, and so does ``Store/damage``.
  ///
  /// - Throws: `locked` where a condition or the order needs a locked field; `CancellationError` where the task that asks is cancelled, or
  ///   was; others as they are met.
  /// - Complexity: O(*n*) in the records of the collection, and O(limit) in memory where there is a limit. Conditions on
  ///   indexed plain fields, and an order by one with a limit, read hardly more records than are found; the first query
  ///   that an index helps makes it, in O(*n*), and later openings find it in the store. `explain()` says what is the case.
  public func entries() throws -> [Entry<R>] {
    try checkLimit()
    guard limit != 0 else { return [] }
    let moment = moment ?? store.journal.snapshot()
    let reader = try store.reader(for: R.self)
    let way = try way(reader, moment)
    let found = try order?.collect(self, on: way, reader, moment) ?? unsorted(on: way, reader, moment)
    return offset == 0 ? found : Array(found.dropFirst(offset))
  }

  private func unsorted(
    on way: QueryWay, _ reader: RecordReader<R>, _ moment: Snapshot
  ) throws -> [Entry<R>] {
    let parts = try inParts { part in
      var found: [Entry<R>] = []
      try forEach(on: way, reader, moment, part: part) { entry in
        found.append(try entry.entry())
        return found.count != wantedCount
      }
      return found
    }
    return Array(parts.joined().prefix(wantedCount ?? .max))
  }

  /// The first record found.
  public func first() throws -> Entry<R>? { try limit(1, offset: offset).entries().first }

  /// The ids of all records for which the conditions hold.
  func ids() throws -> [RecordID] {
    let moment = moment ?? store.journal.snapshot()
    let reader = try store.reader(for: R.self)
    let way = try way(reader, moment)
    return try inParts { part in
      var ids: [RecordID] = []
      try forEach(on: way, reader, moment, part: part) { entry in
        ids.append(entry.id)
        return true
      }
      return ids
    }.flatMap(\.self)
  }

  /// How many records are wanted, those that are passed over among them.
  var wantedCount: Int? { limit.map { $0.addingReportingOverflow(offset).overflow ? .max : $0 + offset } }

  /// Tells of something that is left out.
  func leaveOut(_ finding: Finding) throws { try damageHandler?(finding) }

  /// Runs what reads a record; nil where the record is damaged, and left out.
  func reading<Result>(_ id: RecordID, _ body: () throws -> Result?) throws -> Result? {
    do { return try body() } catch {
      try leaveOut(error, id)
      return nil
    }
  }

  /// Tells of a record that could not be read; throws what is no damage.
  func leaveOut(_ error: any Error, _ id: RecordID) throws {
    guard let error = error as? NotelogError, error.code == .damaged || error.code == .tampered else {
      throw error
    }
    store.journal.noteDamage(of: id.bytes)
    try leaveOut(Finding(error, id))
  }

  /// The same question without an order.
  var unordered: Query {
    var query = self
    query.order = nil
    return query
  }

  /// Whether somebody is told of what can't be read.
  var tellsOfDamage: Bool { damageHandler != nil }

  private func adding<Value>(_ next: FieldOrder<R, Value>) -> Query {
    var query = self
    query.order = order.map { $0.then(next) } ?? next
    return query
  }

  func adding(_ condition: QueryCondition<R>) -> Query {
    var query = self
    query.conditions.append(condition)
    return query
  }
}

extension Store {
  /// A query over the records of a type.
  public func query<R: Record>(_ type: R.Type) -> Query<R> { Query(self) }
}

extension StoreSnapshot {
  /// A query over the records of a type as they were.
  public func query<R: Record>(_ type: R.Type) -> Query<R> { Query(store, moment) }
}
