// Index and segments together: which frame is current, and how many live bytes each segment holds.

import NotelogConcurrency
import Synchronization

/// What the store holds: the index, and the segments that it points into.
final class Catalog: Sendable {
  let index: Index
  let segments: SegmentTable
  /// Bytes of finished segments, as they are on disk.
  let cache: BlockCache
  /// The records of collection 0.
  let listing: Listing
  /// What live snapshots see and the index no longer says.
  let history = History()
  /// Held while records are moved from some segments to another, and while a snapshot is made.
  let arrangement = Gate()

  private let changes = Atomic<Int>(0)

  /// How many frames came in, or were moved, since the last checkpoint.
  var changeCount: Int { changes.load(ordering: .relaxed) }

  /// A checkpoint holds that many of the changes.
  func noteCheckpoint(of count: Int) { changes.subtract(count, ordering: .relaxed) }

  /// Where the part of the index comes from that is not in memory yet.
  let source: ShardSource?

  /// A catalog that is empty yet.
  init(key: FingerprintKey, cacheByteCount: Int = 0) {
    index = Index(key: key)
    segments = SegmentTable()
    cache = BlockCache(byteCount: cacheByteCount)
    listing = Listing()
    source = nil
  }

  /// A catalog of what a checkpoint holds and what came after it.
  init(_ source: ShardSource, _ segments: SegmentTable, _ cache: BlockCache, _ listing: Listing) {
    self.listing = listing
    index = Index(key: source.head.key, source: source)
    self.segments = segments
    self.cache = cache
    self.source = source
    changes.add(source.tailCount, ordering: .relaxed)
  }

  /// The bytes of all live frames, with their footer entries.
  var liveByteCount: Int { segments.liveByteCount }

  private func addLive(_ byteCount: Int, in segment: UInt32) { segments.addLive(byteCount, in: segment) }

  /// Takes in a frame of a segment; what it replaces no longer counts as live. Frames come in one at a time.
  func take(_ entry: FooterEntry, in segment: Segment) throws(StorageError) {
    try take(entry, in: segment, known: settle(entry.id, index.fingerprint(of: entry.id)))
  }

  /// Takes in a frame whose id stood at a place that was looked up before: then nothing has to be read, and nothing can
  /// fail half-way through a transaction.
  func take(_ entry: FooterEntry, in segment: Segment, known expected: Location?) throws(StorageError) {
    // Chunks are found through the records that refer to them.
    guard entry.kind != .chunk else { return }
    changes.add(1, ordering: .relaxed)
    let location = Location(entry, segment: segment.number)
    let fingerprint = index.fingerprint(of: entry.id)
    var isExpected = true
    while true {
      var known = expected
      if expected == nil, isExpected {
        // An id that was new may have come with an earlier frame of the same transaction.
        isExpected = try index.candidate(fingerprint, 0) == nil
      }
      if !isExpected { known = try settle(entry.id, fingerprint) }
      isExpected = false
      guard let known else {
        try index.insert(fingerprint, location.place)
        list(entry, known: nil)
        addLive(location.liveByteCount, in: segment.number)
        return
      }
      // Taken in before, or older than what is known: dead from the start.
      guard location.supersedes(known) else { return }
      note(known, of: entry.id, supersededBy: location.sequence)
      // Compaction may have moved it in between: then it is looked for again.
      guard try index.replace(fingerprint, at: known.place, with: location.place) else { continue }
      list(entry, known: known)
      addLive(location.liveByteCount, in: segment.number)
      addLive(-known.liveByteCount, in: known.segment)
      return
    }
  }

  private func list(_ entry: FooterEntry, known: Location?) {
    guard entry.collection == Listing.collection || known?.collection == Listing.collection else { return }
    let isPresent = entry.kind == .record && entry.collection == Listing.collection
    listing.take(entry.id, sequence: entry.sequence, isPresent: isPresent)
  }

  /// The ids of collection 0's records, in order of id.
  func listedRecords() throws(StorageError) -> [RecordKey] {
    var ids: [RecordKey] = []
    for entry in listing.entries {
      // One that was deleted may be listed still, if nothing is left of the deletion either.
      guard let location = try location(of: entry.id), !location.isTombstone,
        location.collection == Listing.collection
      else { continue }
      ids.append(entry.id)
    }
    return ids
  }

  /// Where a record's newest frame is and what it says, tombstones included.
  func location(of id: RecordKey) throws(StorageError) -> Location? {
    try settle(id, index.fingerprint(of: id))
  }

  /// Where the newest frame is of a record that is about to be written: what can fail about that is done then.
  func locationToReplace(of id: RecordKey) throws(StorageError) -> Location? {
    let fingerprint = index.fingerprint(of: id)
    try index.warm(fingerprint)
    return try settle(id, fingerprint)
  }

  /// Whether this is a record's newest frame: its place alone says so.
  func isCurrent(_ id: RecordKey, at location: Location) throws(StorageError) -> Bool {
    try index.contains(index.fingerprint(of: id), at: location.place)
  }

  /// Keeps a version that is about to be overwritten for the snapshots that see it.
  private func note(_ known: Location, of id: RecordKey, supersededBy sequence: UInt64) {
    guard history.isNeeded, !known.isTombstone, let segment = segments[known.segment] else { return }
    history.note(
      id,
      OldVersion(sequence: known.sequence, supersededBy: sequence, place: known.place, segment: segment))
  }

  /// Takes in what compaction made: its segment, the copies in it, and that some tombstones are needed no longer.
  ///
  /// What was written anew meanwhile does not move: its copy is dead already.
  func adopt(
    _ output: Segment, _ copies: [Compaction.Copy], dropped: [(id: RecordKey, location: Location)]
  ) throws(StorageError) {
    arrangement.enter()
    defer { arrangement.leave() }
    segments.insert(output)
    changes.add(copies.count + dropped.count, ordering: .relaxed)
    for copy in copies {
      guard try index.replace(index.fingerprint(of: copy.id), at: copy.old.place, with: copy.new.place) else {
        continue
      }
      addLive(-copy.old.liveByteCount, in: copy.old.segment)
      addLive(copy.new.liveByteCount, in: copy.new.segment)
    }
    for tombstone in dropped
    where try index.remove(index.fingerprint(of: tombstone.id), at: tombstone.location.place) {
      addLive(-tombstone.location.liveByteCount, in: tombstone.location.segment)
    }
  }
}
