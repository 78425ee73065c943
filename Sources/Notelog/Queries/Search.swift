// What a query asks, whatever type its records have, and the answer.

import NotelogBase

/// A question about a collection's records: conditions, an order, a page.
struct Question: Sendable {
  /// All of them have to hold.
  var conditions: [ConditionNode] = []
  /// What the records are sorted by, the first one first.
  var keys: [OrderKey] = []
  /// Whether fields are known by their names only. Then records come in the order of their ids where nothing
  /// else decides, and damage is told record by record, also where only a place is known at first.
  var isByName = false
  /// Behind which place in the order records are asked for.
  var cursor: QueryCursor?
  var limit: Int?
  /// How many records are passed over.
  var offset = 0
  /// How many threads go through the records, each through a part.
  var partCount = 1
  /// What is told of what is left out.
  var damageHandler: (@Sendable (Finding) throws -> Void)?

  /// How many records are wanted, those that are passed over among them.
  var wantedCount: Int? { limit.map { $0.addingReportingOverflow(offset).overflow ? .max : $0 + offset } }
}

/// What a transaction has written to a collection: its queries find that besides what is committed.
struct OwnWrites: Sendable {
  /// The records as they are in the end; nil in the place of one that was deleted.
  var records: [ID16: OwnedRecord?] = [:]
  /// Whether the collection's schema comes with the transaction: no index is to be made of its fields yet.
  var hasNewSchema = false
}

// MARK: - What a query has to know of a collection.

/// A field, or the id, as conditions and orders name it: finds its place in a scanner's collection, and the
/// stored value of records that lack it; nil where they have none.
typealias FieldReference = @Sendable (Scanner) throws -> (index: Int, initial: [UInt8]?)

/// The field of a property, or the id.
func fieldReference<R: Record>(_ path: any PartialKeyPath<R> & Sendable) -> FieldReference {
  { scanner in
    let reader = scanner.of(R.self).reader
    return reader.plan.isID(path)
      ? (CollectionPlan.idIndex, reader.plan.prototype.id.storedBytes) : try reader.place(of: path)
  }
}

/// The field of a name: whoever knows no more of it knows no initial value.
func fieldReference(named name: String) -> FieldReference {
  { scanner in (try scanner.plan.index(of: name), nil) }
}

extension Scanner {
  /// The same as a scanner of a record type: what a query of that type is asked with.
  func of<R: Record>(_ type: R.Type) -> RecordScanner<R> {
    guard let scanner = self as? RecordScanner<R> else {
      preconditionFailure("a query of a record type goes through its records")
    }
    return scanner
  }
}

// MARK: - Asking.

/// A question that is being asked: its fields are found, and its moment is fixed.
struct Search: Sendable {
  let question: Question
  let store: Store
  let moment: Snapshot
  let own: OwnWrites
  /// Makes what one thread goes through the records with.
  let makeScanner: @Sendable () -> Scanner
  let plan: CollectionPlan
  let order: RecordOrder
  /// All conditions.
  let condition: ConditionNode
  /// The ids that conditions name: other records aren't read.
  let namedIDs: Set<RecordID>?
  /// What the record is sorted by that the cursor is behind.
  private let cursorKey: [UInt8]?

  /// - Throws: `invalidArgument` for a limit, an offset or a cursor that no query can have: it may have come
  ///   from a user.
  init(
    _ question: Question, _ store: Store, _ moment: Snapshot, _ own: OwnWrites,
    _ makeScanner: @escaping @Sendable () -> Scanner
  ) throws {
    if question.limit ?? 0 < 0 || question.offset < 0 {
      throw NotelogError(.invalidArgument, "a query's limit is not negative, and neither is its offset")
    }
    self.question = question
    self.store = store
    self.moment = moment
    self.own = own
    self.makeScanner = makeScanner
    let scanner = makeScanner()
    plan = scanner.plan
    condition = .all(question.conditions)
    namedIDs = condition.ids(scanner)
    order = try RecordOrder(question.keys, scanner)
    cursorKey = try question.cursor.map(order.key)
  }

  /// The records found, in the order asked for.
  func entries() throws -> [OwnedRecord] {
    var found: [OwnedRecord] = []
    guard question.limit != 0 else { return found }
    if question.isByName || !question.keys.isEmpty {
      try forEachInOrder(keeping: true) {
        found.append($0)
        return true
      }
      return found
    }
    let parts = try gather(into: [], in: fewest(condition)) { (found: inout [OwnedRecord], record, _) in
      found.append(OwnedRecord(record))
      return found.count != question.wantedCount
    }
    return Array(parts.joined().prefix(question.wantedCount ?? .max).dropFirst(question.offset))
  }

  /// Calls `body` with the records found, in the order asked for, until it returns false.
  ///
  /// - Parameters:
  ///   - isKeeping: Whether records are kept in memory until it is known where they belong. Otherwise they
  ///     are read a second time, and only what they are sorted by is kept.
  ///   - body: Returns whether to go on.
  /// - Throws: What is met, and what `body` throws.
  func forEachInOrder(keeping isKeeping: Bool, _ body: (OwnedRecord) throws -> Bool) throws {
    guard question.limit != 0 else { return }
    var passed = 0
    func hand(_ record: OwnedRecord) throws -> Bool {
      passed += 1
      return try (passed <= question.offset || body(record)) && passed != question.wantedCount
    }
    let (run, candidates) = try way(keeping: isKeeping)
    if let run { return try walk(run, keeping: isKeeping, hand) }
    if candidates == nil, order.parts.isEmpty {
      var records = try CandidateReader(self, nil)
      for id in try moment.records(in: plan.number).map(RecordID.init).sorted() {
        let goesOn = try records.read(id, from: nil) { record, _ in try hand(OwnedRecord(record)) }
        guard goesOn ?? true else { return }
      }
      return
    }
    let isKept = isKeeping || question.limit != nil
    let none = SortedRows(order, limit: question.wantedCount)
    let parts = try gather(into: none, in: candidates) { rows, record, scanner in
      try sparing(record.id) { try rows.insert(record, scanner, isKept: isKept) }
      return true
    }
    var rows = parts[0]
    for other in parts.dropFirst() { rows.merge(other) }
    _ = try forEach(in: &rows, hand)
  }

  /// Calls `body` with the records of rows in order, until it returns false. What was not kept is read again.
  ///
  /// - Returns: Whether to go on.
  private func forEach(in rows: inout SortedRows, _ body: (OwnedRecord) throws -> Bool) throws -> Bool {
    var buffer = ReadBuffer()
    for row in rows.sorted() {
      var record = row.record
      if record == nil {
        try sparing(row.id) {
          record = try OwnedRecord(moment.read(row.id.bytes, into: &buffer), in: plan.number, buffer)
        }
      }
      guard try record.map(body) ?? true else { return false }
    }
    return true
  }

  /// Goes through an index that has the order, and reads no more records than it must.
  private func walk(
    _ run: IndexRun, keeping isKeeping: Bool, _ body: (OwnedRecord) throws -> Bool
  ) throws {
    let isKept = isKeeping || question.limit != nil
    // Whether equal index keys mean equal sort values.
    let widths = order.parts.map(\.field.type.fixedByteCount)
    let byteCount = zip(widths, order.parts).reduce(0) { $0 + ($1.0 ?? 0) + ($1.1.field.isOptional ? 1 : 0) }
    let isExact =
      order.parts.count == run.name.fields.count && !widths.contains(nil)
      && byteCount <= OrderedEntry.keyByteCount
    var candidates = try CandidateReader(self, run.name)
    try run.forEachGroup(order.direction) { group in
      if group.count == 1 || isExact {
        // Nothing to be sorted: so it is with nearly all values.
        return try group.allSatisfy { entry in
          try candidates.read(entry.id, from: entry) { record, _ in try body(OwnedRecord(record)) } ?? true
        }
      }
      // Entries that tie may have different values, where those are long, and are sorted by other fields.
      var rows = SortedRows(order, limit: question.wantedCount)
      for entry in group {
        _ = try candidates.read(entry.id, from: entry) { record, scanner in
          try sparing(entry.id) { try rows.insert(record, scanner, isKept: isKept) }
        }
      }
      return try forEach(in: &rows, body)
    }
    candidates.finish()
  }

  /// The ids of all records found, in no order.
  func ids() throws -> [RecordID] {
    try gather(into: [], in: fewest(condition)) { (ids: inout [RecordID], record, _) in
      ids.append(record.id)
      return true
    }.flatMap(\.self)
  }

  /// The ids of all records that the collection lists, whatever is asked.
  func listedIDs() throws -> [RecordID] {
    let ids = try moment.records(in: plan.number).filter { own.records[$0] == nil }
    return (ids + own.records.compactMap { $0.value == nil ? nil : $0.key }).map { RecordID($0) }
  }

  /// How many records there are, limit and offset applied.
  func count() throws -> Int {
    guard question.limit != 0 else { return 0 }
    let all =
      try listedCount()
      ?? gather(into: 0, in: fewest(condition)) { count, _, _ in
        count += 1
        return count != question.wantedCount
      }.reduce(0, +)
    return min(max(all - question.offset, 0), question.limit ?? .max)
  }

  /// How many records the collection lists, where all of them are asked for and nobody is told of those that
  /// can't be read; nil else.
  private func listedCount() throws -> Int? {
    guard question.conditions.isEmpty, question.cursor == nil, question.damageHandler == nil,
      own.records.isEmpty, !store.journal.isDamaged
    else { return nil }
    let count = try moment.recordCount(in: plan.number)
    // What is damaged may have turned out now.
    return store.journal.isDamaged ? nil : count
  }

  /// The place of a record in the order.
  func cursor(at record: OwnedRecord) throws -> QueryCursor {
    guard !order.parts.isEmpty else {
      throw NotelogError(
        .invalidArgument, "the query isn't sorted, and no record comes after another: sort it")
    }
    var key: [UInt8] = []
    try order.append(record.scanned, makeScanner(), to: &key)
    return order.cursor(at: record.id, key)
  }

  /// The conditions, ready for a scanner; they all have to hold, and the record comes after the cursor if
  /// there is one.
  func bound(to scanner: Scanner) throws -> ConditionNode.Bound {
    let holds = try condition.bound(to: scanner)
    guard let cursor = question.cursor, let place = cursorKey else { return holds }
    let order = order
    var key: [UInt8] = []
    return { record in
      guard try holds(record) else { return false }
      key.removeAll(keepingCapacity: true)
      try order.append(record, scanner, to: &key)
      let precedence = order.compare(place.rawSpan, key.rawSpan)
      return precedence < 0 || precedence == 0 && cursor.id < record.id
    }
  }

  // MARK: - What can't be read.

  /// Runs what reads a record, which is left out where it is damaged.
  func sparing(_ id: RecordID, _ body: () throws -> Void) throws {
    do { try body() } catch { try leaveOut(error, id) }
  }

  /// Tells of a record that could not be read; throws what is no damage.
  func leaveOut(_ error: any Error, _ id: RecordID) throws {
    guard let error = error as? NotelogError, error.code == .damaged || error.code == .tampered else {
      throw error
    }
    store.journal.noteDamage(error, of: id)
    try question.damageHandler?(Finding(error, id))
  }

  /// Reads all records one by one, to say of which the frames do not check.
  func reportUnreadable() throws {
    var buffer = ReadBuffer()
    let ids = try moment.records(in: plan.number)
    for id in ids {
      try sparing(RecordID(id)) {
        if try moment.read(id, into: &buffer) != nil { _ = try RecordBody(checking: buffer.body) }
      }
    }
  }
}
