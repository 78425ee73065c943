// What a query finds, and how that differs from what it found before.

/// What a query finds at one moment, and what has changed since the last.
///
/// Entries are unopened: what is sealed is opened when it is shown, and only that.
public struct QueryUpdate<R: Record>: Sendable {
  /// The records found, in the query's order; in that of their ids where the query has none.
  public let entries: [Entry<R>]
  /// The records that came, in their new order.
  public let inserted: [RecordID]
  /// The records that went, in their old order.
  public let removed: [RecordID]
  /// Of those that stayed, the fewest that changed their places among them.
  public let moved: [RecordID]
  /// Those that stayed and were written since.
  public let changed: [RecordID]

  /// Whether everything is as it was.
  public var isEmpty: Bool { inserted.isEmpty && removed.isEmpty && moved.isEmpty && changed.isEmpty }

  init(_ entries: [Entry<R>], since old: [RecordVersion]) {
    self.entries = entries
    let placeByID = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($1.id, $0) })
    let present = Set(entries.map(\.id))
    var (inserted, changed, stayed): ([RecordID], [RecordID], [(id: RecordID, place: Int)]) = ([], [], [])
    for entry in entries {
      guard let place = placeByID[entry.id] else {
        inserted.append(entry.id)
        continue
      }
      stayed.append((entry.id, place))
      if old[place].revision != entry.revision { changed.append(entry.id) }
    }
    self.inserted = inserted
    self.changed = changed
    removed = old.map(\.id).filter { !present.contains($0) }
    let inPlace = longestAscent(stayed.map(\.place))
    moved = stayed.indices.filter { !inPlace.contains($0) }.map { stayed[$0].id }
  }
}

/// A record as it was shown.
struct RecordVersion: Sendable {
  let id: RecordID
  let revision: UInt64
}

/// The places of a longest ascending part of some numbers, none of which is there twice.
///
/// - Complexity: O(*n* log *n*).
private func longestAscent(_ numbers: [Int]) -> Set<Int> {
  // For each length, the place where the lowest number stands that an ascent of this length ends with.
  var ends: [Int] = []
  var previous = [Int?](repeating: nil, count: numbers.count)
  for (place, number) in numbers.enumerated() {
    let length = OrderedIndex.firstIndex(ends.count) { numbers[ends[$0]] >= number }
    previous[place] = length == 0 ? nil : ends[length - 1]
    if length == ends.count { ends.append(place) } else { ends[length] = place }
  }
  var ascent: Set<Int> = []
  var place = ends.last
  while let current = place {
    ascent.insert(current)
    place = previous[current]
  }
  return ascent
}
