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

// MARK: - Refining a query by conditions, all of which have to hold.

extension Query {
  /// Only records for which a condition holds: one on a field, or several joined by `&&`, `||` and `!`.
  ///
  /// ```swift
  /// let found = try store.query(Note.self).where(.field(\.folder, is: 3) || .field(\.isPinned, is: true)).entries()
  /// ```
  ///
  /// Indexes lead to the records where they help: those of one field of an and, those of each side of an or.
  public func `where`(_ condition: QueryCondition<R>) -> Query { adding(condition) }

  /// Only records whose field has this value: ``QueryCondition/field(_:is:)``.
  public func `where`<Value: Equatable & Sendable>(_ path: FieldKeyPath<R, Value>, is value: Value) -> Query {
    adding(.field(path, is: value))
  }

  /// Only records whose field has another value: ``QueryCondition/field(_:isNot:)``.
  public func `where`<Value: Equatable & Sendable>(
    _ path: FieldKeyPath<R, Value>, isNot value: Value
  ) -> Query {
    adding(.field(path, isNot: value))
  }

  /// Only records whose field has one of these values: ``QueryCondition/field(_:isIn:)``.
  public func `where`<Value: Hashable & Sendable>(
    _ path: FieldKeyPath<R, Value>, isIn values: some Sequence<Value>
  ) -> Query {
    adding(.field(path, isIn: values))
  }

  /// Only records whose field has a value in a range: see the condition of the same name in ``QueryCondition``.
  public func `where`<Value: Comparable & Sendable>(
    _ path: FieldKeyPath<R, Value>, in range: some RangeExpression<Value> & Sendable
  ) -> Query {
    adding(.field(path, in: range))
  }

  /// Only records whose field has a value, and one in a range; nil is in none.
  public func `where`<Value: Comparable & Sendable>(
    _ path: FieldKeyPath<R, Value?>, in range: some RangeExpression<Value> & Sendable
  ) -> Query {
    adding(.field(path, in: range))
  }

  /// Only records whose text field begins with a text, byte by byte.
  public func `where`<Value: FieldValue>(_ path: FieldKeyPath<R, Value>, hasPrefix text: String) -> Query
  where Value.Stored == String {
    adding(.field(path, hasPrefix: text))
  }

  /// Only records whose text field has a text that begins with another, byte by byte.
  public func `where`<Value: FieldValue>(_ path: FieldKeyPath<R, Value>, hasPrefix text: String) -> Query
  where Value.Stored == String? {
    adding(.field(path, hasPrefix: text))
  }

  /// Only records whose field satisfies a condition of your own; a sealed field is opened for it.
  public func filter<Value>(
    _ path: FieldKeyPath<R, Value>, _ condition: @escaping @Sendable (Value) throws -> Bool
  ) -> Query {
    adding(.field(path, satisfies: condition))
  }

  /// Only records whose text field holds a text; a sealed field is opened for it.
  ///
  /// ```swift
  /// let found = try store.query(Note.self).contains(\.body, "Clark").entries()
  /// ```
  ///
  /// The bytes of both are compared, and no string is made: upper case is not lower case, and a letter that can be
  /// composed in two ways is two letters.
  public func contains<Value: FieldValue>(_ path: FieldKeyPath<R, Value>, _ text: String) -> Query
  where Value.Stored == String {
    adding(.field(path, contains: text))
  }

  /// Only records whose text field has a text that holds another; a sealed field is opened for it.
  public func contains<Value: FieldValue>(_ path: FieldKeyPath<R, Value>, _ text: String) -> Query
  where Value.Stored == String? {
    adding(.field(path, contains: text))
  }

  // MARK: - Pages of a query: by their number, or by what came before.

  /// At most this many records, the first in the order asked for; some at the beginning may be passed over.
  ///
  /// Pages by their offset shift where records are inserted or deleted before them: one may be seen twice, or not at all. Those after a cursor
  /// don't: see ``after(_:)``.
  ///
  /// - Parameters:
  ///   - count: How many records are wanted at most.
  ///   - offset: How many are passed over.
  /// - Returns: The query with the limit.
  /// - Complexity: Those that are passed over are read.
  public func limit(_ count: Int, offset: Int = 0) -> Query {
    var query = self
    query.limit = count
    query.offset = offset
    return query
  }

  /// Only what comes after a place in the order: the next page.
  ///
  /// ```swift
  /// let query = store.query(Note.self).sorted(by: \.folder).sorted(by: \.time, .descending).limit(50)
  /// var page = try query.entries()
  /// while let last = page.last {
  ///   show(page)
  ///   page = try query.after(query.cursor(at: last)).entries()
  /// }
  /// ```
  ///
  /// Whatever is inserted, changed or deleted between two pages, no record that stays where it is in the order is left out or comes twice. With an
  /// index, a page costs what its records cost, wherever it begins: see `explain()`.
  ///
  /// The query has to be sorted as the one that the cursor is of; conditions may be others.
  public func after(_ cursor: QueryCursor) -> Query {
    var query = self
    query.cursor = cursor
    return query
  }

  /// The place of a record in the query's order, for ``after(_:)``.
  ///
  /// - Throws: `invalidArgument` where the query is not sorted; `locked` where it is sorted by a locked field.
  public func cursor(at entry: Entry<R>) throws -> QueryCursor {
    guard let order else {
      throw NotelogError(
        .invalidArgument, "the query isn't sorted, and no record comes after another: sort it")
    }
    let values = try order.values(of: entry)
    let fields = try order.fields(entry.reader)
    guard fields.count <= QueryCursor.maximumKeyCount else {
      throw NotelogError(
        .limitExceeded,
        "the query is sorted by \(fields.count) fields: a cursor holds \(QueryCursor.maximumKeyCount)")
    }
    let keys = zip(zip(order.keys, fields), values).map { key, value in
      QueryCursor.Key(
        field: key.1.number, isDescending: key.0.direction == .descending, isSealed: key.1.isSealed,
        value: value)
    }
    return QueryCursor(collection: entry.stored.collection, keys: keys, id: entry.id)
  }

  /// Refuses what no query can have: it may have come from a user.
  func checkLimit() throws(NotelogError) {
    guard limit ?? 0 < 0 || offset < 0 else { return }
    throw NotelogError(.invalidArgument, "a query's limit is not negative, and neither is its offset")
  }

  /// Whether a record comes after the cursor; nil where there is none.
  func following(_ reader: RecordReader<R>) throws -> (@Sendable (ScannedEntry<R>) throws -> Bool)? {
    guard let cursor else { return nil }
    guard let order else {
      throw NotelogError(
        .invalidArgument,
        "this query has no order, and the cursor is of one that was sorted: sort it the same way")
    }
    let fields = try order.fields(reader)
    let isSame =
      cursor.collection == reader.plan.collection.number && cursor.keys.count == fields.count
      && zip(cursor.keys, zip(order.keys, fields)).allSatisfy { key, known in
        key.field == known.1.number && key.isDescending == (known.0.direction == .descending)
      }
    guard isSame else {
      throw NotelogError(.invalidArgument, "the cursor is of a query that was sorted otherwise")
    }
    return try order.following(cursor)
  }
}

extension RecordOrder {
  /// The fields that records are sorted by.
  func fields(_ reader: RecordReader<R>) throws -> [FieldPlan] {
    try keys.map { reader.plan.collection.fields[try reader.plan.index(of: $0.path)] }
  }

  /// What a record is sorted by, as plain fields have it.
  func values(of entry: Entry<R>) throws -> [[UInt8]] {
    let record = StoredRecord(
      id: entry.id.bytes, collection: entry.stored.collection, revision: entry.revision,
      isPossiblyStale: entry.isPossiblyStale)
    let body = entry.stored.body
    let scanned = ScannedRecord(record, RecordBody(checked: body.rawSpan))
    return try encode(value(of: ScannedEntry(scanned, RecordScanner(entry.reader))))
  }

  /// Whether a record comes after a place in this order.
  func following(_ cursor: QueryCursor) throws -> @Sendable (ScannedEntry<R>) throws -> Bool {
    var stored = cursor.keys.map(\.value)[...]
    let place: Value
    do { place = try decode(&stored) } catch {
      throw NotelogError(.invalidArgument, "the cursor's values are none of the fields'")
    }
    return { entry in
      switch compare(place, try value(of: entry)) {
      case .before: true
      case .after: false
      case .same: cursor.id < entry.id
      }
    }
  }
}
