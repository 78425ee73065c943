// Index and segments together: which frame is current, and how many live bytes each segment holds.

import NotelogBase
import NotelogFormat
import NotelogStorage
import Synchronization

/// What the store holds: the index, and the segments that it points into.
final class Catalog: Sendable {
  let index: Index
  let segments: SegmentTable
  /// Bytes of finished segments, as they are on disk.
  let cache: BlockCache
  /// The records of collection 0.
  let listed: ListedRecords
  /// What live snapshots see and the index no longer says.
  let oldVersions = OldVersions()
  /// The chunks of large values.
  let chunks: ChunkTable
  /// Which versions compaction keeps that were replaced.
  let kept = KeptVersions()
  /// Held while records are moved from some segments to another, and while a snapshot is made.
  let arrangement = Gate()

  /// What several threads hold that take in frames of one record: only one of them compares its frame with
  /// what is known.
  private let recordLocks = Locks(count: 64) { _ in () }

  /// Segments that compaction has moved everything out of, until they leave the table.
  private let vacated = Lock<Set<UInt32>>([])

  private let changes: Atomic<Int>

  /// How many frames came in, or were moved, since the last checkpoint.
  var changeCount: Int { changes.load(ordering: .relaxed) }

  /// What is known of the checkpoint.
  let checkpointHealth: CheckpointHealth

  /// Which of the records may have been superseded by what is lost.
  let staleness: Staleness

  /// What turned out to be damaged since the store was opened.
  let damageLog = DamageLog()

  /// There is a checkpoint now, which holds that many of the changes.
  func noteCheckpoint(_ head: CheckpointHead, of count: Int) {
    changes.subtract(count, ordering: .relaxed)
    checkpointHealth.noteCheckpoint(head)
  }

  /// A catalog that is empty yet, or of what a checkpoint holds and what came after it.
  init(
    key: FingerprintKey, _ source: ShardSource? = nil, _ segments: SegmentTable = SegmentTable(),
    cache: BlockCache = BlockCache(byteCount: 0), _ listed: ListedRecords = ListedRecords()
  ) {
    index = Index(key: key, source: source)
    self.segments = segments
    self.cache = cache
    self.listed = listed
    checkpointHealth = source?.health ?? CheckpointHealth(nil)
    staleness = source?.staleness ?? Staleness()
    chunks = ChunkTable(segments, oldVersions, kept)
    changes = Atomic(source?.tailCount ?? 0)
  }

  /// Takes in frames of a segment while other threads take in those of others, and counts them all at once:
  /// the others count too.
  func apply(
    _ entries: [(entry: FooterEntry, fingerprint: UInt64)], in segment: Segment
  ) throws(StorageError) {
    var (count, liveByteCount) = (0, 0)
    for (entry, fingerprint) in entries where entry.kind.isVersion {
      let location = Location(entry, segment: segment.number)
      if try admit(entry, at: location, fingerprint) {
        count += 1
        liveByteCount += location.liveByteCount
      } else {
        try recordLocks.withLock(Int(fingerprint >> 58)) { (_) throws(StorageError) in
          try apply(entry, in: segment, after: PreviousVersion(fingerprint: fingerprint, location: nil))
        }
      }
    }
    changes.add(count, ordering: .relaxed)
    segments.addLive(liveByteCount, in: segment)
  }

  /// Takes in a frame whose fingerprint nobody has yet, and leaves counting it to the caller.
  ///
  /// - Returns: Whether it was so.
  private func admit(
    _ entry: FooterEntry, at location: Location, _ fingerprint: UInt64
  ) throws(StorageError) -> Bool {
    guard try index.insertIfNew(fingerprint, location.place) else { return false }
    list(entry, known: nil)
    return true
  }

  /// Takes in a frame whose previous version was looked up before: then nothing has to be read, and nothing
  /// can fail half-way through a transaction.
  func apply(_ entry: FooterEntry, in segment: Segment, after previousVersion: PreviousVersion)
    throws(StorageError)
  {
    // What is no version of a record is not in the index: chunks are found through the records that refer to
    // them.
    guard entry.kind.isVersion else { return }
    changes.add(1, ordering: .relaxed)
    let location = Location(entry, segment: segment.number)
    let fingerprint = previousVersion.fingerprint
    var known = previousVersion.location
    if known == nil {
      if try admit(entry, at: location, fingerprint) {
        segments.addLive(location.liveByteCount, in: segment)
        return
      }
      // Another record's, or it came with an earlier frame of the same transaction.
      known = try resolve(entry.id, fingerprint)
    }
    while let found = known {
      // Taken in before, or older than what is known: dead from the start.
      guard location.supersedes(found) else { return segment.noteDeath() }
      note(found, of: entry.id, supersededBy: location.sequence)
      if try index.replace(fingerprint, at: found.place, with: location.place) {
        list(entry, known: found)
        segments.replaceLive(
          found.liveByteCount, in: segments[found.segment], with: location.liveByteCount, in: segment)
        return
      }
      // Compaction has moved it in between.
      known = try resolve(entry.id, fingerprint)
    }
    try index.insert(fingerprint, location.place)
    list(entry, known: nil)
    segments.addLive(location.liveByteCount, in: segment)
  }

  /// What an id stood at before its next frame.
  struct PreviousVersion: Sendable, BitwiseCopyable {
    let fingerprint: UInt64
    var location: Location?

    /// Of frames that the index doesn't know.
    static let none = PreviousVersion(fingerprint: 0, location: nil)
  }

  /// Begins to look up what a record's next frame will replace.
  func beginLookup(of id: ID16) -> PreviousVersion {
    let fingerprint = index.fingerprint(of: id)
    index.prefetch(fingerprint)
    return PreviousVersion(fingerprint: fingerprint, location: nil)
  }

  /// How far ahead of what is looked up in a row the index is asked for.
  static let lookahead = 8

  /// Asks the processor to fetch where a record is in the index.
  func prefetch(_ id: ID16) { index.prefetch(index.fingerprint(of: id)) }

  /// Looks it up, unless it is known and still so: in the index and, as only the frame says whose it is, on
  /// disk.
  func find(_ previousVersion: inout PreviousVersion, of id: ID16) throws(StorageError) {
    let fingerprint = previousVersion.fingerprint
    if let known = previousVersion.location, try index.contains(fingerprint, at: known.place) { return }
    let isThere = try index.warmCandidate(fingerprint) != nil
    previousVersion.location = isThere ? try resolve(id, fingerprint) : nil
  }

  /// What a frame of a record will replace; nothing of what the index doesn't know.
  func previousVersion(of id: ID16, _ kind: FrameKind) throws(StorageError) -> PreviousVersion {
    guard kind.isVersion else { return .none }
    var previousVersion = beginLookup(of: id)
    try find(&previousVersion, of: id)
    return previousVersion
  }

  private func list(_ entry: FooterEntry, known: Location?) {
    guard entry.collection == ListedRecords.collection || known?.collection == ListedRecords.collection else {
      return
    }
    let isPresent = entry.kind == .record && entry.collection == ListedRecords.collection
    listed.note(entry.id, sequence: entry.sequence, isPresent: isPresent)
  }

  /// The ids of collection 0's records, in order of id.
  func listedRecords() throws(StorageError) -> [ID16] {
    var ids: [ID16] = []
    for entry in listed.entries {
      // One that was deleted may be listed still, if nothing is left of the deletion either.
      guard let location = try location(of: entry.id), !location.isTombstone,
        location.collection == ListedRecords.collection
      else { continue }
      ids.append(entry.id)
    }
    return ids
  }

  /// Where a record's newest frame is and what it says, tombstones included.
  func location(of id: ID16) throws(StorageError) -> Location? { try resolve(id, index.fingerprint(of: id)) }

  /// Whether a frame lives: a record's newest, which its place alone says, or a chunk of a value that lives.
  func isCurrent(_ id: ID16, at location: Location) throws(StorageError) -> Bool {
    if let chunk = location.chunk { return chunks.lives(chunk, of: id, at: location.place) }
    return try index.contains(index.fingerprint(of: id), at: location.place)
  }

  /// Keeps a version that is about to be overwritten for the snapshots that see it.
  func note(_ known: Location, of id: ID16, supersededBy sequence: UInt64) {
    guard oldVersions.isNeeded, !known.isTombstone, let segment = segments[known.segment] else { return }
    oldVersions.note(
      id, OldVersion(sequence: known.sequence, supersededBy: sequence, place: known.place, segment: segment))
  }

  /// The segments that a snapshot looks for records in: no frame is in two of them. The caller holds
  /// `arrangement`.
  var inhabited: [Segment] {
    let vacated = vacated.withLock { $0 }
    return segments.all.filter { !vacated.contains($0.number) }
  }

  /// Whether compaction has moved everything out of a segment that is still in the table, as what was to
  /// follow failed.
  func isVacated(_ segment: UInt32) -> Bool { vacated.withLock { $0.contains(segment) } }

  /// Forgets segments that were replaced.
  func remove(_ sources: [Segment]) {
    for source in sources {
      segments.remove(source.number)
      cache.forget(source.number)
    }
    vacated.withLock { $0.subtract(sources.map(\.number)) }
  }

  /// A frame that compaction copied.
  typealias MovedFrame = (id: ID16, old: Location, new: Location)

  /// Takes in what compaction made: its segment, the copies in it, and that some tombstones are needed no
  /// longer.
  ///
  /// What was written anew meanwhile does not move: its copy is dead already. The caller holds `arrangement`,
  /// and has brought into memory what the index says of these records: nothing can fail half-way.
  func adopt(
    _ output: Segment, of sources: [Segment], _ copies: [MovedFrame],
    dropped: [(id: ID16, location: Location)]
  ) throws(StorageError) {
    segments.insert(output)
    changes.add(copies.count + dropped.count, ordering: .relaxed)
    // The threads that follow would all wait for the totals: a source's frames are counted in one step.
    var (source, oldByteCount, newByteCount): (Segment?, Int, Int) = (nil, 0, 0)
    for (number, copy) in copies.enumerated() {
      if number + Self.lookahead < copies.count { prefetch(copies[number + Self.lookahead].id) }
      if let chunk = copy.old.chunk {
        let new = LargeValue.Chunk(
          place: copy.new.place, payloadByteCount: Int(copy.new.payloadByteCount))
        chunks.move(chunk, of: copy.id, from: copy.old.place, to: new)
        continue
      }
      guard try index.replace(index.fingerprint(of: copy.id), at: copy.old.place, with: copy.new.place) else {
        output.noteDeath()
        continue
      }
      if source?.number != copy.old.segment {
        segments.replaceLive(oldByteCount, in: source, with: newByteCount, in: output)
        (source, oldByteCount, newByteCount) = (segments[copy.old.segment], 0, 0)
      }
      oldByteCount += copy.old.liveByteCount
      newByteCount += copy.new.liveByteCount
    }
    segments.replaceLive(oldByteCount, in: source, with: newByteCount, in: output)
    for tombstone in dropped
    where try index.remove(index.fingerprint(of: tombstone.id), at: tombstone.location.place) {
      segments.addLive(-tombstone.location.liveByteCount, in: segments[tombstone.location.segment])
    }
    // Nothing of them remains: all that did is in the output now.
    if kept.seconds > 0 { for source in sources { segments.setExpired(source.byteCount, in: source) } }
    vacated.withLock { $0.formUnion(sources.map(\.number)) }
  }
}

// MARK: - Which of the index's candidates is a record's: the id in the frame decides. docs/format-derived.md §31.

extension Catalog {
  /// The candidate whose frame bears the id.
  func resolve(_ id: ID16, _ fingerprint: UInt64) throws(StorageError) -> Location? {
    try lookUp(id, fingerprint).known
  }

  /// The same, and whether nobody can tell what some candidate is: it can't be read, or is not there.
  private func lookUp(
    _ id: ID16, _ fingerprint: UInt64
  ) throws(StorageError) -> (known: Location?, isUnknown: Bool) {
    var ordinal = 0
    var isUnknown = false
    while let place = try index.candidate(fingerprint, ordinal) {
      if let entry = try segments.entry(at: place, cache) {
        if entry.id == id { return (Location(entry, segment: place.segment), isUnknown) }
      } else {
        // Moved in between, the index holds another place by now. If it doesn't, nobody can tell any longer.
        guard try index.candidate(fingerprint, ordinal) == place else { continue }
        isUnknown = true
      }
      ordinal += 1
    }
    return (nil, isUnknown)
  }
}

/// Whether a frame that the index does not name is dead.
enum Supersession {
  /// The index names a later frame of the same record.
  case proven
  /// It names none, or an earlier one, or other records' frames in its place: the index is wrong.
  case refuted
  /// What it names can't be read, or is not there.
  case unknown
}

extension Catalog {
  /// Whether a frame that the index does not name is dead. The index's word alone is not enough for
  /// destroying it: it may come from a checkpoint that is wrong.
  ///
  /// Where it names nothing at all the frame is not dead: a tombstone goes only when no footer lists its id
  /// any longer.
  ///
  /// `last` is the newest frame that was found last: with evidence, frames of one id are many.
  func supersession(
    of id: ID16, at old: Location, _ last: inout (id: ID16, location: Location)?
  ) throws(StorageError) -> Supersession {
    if old.chunk != nil { return .proven }
    if let last, last.id == id, last.location.supersedes(old) { return .proven }
    let (known, isUnknown) = try lookUp(id, index.fingerprint(of: id))
    guard let known else { return isVacated(old.segment) ? .proven : isUnknown ? .unknown : .refuted }
    last = (id, known)
    // Of one frame there are two where a recovery copied again what a compaction had copied before.
    let isCopy = known.sequence == old.sequence && known.segment != old.segment
    return known.supersedes(old) || isCopy ? .proven : .refuted
  }
}
