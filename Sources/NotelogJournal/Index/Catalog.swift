// Index and segments together: which frame is current, and how many live bytes each segment holds.

import NotelogConcurrency
import Synchronization

/// What the store holds: the index, and the segments that it points into.
final class Catalog: Sendable {
  let index: Index
  let segments = SegmentTable()

  private let liveByteTotal = Atomic<Int>(0)

  init(key: FingerprintKey) { index = Index(key: key) }

  /// The bytes of all live frames, with their footer entries.
  var liveByteCount: Int { liveByteTotal.load(ordering: .relaxed) }

  private func addLive(_ byteCount: Int, in segment: UInt32) {
    segments[segment]?.addLive(byteCount)
    liveByteTotal.add(byteCount, ordering: .relaxed)
  }

  /// Takes in a frame of a segment; what it replaces no longer counts as live. Frames come in one at a time.
  func take(_ entry: FooterEntry, in segment: Segment) throws(StorageError) {
    // Chunks are found through the records that refer to them.
    guard entry.kind != .chunk else { return }
    let location = Location(entry, segment: segment.number)
    let fingerprint = index.fingerprint(of: entry.id)
    while true {
      guard let known = try settle(entry.id, fingerprint) else {
        try index.insert(fingerprint, location.place)
        addLive(location.liveByteCount, in: segment.number)
        return
      }
      // Taken in before, or older than what is known: dead from the start.
      guard location.supersedes(known) else { return }
      // Compaction may have moved it in between: then it is looked for again.
      guard try index.replace(fingerprint, at: known.place, with: location.place) else { continue }
      addLive(location.liveByteCount, in: segment.number)
      addLive(-known.liveByteCount, in: known.segment)
      return
    }
  }

  /// Where a record's newest frame is and what it says, tombstones included.
  func location(of id: RecordKey) throws(StorageError) -> Location? {
    try settle(id, index.fingerprint(of: id))
  }

  /// Whether this is a record's newest frame: its place alone says so.
  func isCurrent(_ id: RecordKey, at location: Location) throws(StorageError) -> Bool {
    try index.contains(index.fingerprint(of: id), at: location.place)
  }

  /// Moves a record to the copy that compaction made of it.
  ///
  /// - Returns: Whether the record was still where the copy was made from.
  func move(_ id: RecordKey, from old: Location, to new: Location) throws(StorageError) -> Bool {
    guard try index.replace(index.fingerprint(of: id), at: old.place, with: new.place) else { return false }
    addLive(-old.liveByteCount, in: old.segment)
    addLive(new.liveByteCount, in: new.segment)
    return true
  }

  /// Forgets a tombstone that is needed no longer.
  func forget(_ id: RecordKey, at location: Location) throws(StorageError) {
    if try index.remove(index.fingerprint(of: id), at: location.place) {
      addLive(-location.liveByteCount, in: location.segment)
    }
  }
}
