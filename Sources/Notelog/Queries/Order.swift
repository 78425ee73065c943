// Sorting what a query finds.

import NotelogJournal

/// The order of a query, which keeps no more records than are asked for.
struct Order<R: Record>: Sendable {
  /// Collects a query's records in order, at most `limit` of them.
  private let collector: @Sendable (Query<R>, RecordReader<R>, Snapshot, Int?) throws -> [Entry<R>]

  init<Value: Comparable & Sendable>(_ path: FieldKeyPath<R, Value>, _ direction: SortDirection) {
    collector = { query, reader, moment, limit in
      if let limit, let name = reader.indexName(of: path), let index = try query.store.index(name, at: moment)
      {
        return try Self.walk(index, query, reader, moment, name, path, direction, limit)
      }
      let parts = try query.inParts { part in
        var best = Best<Value>(direction: direction, limit: limit)
        try query.scan(reader, moment, part: part) { entry in
          let value = try entry.value(of: path)
          if best.accepts(value, entry.id) { best.insert(value, try entry.entry()) }
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
    _ query: Query<R>, _ reader: RecordReader<R>, _ moment: Snapshot, limit: Int?
  ) throws -> [Entry<R>] {
    try collector(query, reader, moment, limit)
  }

  /// Goes through the field's index, and reads no more records than it must.
  private static func walk<Value: Comparable & Sendable>(
    _ index: OrderedIndex, _ query: Query<R>, _ reader: RecordReader<R>, _ moment: Snapshot,
    _ name: FieldIndexes.Name,
    _ path: FieldKeyPath<R, Value>,
    _ direction: SortDirection, _ limit: Int
  ) throws -> [Entry<R>] {
    let store = query.store
    let scanner = RecordScanner(reader)
    var found: [Entry<R>] = []
    var passed = 0
    var seen = 0
    try index.forEachGroup(direction) { group in
      var best = Best<Value>(direction: direction, limit: limit - found.count)
      for entry in group {
        seen += 1
        guard let stored = try moment.read(entry.id, in: name.collection),
          try IndexEntry(keyOf: name.field, stored) == entry
        else {
          passed += 1
          continue
        }
        let candidate = ScannedEntry<R>(
          ScannedRecord(stored.id, stored.revision, RecordBody(checked: stored.body.rawSpan), scanner))
        guard try query.accepts(candidate) else { continue }
        best.insert(try candidate.value(of: path), Entry(stored: stored, reader: reader))
      }
      found += best.sorted()
      return found.count < limit
    }
    // Half of what lies in the way is no longer so: worth making anew.
    if passed > 1_000, 2 * passed > seen { store.indexes.remove(name) }
    return found
  }

  /// The first records in an order, of those seen so far.
  private struct Best<Value: Comparable & Sendable>: Sendable {
    let direction: SortDirection
    let limit: Int?
    private var found: [(value: Value, entry: Entry<R>)] = []
    /// The last value that is still among the first, once there are as many as are asked for.
    private var last: (value: Value, id: RecordID)?

    init(direction: SortDirection, limit: Int?) {
      self.direction = direction
      self.limit = limit
    }

    func accepts(_ value: Value, _ id: RecordID) -> Bool {
      guard let last else { return true }
      return Self.precedes(direction, value, id, last.value, last.id)
    }

    mutating func insert(_ value: Value, _ entry: Entry<R>) {
      found.append((value, entry))
      // Sorting when twice as many have gathered costs O(log limit) a record.
      if let limit, found.count >= 2 * limit { cut(to: limit) }
    }

    mutating func merge(_ other: Best) { found += other.found }

    mutating func sorted() -> [Entry<R>] {
      cut(to: limit ?? found.count)
      return found.map(\.entry)
    }

    private mutating func cut(to count: Int) {
      let direction = direction
      found.sort { Self.precedes(direction, $0.value, $0.entry.id, $1.value, $1.entry.id) }
      if found.count > count { found.removeLast(found.count - count) }
      if limit == found.count { last = found.last.map { ($0.value, $0.entry.id) } }
    }

    private static func precedes(
      _ direction: SortDirection, _ left: Value, _ leftID: RecordID, _ right: Value, _ rightID: RecordID
    ) -> Bool {
      if left == right { return leftID < rightID }
      return direction == .ascending ? left < right : left > right
    }
  }
}
