// Choosing the way by which a query gets to its records.

import NotelogBase

extension Search {
  /// Reading a record by its id costs as much as going past so many in a scan: measured in the journal, 6 of
  /// 100,000 small records, and 12 of ten million.
  private static var costOfReading: Int { 8 }

  /// The way to the records that costs least, by what the indexes say. An index that helps and isn't there yet
  /// is made.
  ///
  /// - Parameter isKeeping: Whether records that are met are kept until they are sorted. Otherwise they are
  ///   read a second time.
  /// - Returns: The part of an index that has the records in the order asked for, or those of indexes in which
  ///   they are in no order. Where there is neither, all records of the collection are gone through.
  /// - Throws: `notFound` where there is no such field; `locked`, `damaged` where an index can't be made.
  func way(keeping isKeeping: Bool = true) throws -> (inOrder: IndexRun?, candidates: [IndexRun]?) {
    let fewest = try fewest(condition)
    guard namedIDs == nil, let run = try run(inOrder: fewest, keeping: isKeeping) else {
      return (nil, fewest)
    }
    guard let fewest, !fewest.isOf(run.name.first) else { return (run, nil) }
    // One in so many records on the way satisfies the other condition: until the limit is reached, that many
    // are read.
    let reads = min(
      Double(run.count),
      Double(question.wantedCount ?? .max) * Double(run.index.count) / Double(fewest.entryCount))
    return Double(fewest.entryCount) < reads ? (nil, fewest) : (run, nil)
  }

  /// The part of an index that has the records in the order asked for: from the cursor on, if there is one.
  /// Of two fields, if the order is by two, and not all records are wanted.
  private func run(inOrder fewest: [IndexRun]?, keeping isKeeping: Bool) throws -> IndexRun? {
    // What a transaction has written is in no index.
    guard own.records.isEmpty, let first = order.parts.first, first.isByKeys,
      let single = plan.indexName(of: first.index),
      question.limit != nil || !isKeeping || fewest?.isOf(single) == true
    else { return nil }
    let isPaired = question.limit != nil && order.parts.count > 1
    let name = isPaired ? plan.indexName(of: first, order.parts[1]) ?? single : single
    guard let run = try run(of: name, condition.narrowing(name, self) ?? .all) else { return nil }
    guard let cursor = question.cursor else { return run }
    let keys = zip(order.parts, cursor.keys).map { $0.sortKey(of: $1) }
    var key = keys[0]
    if run.name.second != nil {
      let second = keys[1]
      key = run.name.key(key.rawSpan, second.rawSpan)
    }
    let isUp = order.direction == .ascending
    let rest = IndexBounds(from: isUp ? key : nil, to: isUp ? nil : key)
    return run.with(run.narrowing.and(Narrowing([rest], [])))
  }

  /// The parts of indexes in which all records are that satisfy a condition, and as few others as can be; nil
  /// where there are too many to read one by one, or ids say which records they are.
  func fewest(_ condition: ConditionNode) throws -> [IndexRun]? {
    guard namedIDs == nil else { return nil }
    var found = try condition.indexNames(self).compactMap { name -> [IndexRun]? in
      guard let narrowing = condition.narrowing(name, self) else { return nil }
      return try run(of: name, narrowing).map { [$0] }
    }
    for case .any(let sides) in condition.requirements {
      if let runs = try union(of: sides) { found.append(runs) }
    }
    return found.filter { runs in
      // A scan would open each value, and opening costs more than reading by an id.
      let cost = runs.allSatisfy { plan.isOfDigests($0.name) } ? 1 : Self.costOfReading
      return runs.entryCount * cost <= runs.map(\.index.count).max() ?? 0
    }.min { $0.entryCount < $1.entryCount }
  }

  /// The parts of indexes in which all records are that satisfy one of some conditions; nil where a condition
  /// has none.
  private func union(of conditions: [ConditionNode]) throws -> [IndexRun]? {
    var all: [IndexRun] = []
    for condition in conditions {
      guard let runs = try fewest(condition) else { return nil }
      for run in runs {
        if let known = all.firstIndex(where: { $0.name == run.name }) {
          all[known] = run.with(all[known].narrowing.or(run.narrowing))
        } else {
          all.append(run)
        }
      }
    }
    return all
  }

  /// The part of an index that conditions leave.
  private func run(of name: OrderName, _ narrowing: Narrowing) throws -> IndexRun? {
    guard !own.hasNewSchema, let index = try store.index(name, at: moment, QueryPart()) else { return nil }
    return IndexRun(name, index, store.substitute(for: name, at: moment), narrowing)
  }

  private func scan(_ part: QueryPart, _ body: (ScannedRecord, Scanner) throws -> Bool) throws {
    let scanner = makeScanner()
    let holds = try bound(to: scanner)
    guard plan.isStored, try forEachOwn(part, scanner, holds, body) else { return }
    if let namedIDs {
      var records = try CandidateReader(self, nil, part)
      for id in namedIDs where id.bytes.low % UInt64(question.partCount) == part.number {
        if own.records[id.bytes] != nil { continue }
        guard try records.read(id, from: nil, body) ?? true else { return }
      }
      return
    }
    var number = 0
    func leaveOut(_ finding: Finding) throws {
      if question.isByName { _ = part.damage?.exchange(true) } else { try question.damageHandler?(finding) }
    }
    try moment.scan(plan.number, part: part.number, of: question.partCount, damaged: leaveOut) { record in
      try part.check(at: number)
      number += 1
      guard own.records[record.record.id] == nil else { return true }
      do { guard try holds(record) else { return true } } catch {
        try self.leaveOut(error, record.id)
        return true
      }
      return try body(record, scanner)
    }
  }

  /// Calls `body` with the records of the transaction's own that satisfy all conditions, until it returns
  /// false: in the first part.
  ///
  /// - Returns: Whether to go on.
  private func forEachOwn(
    _ part: QueryPart, _ scanner: Scanner, _ holds: ConditionNode.Bound,
    _ body: (ScannedRecord, Scanner) throws -> Bool
  ) throws -> Bool {
    guard part.number == 0 else { return true }
    for case let record? in own.records.values {
      do { guard try holds(record.scanned) else { continue } } catch {
        try leaveOut(error, record.id)
        continue
      }
      guard try body(record.scanned, scanner) else { return false }
    }
    return true
  }

  private func forEach(
    in runs: [IndexRun], _ part: QueryPart, _ body: (ScannedRecord, Scanner) throws -> Bool
  ) throws {
    // A record that several runs lead to is found once.
    var found: Set<RecordID> = []
    var goesOn = true
    if !own.records.isEmpty {
      let scanner = makeScanner()
      goesOn = try forEachOwn(part, scanner, bound(to: scanner), body)
    }
    for run in runs where goesOn {
      var candidates = try CandidateReader(self, run.name, part)
      try run.forEachGroup(.ascending) { group in
        for entry in group where goesOn && entry.id.bytes.low % UInt64(question.partCount) == part.number {
          if found.contains(entry.id) || own.records[entry.id.bytes] != nil { continue }
          goesOn =
            try candidates.read(entry.id, from: entry) { record, scanner in
              if runs.count > 1 { found.insert(record.id) }
              return try body(record, scanner)
            } ?? true
        }
        return goesOn
      }
      candidates.finish()
    }
  }
}

extension [IndexRun] {
  /// How many records may have to be read.
  var entryCount: Int { reduce(0) { $0 + $1.count } }

  /// Whether they are one part, of a certain index.
  fileprivate func isOf(_ name: OrderName) -> Bool { count == 1 && first?.name == name }
}

// MARK: - The parts of a query that threads share, and how they come to an end before their time.

/// What one thread of a query goes through.
struct QueryPart: Sendable {
  /// Which one it is, from 0; the only one where one thread goes through all.
  var number = 0
  /// Set when the task is cancelled that asks.
  var stop: Flag? = Cancellation.flag
  /// Set when another part has failed.
  var failure: Flag?
  /// Set when something can't be read of which only the place is known.
  var damage: Flag?

  /// Between how many records is asked whether the answer is still wanted.
  private static let interval = 64

  /// Throws where the task was cancelled that asks, or another part has failed; asked at one record of many.
  func check(at record: Int) throws {
    guard record & (Self.interval - 1) == 0 else { return }
    if Task.isCancelled || stop?.isSet == true || failure?.isSet == true { throw CancellationError() }
  }
}

extension Search {
  /// What `body` makes, in each part, of the records that satisfy all conditions, until it returns false: those
  /// in parts of indexes, or all of the collection.
  func gather<Value: Sendable>(
    into initial: Value, in candidates: [IndexRun]?,
    _ body: @Sendable (inout Value, ScannedRecord, Scanner) throws -> Bool
  ) throws -> [Value] {
    let (stop, failure, damage) = (Cancellation.flag, Flag(false), Flag(false))
    let results = Lock<(values: [Value?], failure: (any Error)?)>(
      (Array(repeating: nil, count: question.partCount), nil))
    inParallel(question.partCount) { number in
      do {
        let part = QueryPart(number: number, stop: stop, failure: failure, damage: damage)
        var value = initial
        if let candidates {
          try forEach(in: candidates, part) { record, scanner in try body(&value, record, scanner) }
        } else {
          try scan(part) { record, scanner in try body(&value, record, scanner) }
        }
        results.withLock { [value] in $0.values[number] = value }
      } catch {
        // Of several, the first: the others may have ended because of it.
        results.withLock { $0.failure = $0.failure ?? error }
        _ = failure.exchange(true)
      }
    }
    if let failure = results.withLock({ $0.failure }) { throw failure }
    if damage.isSet { try reportUnreadable() }
    return results.withLock { $0.values.compactMap(\.self) }
  }
}

// MARK: - Which parts of indexes hold the records that a condition leaves.

/// The parts of an index in which records are that a query can find.
struct IndexRun: Sendable {
  let name: OrderName
  let index: OrderedIndex
  /// What is walked where that can't be read.
  let substitute: OrderSubstitute
  /// What conditions leave of the index.
  let narrowing: Narrowing
  /// How many entries that is.
  let count: Int

  init(
    _ name: OrderName, _ index: OrderedIndex, _ substitute: @escaping OrderSubstitute, _ narrowing: Narrowing
  ) {
    self.name = name
    self.index = index
    self.substitute = substitute
    self.narrowing = narrowing
    count = narrowing.ranges.reduce(0) { $0 + index.count(in: $1) }
  }

  /// What another narrowing leaves of the same index.
  func with(_ narrowing: Narrowing) -> IndexRun { IndexRun(name, index, substitute, narrowing) }

  /// Calls `body` with groups of entries that tie, each in the order of ids, until it returns false.
  func forEachGroup(_ direction: SortDirection, _ body: ([OrderedEntry]) throws -> Bool) throws {
    let ranges = narrowing.ranges
    var goesOn = true
    for bounds in direction == .ascending ? ranges : ranges.reversed() where goesOn {
      try index.forEachGroup(in: bounds, direction, substitute: substitute) { group in
        goesOn = try body(group)
        return goesOn
      }
    }
  }
}

/// What conditions leave of an index.
struct Narrowing: Sendable {
  /// All of it.
  static let all = Narrowing([.all], [])

  /// Runs that do not overlap, ascending. Outside of these no record satisfies the conditions; inside, some
  /// may not.
  let ranges: [IndexBounds]
  /// The conditions; they all hold.
  let words: [String]

  init(_ bounds: [IndexBounds], _ words: [String]) {
    var ranges: [IndexBounds] = []
    for next in bounds.sorted(by: { $0.lower < $1.lower }) where next.lower <= next.upper {
      if let last = ranges.last, next.lower <= last.upper {
        ranges[ranges.count - 1] = IndexBounds(from: last.lower, to: max(last.upper, next.upper))
      } else {
        ranges.append(next)
      }
    }
    self.ranges = ranges
    self.words = words
  }

  /// What lies in both.
  func and(_ other: Narrowing) -> Narrowing {
    var common: [IndexBounds] = []
    var (index, otherIndex) = (0, 0)
    while index < ranges.count, otherIndex < other.ranges.count {
      common.append(ranges[index].intersection(other.ranges[otherIndex]))
      if ranges[index].upper < other.ranges[otherIndex].upper { index += 1 } else { otherIndex += 1 }
    }
    return Narrowing(common, words + other.words)
  }

  /// What lies in either.
  func or(_ other: Narrowing) -> Narrowing {
    let words = [words, other.words].map { $0.joined(separator: " and ") }.joined(separator: " or ")
    return Narrowing(ranges + other.ranges, [words])
  }
}

extension ConditionNode {
  /// What the condition leaves of an index by what it says of its first field; nil where it says nothing of
  /// the field.
  func narrowing(_ name: OrderName, _ search: Search) -> Narrowing? {
    switch self {
    case .field(let condition):
      guard let found = search.lookup(condition), found.name == name.first else { return nil }
      let isFixed = condition.keys?.type.fixedByteCount != nil
      return Narrowing(found.ranges.map { IndexBounds($0, of: name, isFixed: isFixed) }, [found.words])
    case .all(let conditions):
      return conditions.compactMap { $0.narrowing(name, search) }.reduce(nil) { $0?.and($1) ?? $1 }
    case .any(let conditions):
      let sides = conditions.compactMap { $0.narrowing(name, search) }
      return sides.count == conditions.count ? sides.reduce(nil) { $0?.or($1) ?? $1 } : nil
    case .not: return nil
    }
  }

  /// The indexes of fields that conditions are about, each once.
  func indexNames(_ search: Search) -> [OrderName] {
    fields.reduce(into: []) { names, condition in
      guard let name = search.lookup(condition)?.name, !names.contains(name) else { return }
      names.append(name)
    }
  }
}

// MARK: - Reading the records that an index leads to.

/// Reads records one by one, and passes over those that have another key by now than their entry in the
/// index.
struct CandidateReader: ~Copyable {
  private let search: Search
  /// The index; nil where records are known by their ids.
  private let name: OrderName?
  private let scanner: Scanner
  private let holds: ConditionNode.Bound
  private let part: QueryPart
  private var buffer = ReadBuffer()
  private var seen = 0
  private var passed = 0

  init(_ search: Search, _ name: OrderName?, _ part: QueryPart = QueryPart()) throws {
    self.search = search
    self.name = name
    self.part = part
    scanner = search.makeScanner()
    holds = try search.bound(to: scanner)
  }

  /// Calls `body` with a record, if an entry leads to it and it satisfies all conditions; nil otherwise.
  mutating func read<Result>(
    _ id: RecordID, from entry: OrderedEntry?, _ body: (ScannedRecord, Scanner) throws -> Result
  ) throws -> Result? {
    try part.check(at: seen)
    seen += 1
    let record: StoredRecord
    do {
      let found = try search.moment.read(id.bytes, into: &buffer)
      guard let found, try isCurrent(entry, found) else {
        passed += 1
        return nil
      }
      guard try holds(ScannedRecord(found, RecordBody(checked: buffer.body))) else { return nil }
      record = found
    } catch {
      try search.leaveOut(error, id)
      return nil
    }
    return try body(ScannedRecord(record, RecordBody(checked: buffer.body)), scanner)
  }

  /// Whether the record that was read is the one that an entry is about. With another key it is found there,
  /// if it is to be found.
  private func isCurrent(_ entry: OrderedEntry?, _ found: StoredRecord) throws -> Bool {
    guard found.collection == search.plan.number else { return false }
    _ = try RecordBody(checking: buffer.body)
    guard let name, let entry else { return true }
    return try OrderedEntry(keyOf: name, entry.id, buffer.body) == entry
  }

  /// Has the index made anew, of what is so, where half of what lies in the way is not.
  consuming func finish() {
    guard let name, passed > 1_000, 2 * passed > seen else { return }
    search.store.indexes.distrust(name)
  }
}
