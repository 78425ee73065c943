// Pages of a query: by their number, or by what came before.

import NotelogBase

extension Query {
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
