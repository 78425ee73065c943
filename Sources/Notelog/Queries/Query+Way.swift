// Choosing the way by which a query gets to its records.

import NotelogBase

/// The way by which a query gets to its records.
enum QueryWay: Sendable {
  /// All records of the collection, as they lie on the disk.
  case scan
  /// Those in parts of indexes; what is in two of them is found in the first.
  case candidates([IndexRun])
  /// Those in a part of an index that has them in the order asked for.
  case inOrder(IndexRun)
}

extension Query {
  /// Reading a record by its id costs as much as going past so many in a scan: measured in the journal, 6 of 100,000 small
  /// records, and 12 of ten million.
  private static var costOfReading: Int { 8 }

  /// The way that costs least, by what the indexes say. An index that helps and isn't there yet is made.
  func way(_ reader: RecordReader<R>, _ moment: Snapshot) throws -> QueryWay {
    try checkLimit()
    let all = QueryCondition(.all(conditions))
    let fewest = try fewest(all, reader, moment)
    guard let order, let run = try run(inOrder: order, all, fewest, reader, moment) else {
      return fewest.map(QueryWay.candidates) ?? .scan
    }
    guard let fewest, !fewest.isOf(run.name.first) else { return .inOrder(run) }
    // One in so many records on the way satisfies the other condition: until the limit is reached, that many are read.
    let reads = Swift.min(
      Double(run.count), Double(wantedCount ?? .max) * Double(run.index.count) / Double(fewest.entryCount))
    return Double(fewest.entryCount) < reads ? .candidates(fewest) : .inOrder(run)
  }

  /// The part of an index that has the records in an order: from the cursor on, if there is one. Of two fields, if the order is by two, and not
  /// all records are wanted.
  private func run(
    inOrder order: some RecordOrder<R>, _ condition: QueryCondition<R>, _ fewest: [IndexRun]?,
    _ reader: RecordReader<R>, _ moment: Snapshot
  ) throws -> IndexRun? {
    let keys = order.keys
    guard keys[0].isThatOfKeys, let first = reader.indexName(of: keys[0].path),
      limit != nil || fewest?.isOf(first) == true
    else { return nil }
    let pair = limit != nil && keys.count > 1 ? reader.indexName(of: keys[0], keys[1]) : nil
    guard let run = try run(of: pair ?? first, condition, reader, moment) else { return nil }
    let fields = try order.fields(reader)
    let widths = fields.map { field in field.type.fixedByteCount.map { $0 + (field.isOptional ? 1 : 0) } }
    let isExact =
      keys.count == run.name.fields.count && !widths.contains(nil)
      && widths.compactMap(\.self).reduce(0, +) <= OrderedEntry.keyByteCount
    guard let cursor, try following(reader) != nil else { return run.within(nil, isExact: isExact) }
    let start = zip(fields, cursor.keys).map { field, key in
      SortKey.key(
        of: key.value.rawSpan, field.type, isOptional: field.isOptional,
        byteCount: SortKey.byteCount(of: key.value.rawSpan))
    }
    var key = start[0]
    if run.name.second != nil {
      let next = start[1]
      key = run.name.key(key.rawSpan, next.rawSpan)
    }
    return run.within(IndexBounds(from: key, keys[0].direction), isExact: isExact)
  }

  /// The parts of indexes in which all records are that satisfy a condition, and as few others as can be; nil where there are
  /// too many to read one by one.
  private func fewest(
    _ condition: QueryCondition<R>, _ reader: RecordReader<R>, _ moment: Snapshot
  ) throws -> [IndexRun]? {
    var found = try condition.indexNames(reader).compactMap { name -> [IndexRun]? in
      guard condition.narrowing(name, reader) != nil else { return nil }
      return try run(of: name, condition, reader, moment).map { [$0] }
    }
    switch condition.node {
    case .all(let conditions):
      for case .any(let sides) in conditions.map(\.node) {
        if let runs = try union(of: sides, reader, moment) { found.append(runs) }
      }
    case .any(let sides): if let runs = try union(of: sides, reader, moment) { found.append(runs) }
    case .field, .notAll: break
    }
    return found.filter { runs in
      runs.entryCount * Self.costOfReading <= runs.map(\.index.count).max() ?? 0
    }.min { $0.entryCount < $1.entryCount }
  }

  /// The parts of indexes in which all records are that satisfy one of some conditions; nil where a condition has none.
  private func union(
    of conditions: [QueryCondition<R>], _ reader: RecordReader<R>, _ moment: Snapshot
  ) throws -> [IndexRun]? {
    var all: [IndexRun] = []
    for condition in conditions {
      guard let runs = try fewest(condition, reader, moment) else { return nil }
      for run in runs {
        if let known = all.firstIndex(where: { $0.name == run.name }) {
          all[known] = all[known].union(run)
        } else {
          all.append(run)
        }
      }
    }
    return all
  }

  /// The part of a field's index that conditions on the field leave.
  private func run(
    of name: FieldIndexes.Name, _ condition: QueryCondition<R>, _ reader: RecordReader<R>, _ moment: Snapshot
  ) throws -> IndexRun? {
    guard let index = try store.index(name, at: moment, .whole) else { return nil }
    return IndexRun(
      name, index, store.substitute(for: name, at: moment), condition.narrowing(name, reader))
  }

  /// Calls `body` with each record in a part of the way that satisfies all conditions, until it returns false.
  func forEach(
    on way: QueryWay, _ reader: RecordReader<R>, _ moment: Snapshot, part: QueryPart,
    _ body: (ScannedEntry<R>) throws -> Bool
  ) throws {
    switch way {
    case .scan:
      let scanner = RecordScanner(reader)
      let holds = try bound(to: scanner)
      guard scanner.plan.isStored else { return }
      var number = 0
      try moment.scan(scanner.plan.number, part: part.number, of: partCount, damaged: leaveOut) { record in
        try part.check(at: number)
        number += 1
        // Not `reading`: a generic function asks the runtime for types at each call.
        do { guard try holds(record) else { return true } } catch {
          try leaveOut(error, record.id)
          return true
        }
        return try body(ScannedEntry(record, scanner))
      }
    case .candidates(let runs):
      var goesOn = true
      for number in runs.indices where goesOn {
        try forEach(in: runs[number], besides: runs[..<number], reader, moment, part: part) { entry in
          goesOn = try body(entry)
          return goesOn
        }
      }
    case .inOrder(let run): try forEach(in: run, besides: [], reader, moment, part: part, body)
    }
  }

  private func forEach(
    in run: IndexRun, besides earlier: ArraySlice<IndexRun>, _ reader: RecordReader<R>, _ moment: Snapshot,
    part: QueryPart, _ body: (ScannedEntry<R>) throws -> Bool
  ) throws {
    var candidates = try CandidateReader(self, run, besides: earlier, reader, moment, part)
    var number = 0
    try run.forEach { entry in
      defer { number += 1 }
      guard number % partCount == part.number else { return true }
      return try candidates.read(entry, body) ?? true
    }
    candidates.finish()
  }
}

extension [IndexRun] {
  /// How many records may have to be read.
  fileprivate var entryCount: Int { reduce(0) { $0 + $1.count } }

  /// Whether they are one part, of a certain index.
  fileprivate func isOf(_ name: FieldIndexes.Name) -> Bool { count == 1 && first?.name == name }
}

// MARK: - The parts of a query that threads share, and how they come to an end before their time.

/// What one thread of a query goes through.
struct QueryPart: Sendable {
  let number: Int
  /// Set when the task is cancelled that asks.
  private let stop: Flag?
  /// Set when another part has failed.
  private let failure: Flag?

  /// All of a query that one thread goes through, for the task that this thread works for.
  static var whole: QueryPart { QueryPart(0, nil) }

  init(_ number: Int, _ failure: Flag?, stop: Flag? = Cancellation.flag) {
    (self.number, self.stop, self.failure) = (number, stop, failure)
  }

  /// Between how many records is asked whether the answer is still wanted.
  private static let interval = 64

  /// Throws where the task was cancelled that asks, or another part has failed; asked at one record of many.
  func check(at record: Int) throws {
    guard record & (Self.interval - 1) == 0 else { return }
    if Task.isCancelled || stop?.isSet == true || failure?.isSet == true { throw CancellationError() }
  }
}

extension Query {
  /// Runs `body` for each part, on as many threads. Where one fails, the others end.
  func inParts<Value: Sendable>(_ body: @Sendable (QueryPart) throws -> Value) throws -> [Value] {
    if partCount == 1 { return [try body(.whole)] }
    let (stop, failure) = (Cancellation.flag, Flag(false))
    let results = Lock<(values: [Value?], failure: (any Error)?)>(
      (Array(repeating: nil, count: partCount), nil))
    inParallel(partCount) { number in
      do {
        let value = try body(QueryPart(number, failure, stop: stop))
        results.withLock { $0.values[number] = value }
      } catch {
        // Of several, the first: the others may have ended because of it.
        results.withLock { $0.failure = $0.failure ?? error }
        _ = failure.exchange(true)
      }
    }
    return try results.withLock { results in
      if let failure = results.failure { throw failure }
      return results.values.compactMap(\.self)
    }
  }
}

// MARK: - Which parts of indexes hold the records that a condition leaves.

/// The parts of an index in which records are that a query can find.
struct IndexRun: Sendable {
  let name: FieldIndexes.Name
  let index: OrderedIndex
  /// What is walked where that can't be read.
  let substitute: OrderSubstitute
  let ranges: IndexRanges
  /// How many entries are in them.
  let count: Int
  /// The conditions that led to the ranges, in words; they all hold.
  let bounds: [String]
  /// Whether entries that tie are of records that are equal in all that they are sorted by.
  private(set) var isExact = false

  init(
    _ name: FieldIndexes.Name, _ index: OrderedIndex, _ substitute: OrderSubstitute, _ narrowing: Narrowing?
  ) {
    self.name = name
    self.index = index
    self.substitute = substitute
    ranges = narrowing?.ranges ?? .all
    count = ranges.bounds.reduce(0) { $0 + index.count(in: $1) }
    bounds = narrowing?.words ?? []
  }

  /// What lies in some bounds, too.
  func within(_ bounds: IndexBounds?, isExact: Bool) -> IndexRun {
    let ranges = bounds.map { self.ranges.intersection(IndexRanges([$0])) } ?? ranges
    var run = IndexRun(name, index, substitute, Narrowing(ranges: ranges, words: self.bounds))
    run.isExact = isExact
    return run
  }

  /// What either run holds, of the same index.
  func union(_ other: IndexRun) -> IndexRun {
    let words = [bounds, other.bounds].map { $0.joined(separator: " and ") }.joined(separator: " or ")
    return IndexRun(name, index, substitute, Narrowing(ranges: ranges.union(other.ranges), words: [words]))
  }

  /// Calls `body` with the entries, ascending, until it returns false.
  func forEach(_ body: (OrderedEntry) throws -> Bool) throws {
    var goesOn = true
    for bounds in ranges.bounds where goesOn {
      try index.forEach(in: bounds, .ascending, substitute: substitute) { entry in
        goesOn = try body(entry)
        return goesOn
      }
    }
  }

  /// Calls `body` with groups of entries that tie, each in the order of ids, until it returns false.
  func forEachGroup(_ direction: SortDirection, _ body: (ArraySlice<OrderedEntry>) throws -> Bool) throws {
    var goesOn = true
    for step in 0..<ranges.bounds.count where goesOn {
      let bounds = ranges.bounds[direction == .ascending ? step : ranges.bounds.count - 1 - step]
      try index.forEachGroup(in: bounds, direction, substitute: substitute) { group in
        goesOn = try body(group)
        return goesOn
      }
    }
  }
}

/// What conditions leave of an index.
struct Narrowing: Sendable {
  /// Outside of these no record satisfies the conditions; inside, some may not.
  var ranges: IndexRanges
  /// The conditions; they all hold.
  var words: [String]
}

extension QueryCondition {
  /// What the condition leaves of an index by what it says of its first field; nil where it says nothing of the field.
  func narrowing(_ name: FieldIndexes.Name, _ reader: RecordReader<R>) -> Narrowing? {
    switch node {
    case .field(let condition):
      guard let (known, ranges, words) = reader.lookup(condition), known == name.first else { return nil }
      return Narrowing(ranges: IndexRanges(ranges.map { IndexBounds($0, of: name) }), words: [words])
    case .all(let conditions):
      return conditions.compactMap { $0.narrowing(name, reader) }.reduce(nil) { common, next in
        guard let common else { return next }
        return Narrowing(
          ranges: common.ranges.intersection(next.ranges), words: common.words + next.words)
      }
    case .any(let conditions):
      var all = Narrowing(ranges: IndexRanges([]), words: [])
      for condition in conditions {
        guard let narrowing = condition.narrowing(name, reader) else { return nil }
        all.ranges = all.ranges.union(narrowing.ranges)
        all.words.append(narrowing.words.joined(separator: " and "))
      }
      return Narrowing(ranges: all.ranges, words: [all.words.joined(separator: " or ")])
    case .notAll: return nil
    }
  }

  /// The indexes of fields that conditions are about, each once.
  func indexNames(_ reader: RecordReader<R>) -> [FieldIndexes.Name] {
    fields.reduce(into: []) { names, condition in
      guard let name = reader.lookup(condition)?.name, !names.contains(name) else { return }
      names.append(name)
    }
  }
}

// MARK: - Reading the records that an index leads to.

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

// MARK: - The first of a row that comes in any order.

/// The first elements in the order of their values, of those seen so far: no more than twice as many are kept as are wanted.
struct FirstEntries<Value: Sendable, Element: Sendable>: Sendable {
  private let limit: Int?
  private let compare: @Sendable (Value, Value) -> Precedence
  private var found: [(value: Value, id: RecordID, element: Element)] = []
  /// The last that is still among the first, once there are as many as are wanted.
  private var last: (value: Value, id: RecordID)?

  init(limit: Int?, by compare: @escaping @Sendable (Value, Value) -> Precedence) {
    self.limit = limit
    self.compare = compare
  }

  func accepts(_ value: Value, _ id: RecordID) -> Bool {
    guard let last else { return true }
    return isInOrder(value, id, last.value, last.id)
  }

  mutating func insert(_ value: Value, _ id: RecordID, _ element: Element) {
    found.append((value, id, element))
    // Sorting when twice as many have gathered costs O(log limit) a record.
    if let limit, found.count / 2 >= limit { cut(to: limit) }
  }

  mutating func merge(_ other: FirstEntries) { found += other.found }

  mutating func sorted() -> [Element] {
    cut(to: limit ?? found.count)
    // A key path would be made anew by the runtime for each call: it depends on the value's type.
    return found.map { $0.element }
  }

  private mutating func cut(to count: Int) {
    let isInOrder = isInOrder
    found.sort { isInOrder($0.value, $0.id, $1.value, $1.id) }
    if found.count > count { found.removeLast(found.count - count) }
    if limit == found.count { last = found.last.map { ($0.value, $0.id) } }
  }

  /// Whether a value comes before another; where neither does, the ids decide.
  private var isInOrder: (Value, RecordID, Value, RecordID) -> Bool {
    let compare = compare
    return { left, leftID, right, rightID in
      switch compare(left, right) {
      case .before: true
      case .after: false
      case .same: leftID < rightID
      }
    }
  }
}
