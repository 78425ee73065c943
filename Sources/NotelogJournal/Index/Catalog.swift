// Index and segments together: which frame is current, and how many live bytes each segment holds.

import Synchronization

/// What the store holds: the index, and the segments that it points into.
final class Catalog: Sendable {
  let index = Index()
  let segments = SegmentTable()

  private let liveByteTotal = Atomic<Int>(0)

  /// The bytes of all live frames, with their footer entries.
  var liveByteCount: Int { liveByteTotal.load(ordering: .relaxed) }

  private func addLive(_ byteCount: Int, in segment: UInt32) {
    segments[segment]?.addLive(byteCount)
    liveByteTotal.add(byteCount, ordering: .relaxed)
  }

  /// Takes in a frame of a segment; what it replaces no longer counts as live.
  func take(_ entry: FooterEntry, in segment: Segment) {
    let location = Location(entry, segment: segment.number)
    let dead = index.insert(location, for: entry.id)
    addLive(location.liveByteCount, in: segment.number)
    if let dead { addLive(-dead.liveByteCount, in: dead.segment) }
  }

  /// Moves a record to the copy that compaction made of it.
  ///
  /// - Returns: Whether the record was still where the copy was made from.
  func move(_ id: RecordKey, from old: Location, to new: Location) -> Bool {
    guard index.move(id, from: old, to: new) else { return false }
    addLive(-old.liveByteCount, in: old.segment)
    addLive(new.liveByteCount, in: new.segment)
    return true
  }

  /// Forgets a tombstone that is needed no longer.
  func forget(_ id: RecordKey, at location: Location) {
    if index.remove(id, at: location) {
      addLive(-location.liveByteCount, in: location.segment)
    }
  }
}
