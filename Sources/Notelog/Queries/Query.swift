// Finding, sorting and counting the records of a type.

import NotelogBase
import NotelogJournal

/// A question about a collection's records at one moment: refined step by step, asked by `entries()`, `first()` or `count()`.
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
  private(set) var order: (any RecordOrder<R>)?
  private(set) var limit: Int?
  /// How many threads go through the records, each through a part.
  private(set) var partCount = 1
  /// What is told of what is left out.
  private var damageHandler: (@Sendable (Verification.Finding) throws -> Void)?

  init(_ store: Store, _ moment: Snapshot? = nil) {
    self.store = store
    self.moment = moment
  }

  /// Only records whose field has this value. If the field is indexed and few records have it, only those are read.
  ///
  /// Values are equal where `==` says so, except that text is compared by its UTF-8 bytes: a letter that can be composed
  /// in two ways is two letters. In an indexed field of a type of your own, values that are equal must be stored alike.
  public func `where`<Value: Equatable & Sendable>(_ path: FieldKeyPath<R, Value>, is value: Value) -> Query {
    let equality = ValueEquality<Value>()
    return adding(path, IndexedCondition(is: value)) { entry in
      equality.areEqual(try entry.value(of: path), value)
    }
  }

  /// Only records whose field has a value in a range. If the field is an indexed number, date, UUID or text and few
  /// records are in the range, only those are read.
  ///
  /// Text is in the order of its UTF-8 bytes, as where it is sorted: see ``sorted(by:_:)``. Types of your own compare as
  /// they say; indexes don't help with those.
  public func `where`<Value: Comparable & Sendable>(
    _ path: FieldKeyPath<R, Value>, in range: some RangeExpression<Value> & Sendable
  ) -> Query {
    guard let known = ValueRange(range) else {
      return adding(path) { entry in range.contains(try entry.value(of: path)) }
    }
    let indexed = IndexedCondition(in: known)
    guard Value.self == String.self else {
      return adding(path, indexed) { entry in range.contains(try entry.value(of: path)) }
    }
    let order = ValueOrder<Value>()
    return adding(path, indexed) { entry in known.contains(try entry.value(of: path), in: order) }
  }

  /// Only records whose field satisfies a condition; a sealed field is opened for it.
  public func filter<Value>(
    _ path: FieldKeyPath<R, Value>, _ condition: @escaping @Sendable (Value) throws -> Bool
  ) -> Query {
    adding(path) { entry in try condition(try entry.value(of: path)) }
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
    containing(text, in: path, isOptional: false) { try $0.stored }
  }

  /// Only records whose text field has a text that holds another; a sealed field is opened for it.
  public func contains<Value: FieldValue>(_ path: FieldKeyPath<R, Value>, _ text: String) -> Query
  where Value.Stored == String? {
    containing(text, in: path, isOptional: true) { try $0.stored }
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
  public func onDamage(_ handler: @escaping @Sendable (Verification.Finding) throws -> Void) -> Query {
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

  /// At most this many records, the first in the order asked for.
  public func limit(_ count: Int) -> Query {
    precondition(count >= 0, "a limit is not negative")
    var query = self
    query.limit = count
    return query
  }

  /// The records found, their sealed fields unopened; in no particular order where none was asked for.
  ///
  /// Records that can't be read are left out: ``onDamage(_:)`` tells of them, and so does ``Store/damage``.
  ///
  /// - Throws: `locked` where a condition or the order needs a locked field; others as they are met.
  /// - Complexity: O(*n*) in the records of the collection, and O(limit) in memory where there is a limit. Conditions on
  ///   indexed plain fields, and an order by one with a limit, read hardly more records than are found; the first query
  ///   that an index helps makes it, in O(*n*), and later openings find it in the store. ``explain()`` says what is the case.
  public func entries() throws -> [Entry<R>] {
    guard limit != 0 else { return [] }
    let reader = try store.reader(for: R.self)
    let moment = moment ?? store.journal.snapshot()
    let way = try way(reader, moment)
    if let order { return try order.collect(self, on: way, reader, moment) }
    let parts = try inParts { part in
      var found: [Entry<R>] = []
      try forEach(on: way, reader, moment, part: part) { entry in
        found.append(try entry.entry())
        return found.count != limit
      }
      return found
    }
    return Array(parts.joined().prefix(limit ?? .max))
  }

  /// The first record found.
  public func first() throws -> Entry<R>? { try limit(1).entries().first }

  /// How many records there are, the limit applied; those that can't be read are left out, as in ``entries()``.
  public func count() throws -> Int {
    guard limit != 0 else { return 0 }
    let reader = try store.reader(for: R.self)
    let moment = moment ?? store.journal.snapshot()
    let way = try unordered.way(reader, moment)
    let counts = try inParts { part in
      var count = 0
      try forEach(on: way, reader, moment, part: part) { _ in
        count += 1
        return count != limit
      }
      return count
    }
    return min(counts.reduce(0, +), limit ?? .max)
  }

  /// Tells of something that is left out.
  func leaveOut(_ finding: Verification.Finding) throws { try damageHandler?(finding) }

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
    try leaveOut(Verification.Finding(error, id))
  }

  /// Runs `body` for each part, on as many threads.
  func inParts<Value: Sendable>(_ body: @Sendable (Int) throws -> Value) throws -> [Value] {
    if partCount == 1 { return [try body(0)] }
    let results = Lock<[Result<Value, any Error>?]>(Array(repeating: nil, count: partCount))
    inParallel(partCount) { part in
      let result = Result { try body(part) }
      results.withLock { $0[part] = result }
    }
    return try results.withLock { $0 }.compactMap { try $0?.get() }
  }

  /// The same question without an order.
  private var unordered: Query {
    var query = self
    query.order = nil
    return query
  }

  private func containing<Value>(
    _ text: String, in path: FieldKeyPath<R, Value>, isOptional: Bool,
    initial: @escaping @Sendable (Value) throws -> String?
  ) -> Query {
    let needle = Array(text.utf8)
    return adding(
      QueryCondition(path: path, indexed: nil) { scanner in
        let index = try scanner.index(of: path)
        // What a record has that lacks the field.
        let lacking = try initial(scanner.reader.plan.prototype[keyPath: path]).map { Array($0.utf8) }
        let isInitial = lacking?.rawSpan.contains(needle.rawSpan) ?? false
        return { record in
          try scanner.contains(needle, in: index, isOptional: isOptional, of: record) ?? isInitial
        }
      })
  }

  private func adding<Value>(
    _ path: FieldKeyPath<R, Value>, _ indexed: IndexedCondition? = nil,
    _ holds: @escaping @Sendable (ScannedEntry<R>) throws -> Bool
  ) -> Query {
    adding(
      QueryCondition(path: path, indexed: indexed) { scanner in
        { record in try holds(ScannedEntry(record, scanner)) }
      })
  }

  private func adding<Value>(_ next: FieldOrder<R, Value>) -> Query {
    var query = self
    query.order = order.map { $0.then(next) } ?? next
    return query
  }

  private func adding(_ condition: QueryCondition<R>) -> Query {
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
