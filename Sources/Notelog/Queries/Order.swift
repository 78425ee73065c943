// Sorting what a query finds.

import NotelogJournal

/// The order of a query, which keeps no more records than are asked for.
struct Order<R: Record>: Sendable {
  let path: any PartialKeyPath<R> & Sendable
  let direction: SortDirection
  /// Whether an index of the field has the same order.
  let isThatOfKeys: Bool
  /// Collects a query's records in order, at most as many as its limit says.
  private let collector: @Sendable (Query<R>, QueryWay, RecordReader<R>, Snapshot) throws -> [Entry<R>]

  init<Value: Comparable & Sendable>(_ path: FieldKeyPath<R, Value>, _ direction: SortDirection) {
    self.path = path
    self.direction = direction
    isThatOfKeys = ValueOrder<Value>.isThatOfKeys
    let order = ValueOrder<Value>()
    collector = { query, way, reader, moment in
      if case .inOrder(let run) = way {
        return try Self.walk(run, query, reader, moment, path, order, direction)
      }
      let parts = try query.inParts { part in
        var best = FirstEntries<Value, Entry<R>>(direction, limit: query.limit, by: order.precedes)
        try query.forEach(on: way, reader, moment, part: part) { entry in
          guard let value = try query.reading(entry.id, { try entry.value(of: path) }) else { return true }
          if best.accepts(value, entry.id) { best.insert(value, entry.id, try entry.entry()) }
          return true
        }
        return best
      }
      var best = parts[0]
      for other in parts.dropFirst() { best.merge(other) }
      return best.sorted()
    }
  }

  func collect(
    _ query: Query<R>, on way: QueryWay, _ reader: RecordReader<R>, _ moment: Snapshot
  ) throws -> [Entry<R>] {
    try collector(query, way, reader, moment)
  }

  /// Goes through the field's index, and reads no more records than it must.
  private static func walk<Value: Comparable & Sendable>(
    _ run: IndexRun, _ query: Query<R>, _ reader: RecordReader<R>, _ moment: Snapshot,
    _ path: FieldKeyPath<R, Value>, _ order: ValueOrder<Value>, _ direction: SortDirection
  ) throws -> [Entry<R>] {
    var candidates = try CandidateReader(query, run, reader, moment)
    var found: [Entry<R>] = []
    try run.index.forEachGroup(in: run.bounds, direction, substitute: run.substitute) { group in
      if group.count == 1 {
        // Nothing to be sorted: so it is with nearly all values.
        let entry = try candidates.read(group[group.startIndex]) { try $0.entry() }
        if let entry { found.append(entry) }
        return found.count != query.limit
      }
      // Entries that tie may have different values, where those are long.
      var best = FirstEntries<Value, Entry<R>>(
        direction, limit: query.limit.map { $0 - found.count }, by: order.precedes)
      for entry in group {
        _ = try candidates.read(entry) { candidate in
          guard let value = try query.reading(entry.id, { try candidate.value(of: path) }) else { return }
          best.insert(value, entry.id, try candidate.entry())
        }
      }
      found += best.sorted()
      return found.count != query.limit
    }
    candidates.finish()
    return found
  }
}
