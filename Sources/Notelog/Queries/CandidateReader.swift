// Reading the records that an index leads to.

/// Reads records one by one, and passes over those that have another key by now than their entry in the index.
struct CandidateReader<R: Record>: ~Copyable {
  private let query: Query<R>
  private let name: FieldIndexes.Name
  /// Where the others are found that are no longer to be found here.
  private let earlier: ArraySlice<IndexRun>
  private let moment: Snapshot
  private let scanner: RecordScanner<R>
  private let holds: QueryCondition<R>.Bound
  private let part: QueryPart
  private var buffer = ReadBuffer()
  private var seen = 0
  private var passed = 0

  /// Reads what is in a part of an index and in none of those before.
  init(
    _ query: Query<R>, _ run: IndexRun, besides earlier: ArraySlice<IndexRun> = [], _ reader: RecordReader<R>,
    _ moment: Snapshot, _ part: QueryPart
  ) throws {
    self.query = query
    self.earlier = earlier
    self.part = part
    name = run.name
    self.moment = moment
    scanner = RecordScanner(reader)
    holds = try query.bound(to: scanner)
  }

  /// Calls `body` with the record that an entry leads to, if it satisfies all conditions; nil otherwise.
  mutating func read<Result>(
    _ entry: OrderedEntry, _ body: (ScannedEntry<R>) throws -> Result
  ) throws -> Result? {
    try part.check(at: seen)
    seen += 1
    // Not `reading`: a generic function asks the runtime for types at each call.
    let found: StoredRecord
    do {
      guard let current = try find(entry) else { return nil }
      found = current
    } catch {
      try query.leaveOut(error, entry.id)
      return nil
    }
    let candidate = ScannedRecord(found, RecordBody(checked: buffer.body))
    do { guard try holds(candidate) else { return nil } } catch {
      try query.leaveOut(error, entry.id)
      return nil
    }
    return try body(ScannedEntry(candidate, scanner))
  }

  /// Reads the record that an entry leads to, if no other entry does.
  private mutating func find(_ entry: OrderedEntry) throws -> StoredRecord? {
    let found = try moment.read(entry.id.bytes, into: &buffer)
    guard let found, try isCurrent(entry, found) else {
      passed += 1
      return nil
    }
    return try earlier.isEmpty || !isFoundEarlier(entry.id) ? found : nil
  }

  /// Whether the record that was read is the one that an entry is about. With another key it is found there, if it is to
  /// be found.
  private func isCurrent(_ entry: OrderedEntry, _ found: StoredRecord) throws -> Bool {
    guard found.collection == name.collection else { return false }
    _ = try RecordBody(checking: buffer.body)
    return try OrderedEntry(keyOf: name, entry.id, buffer.body) == entry
  }

  /// Whether the record that was read is found by another part of an index, too.
  private func isFoundEarlier(_ id: RecordID) throws -> Bool {
    for run in earlier {
      if let entry = try OrderedEntry(keyOf: run.name, id, buffer.body), run.ranges.contains(entry) {
        return true
      }
    }
    return false
  }

  /// Has the index made anew, of what is so, where half of what lies in the way is not.
  consuming func finish() {
    if passed > 1_000, 2 * passed > seen { query.store.indexes.distrust(name) }
  }
}
