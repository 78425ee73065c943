// Choosing the way by which a query gets to its records.

import NotelogJournal

/// The part of an index in which all records are that a query can find.
struct IndexRun: Sendable {
  let name: FieldIndexes.Name
  let index: OrderedIndex
  /// What is walked where that can't be read.
  let substitute: OrderSubstitute
  let bounds: IndexBounds
  /// How many entries are in it.
  let count: Int
  /// The conditions that led to the bounds.
  let conditions: [IndexedCondition]
}

/// The way by which a query gets to its records.
enum QueryWay: Sendable {
  /// All records of the collection, as they lie on the disk.
  case scan
  /// Those in a part of an index.
  case candidates(IndexRun)
  /// Those in a part of an index that has them in the order asked for.
  case inOrder(IndexRun)
}

extension Query {
  /// Reading a record by its id costs as much as going past so many in a scan: measured in the journal, 6 of 100,000 small
  /// records, and 12 of ten million.
  private static var costOfReading: Int { 8 }

  /// The way that costs least, by what the indexes say. An index that helps and isn't there yet is made.
  func way(_ reader: RecordReader<R>, _ moment: Snapshot) throws -> QueryWay {
    let narrowest = try runs(reader, moment).min { $0.count < $1.count }
    guard let first = order?.keys[0], first.isThatOfKeys, let name = reader.indexName(of: first.path),
      limit != nil || narrowest?.name == name, let run = try run(of: name, reader, moment)
    else { return narrowest.map(QueryWay.candidates) ?? .scan }
    guard let narrowest, narrowest.name != name else { return .inOrder(run) }
    // One in so many records on the way satisfies the other condition: until the limit is reached, that many are read.
    let reads = min(
      Double(run.count), Double(limit ?? .max) * Double(run.index.count) / Double(narrowest.count))
    return Double(narrowest.count) < reads ? .candidates(narrowest) : .inOrder(run)
  }

  /// The parts of indexes that conditions leave, where those are small enough.
  private func runs(_ reader: RecordReader<R>, _ moment: Snapshot) throws -> [IndexRun] {
    let names = conditions.compactMap { $0.indexed == nil ? nil : reader.indexName(of: $0.path) }
    return try Set(names).compactMap { try run(of: $0, reader, moment) }
      .filter { $0.count * Self.costOfReading <= $0.index.count }
  }

  /// The part of a field's index that all conditions on the field leave.
  private func run(
    of name: FieldIndexes.Name, _ reader: RecordReader<R>, _ moment: Snapshot
  ) throws -> IndexRun? {
    guard let index = try store.index(name, at: moment) else { return nil }
    let indexed = conditions.filter { reader.indexName(of: $0.path) == name }.compactMap(\.indexed)
    let bounds = indexed.reduce(IndexBounds.all) { $0.intersection($1.bounds) }
    return IndexRun(
      name: name, index: index, substitute: store.substitute(for: name, at: moment), bounds: bounds,
      count: index.count(in: bounds), conditions: indexed)
  }

  /// Calls `body` with each record in a part of the way that satisfies all conditions, until it returns false.
  func forEach(
    on way: QueryWay, _ reader: RecordReader<R>, _ moment: Snapshot, part: Int,
    _ body: (ScannedEntry<R>) throws -> Bool
  ) throws {
    switch way {
    case .scan:
      let scanner = RecordScanner(reader)
      let holds = try bound(to: scanner)
      try moment.scan(scanner.plan.number, part: part, of: partCount, damaged: leaveOut) { record in
        // Not `reading`: a generic function asks the runtime for types at each call.
        do { guard try holds(record) else { return true } } catch {
          try leaveOut(error, record.id)
          return true
        }
        return try body(ScannedEntry(record, scanner))
      }
    case .candidates(let run), .inOrder(let run):
      var candidates = try CandidateReader(self, run, reader, moment)
      var number = 0
      try run.index.forEach(in: run.bounds, .ascending, substitute: run.substitute) { entry in
        defer { number += 1 }
        guard number % partCount == part else { return true }
        return try candidates.read(entry, body) ?? true
      }
      candidates.finish()
    }
  }
}
