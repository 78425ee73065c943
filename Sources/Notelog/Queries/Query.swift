// Finding, sorting and counting the records of a type.

/// A question about a collection's records at one moment: refined step by step, asked by `entries()`,
/// `first()`, `count()`, `min(of:)`, `max(of:)` or `sum(of:)`.
///
/// ```swift
/// let newest = try store.query(Note.self).sorted(by: \.time, .descending).limit(50).entries()
/// ```
///
/// Conditions and sorting on plain fields need no key; on sealed fields they open that field of each record.
///
/// `Query<Note>` is one of a record type, whose fields are named by key paths. `Query<DynamicEntry>`, which
/// ``DynamicCollection/query()`` makes, names them by their names.
public struct Query<R>: Sendable, Opaque {
  let store: Store
  /// The moment that is asked about; nil asks about the moment of asking.
  var moment: Snapshot?
  var own = OwnWrites()
  var question = Question()
  /// Looks the collection up, and returns what makes scanners of it.
  let scanners: @Sendable () throws -> @Sendable () -> Scanner

  /// Begins to ask.
  func search() throws -> Search {
    // The moment first: what it sees is of types that are known then.
    let moment = moment ?? store.journal.snapshot()
    return try Search(question, store, moment, own, scanners())
  }

  /// The query with something changed.
  func changing(_ change: (inout Question) -> Void) -> Query {
    var query = self
    change(&query.question)
    return query
  }

  /// Asked by several threads, which share the records between them: worth it where sealed fields are opened.
  ///
  /// Conditions are then called on several threads at once.
  public func parallel(_ threadCount: Int) -> Query {
    precondition(threadCount > 0, "a query is asked by one thread or more")
    return changing { $0.partCount = threadCount }
  }

  /// Told of each record, or place, that can't be read: what is sound is found all the same, and the rest
  /// left out.
  ///
  /// ```swift
  /// let notes = try store.query(Note.self).onDamage { finding in log(finding.message) }.entries()
  /// ```
  ///
  /// Without it what can't be read is left out as well, and ``Store/damage`` knows it afterwards. A closure
  /// that throws ends the query. It may be called on several threads at once.
  public func onDamage(_ handler: @escaping @Sendable (Finding) throws -> Void) -> Query {
    changing { $0.damageHandler = handler }
  }

  /// Only records for which a condition holds: one on a field, or several joined by `&&`, `||` and `!`.
  ///
  /// ```swift
  /// let found = try store.query(Note.self).where(.field(\.folder, is: 3) || .field(\.isPinned, is: true)).entries()
  /// ```
  ///
  /// Indexes lead to the records where they help: those of one field of an and, those of each side of an or.
  public func `where`(_ condition: QueryCondition<R>) -> Query {
    changing { $0.conditions.append(condition.node) }
  }

  // MARK: - Pages of a query: by their number, or by what came before.

  /// At most this many records, the first in the order asked for; some at the beginning may be passed over.
  ///
  /// Pages by their offset shift where records are inserted or deleted before them: one may be seen twice, or
  /// not at all. Those after a cursor don't: see ``after(_:)``.
  ///
  /// - Parameters:
  ///   - count: How many records are wanted at most.
  ///   - offset: How many are passed over.
  /// - Returns: The query with the limit.
  /// - Complexity: Those that are passed over are read.
  public func limit(_ count: Int, offset: Int = 0) -> Query {
    changing { ($0.limit, $0.offset) = (count, offset) }
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
  /// Whatever is inserted, changed or deleted between two pages, no record that stays where it is in the
  /// order is left out or comes twice. With an index, a page costs what its records cost, wherever it begins:
  /// see `explain()`.
  ///
  /// The query has to be sorted as the one that the cursor is of; conditions may be others.
  public func after(_ cursor: QueryCursor) -> Query { changing { $0.cursor = cursor } }
}

// MARK: - What queries are asked of.

/// What records are read from: a store as it is now, a snapshot of it, or a transaction, which sees its own
/// writes.
///
/// ```swift
/// func titles(in source: borrowing some RecordSource & ~Copyable) throws -> [String] {
///   try source.query(Note.self).entries().map { try $0.title }
/// }
/// let now = try titles(in: store)
/// try store.write { tx in
///   try tx.put(Note(title: "Clark"))
///   return try titles(in: tx)    // "Clark" is among them
/// }
/// ```
public protocol RecordSource: ~Copyable {
  /// The record with an id, its sealed fields unopened; nil where there is none.
  func get<R: Record>(_ type: R.Type, _ id: RecordID) throws -> Entry<R>?
  /// A query over the records of a type.
  func query<R: Record>(_ type: R.Type) throws -> Query<R>
}

extension Store: RecordSource {
  /// A query over the records of a type.
  public func query<R: Record>(_ type: R.Type) -> Query<R> {
    Query(store: self) { try self.scanners(for: type) }
  }

  fileprivate func scanners<R: Record>(for type: R.Type) throws -> @Sendable () -> Scanner {
    let reader = try reader(for: type)
    return { RecordScanner(reader) }
  }
}

extension StoreSnapshot: RecordSource {
  /// A query over the records of a type as they were.
  public func query<R: Record>(_ type: R.Type) -> Query<R> {
    Query(store: store, moment: moment) { [store] in try store.scanners(for: type) }
  }
}

// MARK: - A query of a record type.

extension Query where R: Record {
  /// Begins to ask; and what reads the records that are found.
  func ask() throws -> (search: Search, reader: RecordReader<R>) {
    let search = try search()
    return (search, search.makeScanner().of(R.self).reader)
  }

  /// Sorted by a field, and where it was sorted before, within records that are equal so far; records with
  /// equal values come in the order of their ids.
  ///
  /// ```swift
  /// store.query(Note.self).sorted(by: \.isPinned, .descending).sorted(by: \.time, .descending)
  /// ```
  ///
  /// Values are in the order that their type says, and NaN comes last. Text is in the order of its UTF-8
  /// bytes, that of Unicode's numbers: the same on every machine and in every language, in memory and in an
  /// index, and for text in one normal form that of Swift's `<`. To show text in the order of somebody's
  /// language, sort what was found. `\.id` is no field, and sorted by in memory.
  public func sorted<Value: Comparable & FieldValue>(
    by path: FieldKeyPath<R, Value>, _ direction: SortDirection = .ascending
  ) -> Query {
    changing { $0.keys.append(OrderKey(path, direction)) }
  }

  /// Sorted by a field that may be nil, which comes before all values.
  public func sorted<Value: Comparable & FieldValue>(
    by path: FieldKeyPath<R, Value?>, _ direction: SortDirection = .ascending
  ) -> Query {
    changing { $0.keys.append(OrderKey(path, direction)) }
  }

  /// The records found, their sealed fields unopened; in no particular order where none was asked for.
  ///
  /// Records that can't be read are left out: ``onDamage(_:)`` tells of them, and so does ``Store/damage``.
  ///
  /// - Throws: `locked` where a condition or the order needs a locked field; `CancellationError` where the
  ///   task that asks is cancelled, or was; others as they are met.
  /// - Complexity: O(*n*) in the records of the collection, and O(limit) in memory where there is a limit.
  ///   Conditions on indexed plain fields, and an order by one with a limit, read hardly more records than
  ///   are found; the first query that an index helps makes it, in O(*n*), and later openings find it in the
  ///   store. `explain()` says what is the case.
  public func entries() throws -> [Entry<R>] {
    let (search, reader) = try ask()
    return try search.entries().map { Entry(stored: $0, reader: reader) }
  }

  /// The first record found.
  public func first() throws -> Entry<R>? { try limit(1, offset: question.offset).entries().first }

  /// The place of a record in the query's order, for ``after(_:)``.
  ///
  /// - Throws: `invalidArgument` where the query is not sorted; `locked` where it is sorted by a locked
  ///   field.
  public func cursor(at entry: Entry<R>) throws -> QueryCursor { try search().cursor(at: entry.stored) }

  /// Only records whose field has this value: ``QueryCondition/field(_:is:)``.
  public func `where`<Value: Equatable & Sendable>(_ path: FieldKeyPath<R, Value>, is value: Value) -> Query {
    self.where(.field(path, is: value))
  }

  /// Only records whose text field is this text: see the condition of the same
  /// name in ``QueryCondition``.
  public func `where`<Value: FieldValue>(
    _ path: FieldKeyPath<R, Value>, is text: String, ignoringCase: Bool
  ) -> Query where Value.Stored: TextValue {
    self.where(.field(path, is: text, ignoringCase: ignoringCase))
  }

  /// Only records whose field has another value: ``QueryCondition/field(_:isNot:)``.
  public func `where`<Value: Equatable & Sendable>(
    _ path: FieldKeyPath<R, Value>, isNot value: Value
  ) -> Query {
    self.where(.field(path, isNot: value))
  }

  /// Only records whose field has one of these values: ``QueryCondition/field(_:in:)-(_,[Value])``.
  public func `where`<Value: Hashable & Sendable>(
    _ path: FieldKeyPath<R, Value>, in values: [Value]
  ) -> Query {
    self.where(.field(path, in: values))
  }

  /// Only records whose field has a value in a range: see the condition of the same name in
  /// ``QueryCondition``.
  public func `where`<Value: Comparable & Sendable>(
    _ path: FieldKeyPath<R, Value>, in range: some RangeExpression<Value> & Sendable
  ) -> Query {
    self.where(.field(path, in: range))
  }

  /// Only records whose field has a value, and one in a range; nil is in none.
  public func `where`<Value: Comparable & Sendable>(
    _ path: FieldKeyPath<R, Value?>, in range: some RangeExpression<Value> & Sendable
  ) -> Query {
    self.where(.field(path, in: range))
  }

  /// Only records whose text field begins with a text, byte by byte or without regard to case and accents: see
  /// the condition of the same name in ``QueryCondition``.
  public func `where`<Value: FieldValue>(
    _ path: FieldKeyPath<R, Value>, hasPrefix text: String, ignoringCaseAndAccents: Bool = false
  ) -> Query where Value.Stored: TextValue {
    self.where(.field(path, hasPrefix: text, ignoringCaseAndAccents: ignoringCaseAndAccents))
  }

  /// Only records whose field satisfies a condition of your own; a sealed field is opened for it.
  public func filter<Value>(
    _ path: FieldKeyPath<R, Value>, _ condition: @escaping @Sendable (Value) throws -> Bool
  ) -> Query {
    self.where(.field(path, satisfies: condition))
  }

  /// Only records whose text field holds a text; a sealed field is opened for it.
  ///
  /// ```swift
  /// let found = try store.query(Note.self).where(\.body, contains: "cafe", ignoringCaseAndAccents: true).entries()
  /// ```
  ///
  /// Otherwise the bytes of both are compared: see the condition of the same name in ``QueryCondition``.
  public func `where`<Value: FieldValue>(
    _ path: FieldKeyPath<R, Value>, contains text: String, ignoringCaseAndAccents: Bool = false
  ) -> Query where Value.Stored: TextValue {
    self.where(.field(path, contains: text, ignoringCaseAndAccents: ignoringCaseAndAccents))
  }
}
