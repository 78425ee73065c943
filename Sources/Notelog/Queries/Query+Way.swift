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
