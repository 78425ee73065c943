// The in-memory index: record id to the place of its newest frame.

import NotelogConcurrency

/// Where every record is. Tombstones stay in it as long as their frames are needed.
final class Index: Sendable {
  private let locations = Lock<[RecordKey: Location]>([:])

  /// The place of a record's newest frame, tombstones included.
  func location(of id: RecordKey) -> Location? { locations.withLock { $0[id] } }

  /// Takes in a frame, if no newer one is known.
  ///
  /// - Returns: The location that is dead now: the one it replaces, or itself if it is older.
  func insert(_ location: Location, for id: RecordKey) -> Location? {
    locations.withLock { locations in
      guard let known = locations[id] else {
        locations[id] = location
        return nil
      }
      guard location.supersedes(known) else { return known == location ? nil : location }
      locations[id] = location
      return known
    }
  }

  /// Moves a record's location, if it is still where it was.
  func move(_ id: RecordKey, from old: Location, to new: Location) -> Bool {
    locations.withLock { locations in
      guard locations[id] == old else { return false }
      locations[id] = new
      return true
    }
  }

  /// Forgets a tombstone, if it is still where it was.
  func remove(_ id: RecordKey, at location: Location) -> Bool {
    locations.withLock { locations in
      guard locations[id] == location else { return false }
      locations[id] = nil
      return true
    }
  }

  /// The ids and locations of a collection's records, or of all, in order of id.
  func records(in collection: UInt16?) -> [(id: RecordKey, location: Location)] {
    locations.withLock { locations in
      locations.filter { !$0.value.isTombstone && (collection == nil || $0.value.collection == collection) }
    }
    .sorted { $0.key < $1.key }
    .map { (id: $0.key, location: $0.value) }
  }

  /// How many records there are, tombstones not counted.
  var recordCount: Int { locations.withLock { $0.values.count { !$0.isTombstone } } }
}
