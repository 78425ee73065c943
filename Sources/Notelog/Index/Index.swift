// The in-memory index: record id to the place of its newest frame. docs/format-derived.md §31.

import NotelogBase
import NotelogFormat
import NotelogStorage
import Synchronization

/// Where every record is, by a fingerprint of its id. Tombstones stay in it as long as their frames are
/// needed.
///
/// Two records may have the same fingerprint. What the index gives are candidates: that a frame is the
/// record's, only the id in the frame says.
final class Index: Sendable {
  static let shardCount = 256

  let key: FingerprintKey
  private let shards: Locks<Shard>
  /// Where the shards' slots are, for whoever can't wait to know for certain.
  private let prefetchHints: InlineArray<256, PrefetchHint>

  /// An index that is empty, or holds what a checkpoint holds.
  init(key: FingerprintKey, source: ShardSource? = nil) {
    self.key = key
    shards = Locks(count: Self.shardCount) { number in Shard(number, source: source) }
    prefetchHints = InlineArray { _ in PrefetchHint() }
  }

  /// The fingerprint that a record is found by; its highest byte is the shard's number.
  @inline(__always)
  func fingerprint(of id: ID16) -> UInt64 { key.fingerprint(of: id) }

  /// Runs `body` with a shard that is in memory.
  @inline(__always)
  private func withShard<Result>(
    _ number: Int, _ body: (inout Shard) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try shards.withLock(number) { shard throws(StorageError) in
      if shard.isCold { try shard.load() }
      defer { prefetchHints[number].note(shard.table) }
      return try body(&shard)
    }
  }

  /// Changes a shard's table.
  @inline(__always)
  private func change<Result>(
    _ fingerprint: UInt64, _ body: (inout EntryTable) -> Result
  ) throws(StorageError) -> Result {
    try withShard(Int(fingerprint >> 56)) { shard throws(StorageError) in
      shard.copyIfWanted()
      return body(&shard.table)
    }
  }

  /// Brings all of the index into memory.
  func loadAll() throws(StorageError) {
    for number in 0..<Self.shardCount { try withShard(number) { (_) throws(StorageError) in } }
  }

  /// The place of the nth candidate; nothing behind the last.
  @inline(__always)
  func candidate(_ fingerprint: UInt64, _ ordinal: Int) throws(StorageError) -> FrameAddress? {
    try shards.withLock(Int(fingerprint >> 56)) { shard throws(StorageError) in
      if shard.isCold {
        defer { prefetchHints[Int(fingerprint >> 56)].note(shard.table) }
        return try shard.placeInFile(fingerprint, at: ordinal)
      }
      return shard.table.place(fingerprint, at: ordinal)
    }
  }

  /// The first candidate, and the shard in memory from now on: changing it then reads nothing, and so can't
  /// fail.
  func warmCandidate(_ fingerprint: UInt64) throws(StorageError) -> FrameAddress? {
    try withShard(Int(fingerprint >> 56)) { shard throws(StorageError) in
      shard.table.place(fingerprint, at: 0)
    }
  }

  /// Begins to fetch what is about to be looked up.
  func prefetch(_ fingerprint: UInt64) { prefetchHints[Int(fingerprint >> 56)].prefetch(fingerprint) }

  /// Whether the newest frame of a record is at this place.
  func contains(_ fingerprint: UInt64, at place: FrameAddress) throws(StorageError) -> Bool {
    try withShard(Int(fingerprint >> 56)) { shard throws(StorageError) in
      shard.table.contains(fingerprint, at: place)
    }
  }

  /// Makes room for about that many records, for whoever knows that they are about to come.
  func reserve(_ count: Int) {
    // Fingerprints are spread evenly, and hardly a shard gets a tenth more than its share.
    let share = count / Self.shardCount
    for number in 0..<Self.shardCount {
      shards.withLock(number) { shard in
        shard.table.reserve(share + share / 10)
        prefetchHints[number].note(shard.table)
      }
    }
  }

  /// Takes in a record that is not in the index yet.
  func insert(_ fingerprint: UInt64, _ place: FrameAddress) throws(StorageError) {
    try change(fingerprint) { table in table.insert(fingerprint, place) }
  }

  /// Takes in a record whose fingerprint nobody has yet.
  ///
  /// - Returns: Whether it was so.
  func insertIfNew(_ fingerprint: UInt64, _ place: FrameAddress) throws(StorageError) -> Bool {
    try change(fingerprint) { table in table.insertIfNew(fingerprint, place) }
  }

  /// Gives a record another place, if it is still where it was.
  func replace(_ fingerprint: UInt64, at old: FrameAddress, with new: FrameAddress)
    throws(StorageError) -> Bool
  {
    try change(fingerprint) { table in table.replace(fingerprint, at: old, with: new) }
  }

  /// Forgets a record, if it is still where it was.
  func remove(_ fingerprint: UInt64, at place: FrameAddress) throws(StorageError) -> Bool {
    try change(fingerprint) { table in table.remove(fingerprint, at: place) }
  }

  /// How many records there are, tombstones not counted.
  var recordCount: Int {
    // One that can't be read counts as many as the checkpoint says.
    for number in 0..<Self.shardCount where shards.withLock(number, { $0.isCountUnknown }) {
      try? withShard(number) { _ in }
    }
    return estimatedRecordCount
  }

  /// About how many records there are, without reading anything.
  var estimatedRecordCount: Int {
    (0..<Self.shardCount).reduce(0) { count, number in
      count + shards.withLock(number) { $0.estimatedRecordCount }
    }
  }

  /// Runs `body` with a shard, as it is.
  func withAnyShard<Result: ~Copyable, Failure: Error>(
    _ number: Int, _ body: (inout Shard) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try shards.withLock(number) { shard throws(Failure) in try body(&shard) }
  }

  /// A shard's entries.
  func entries(ofShard number: Int) throws(StorageError) -> [IndexEntry] {
    var entries: [IndexEntry] = []
    try withShard(number) { shard throws(StorageError) in
      entries.reserveCapacity(shard.table.count)
      shard.table.forEach { entries.append($0) }
    }
    return entries
  }

  /// Lets go of a shard, for whoever goes through an index once.
  func forgetShard(_ number: Int) {
    shards.withLock(number) { shard in
      shard = Shard(number)
      prefetchHints[number].note(shard.table)
    }
  }
}

/// Where a shard's slots were when whoever loaded or changed it let go of its lock. What is fetched by it is
/// looked up under the lock; where it is out of date, the fetching was in vain.
private struct PrefetchHint: ~Copyable, Sendable {
  private let start = Atomic<UInt>(0)
  private let capacity = Atomic<Int>(0)

  @inline(__always)
  borrowing func note(_ table: borrowing EntryTable) {
    if start.load(ordering: .relaxed) == table.start, capacity.load(ordering: .relaxed) == table.capacity {
      return
    }
    start.store(table.start, ordering: .relaxed)
    capacity.store(table.capacity, ordering: .relaxed)
  }

  @inline(__always)
  borrowing func prefetch(_ fingerprint: UInt64) {
    let home = EntryTable.home(fingerprint, capacity: capacity.load(ordering: .relaxed))
    SystemMemory.prefetch(start.load(ordering: .relaxed) &+ UInt(home * IndexEntry.byteCount))
  }
}

// MARK: - One of the index's shards: in memory, or still in the checkpoint's file.

/// The entries whose fingerprints have the same highest byte.
struct Shard: ~Copyable, Sendable {
  var table: EntryTable

  private let number: Int
  /// Where the shard comes from as long as it is cold.
  private var source: ShardSource?
  var isCold: Bool { source != nil }
  private var coldLookupCount = 0
  /// Whether somebody wants the table as it is now, and that table, since this one was changed.
  private var isWanted = false
  private var kept: EntryTable?

  /// After so many look-ups in the file, the shard is brought into memory.
  private static let coldLookupLimit = 16

  init(_ number: Int = 0, source: ShardSource? = nil) {
    self.number = number
    self.source = source
    table = EntryTable(stagger: number)
  }

  /// Has the table copied before it is changed.
  mutating func beginCopy() { isWanted = true }

  /// Copies the table, if somebody wants it as it is.
  @inline(__always)
  mutating func copyIfWanted() { if isWanted { copy() } }

  @inline(never)
  private mutating func copy() {
    kept = EntryTable(copying: table)
    isWanted = false
  }

  /// The table as it was; nothing where it was taken before.
  mutating func takeCopy() -> EntryTable? {
    copyIfWanted()
    return kept.take()
  }

  /// Nobody wants it any longer.
  mutating func endCopy() {
    isWanted = false
    kept = nil
  }

  /// The place of the nth candidate in a cold shard.
  mutating func placeInFile(_ fingerprint: UInt64, at ordinal: Int) throws(StorageError) -> FrameAddress? {
    coldLookupCount += 1
    if coldLookupCount <= Self.coldLookupLimit,
      let place = source?.candidate(number, fingerprint, ordinal)
    {
      return place.isNone ? nil : place
    }
    try load()
    return table.place(fingerprint, at: ordinal)
  }

  /// Brings a cold shard into memory.
  mutating func load() throws(StorageError) {
    guard let source else { return }
    table = EntryTable(stagger: number)
    try source.load(number, into: &self)
    self.source = nil
  }

  /// Whether it has to be read for anybody to know how many records there are in it.
  var isCountUnknown: Bool { source.map { !$0.isInFile(number) } ?? false }

  /// How many there are as far as can be said without reading.
  var estimatedRecordCount: Int {
    guard let source else { return table.count - table.tombstoneCount }
    return Int(source.head.entryCounts[number]) - Int(source.head.tombstoneCounts[number])
  }
}

// MARK: - What the segments say behind a checkpoint, and how a shard takes it in: docs/format-derived.md §31.

extension Shard {
  /// Takes in a frame; which of the candidates is its record, the ids in their frames say.
  ///
  /// - Returns: Whether it is neither known already nor older than what is known, and what it replaced.
  mutating func apply(
    _ id: ID16, _ location: Location, _ fingerprint: UInt64, _ segments: SegmentTable, _ cache: BlockCache
  ) throws(StorageError) -> (isNewer: Bool, replaced: Location?) {
    var ordinal = 0
    while let place = table.place(fingerprint, at: ordinal) {
      if place == location.place { return (false, nil) }
      guard let frame = try segments.entry(at: place, cache), frame.id == id else {
        ordinal += 1
        continue
      }
      let known = Location(frame, segment: place.segment)
      guard location.supersedes(known) else { return (false, nil) }
      _ = table.replace(fingerprint, at: place, with: location.place)
      return (true, known)
    }
    table.insert(fingerprint, location.place)
    return (true, nil)
  }
}

extension Segment {
  /// Calls `body` with the records and deletions that lie between two positions of the log, or anywhere in a
  /// segment that is wholly between them.
  ///
  /// - Returns: What does not check, and where frames are lost that nothing in the segment names.
  func forEachVersion(
    from start: LogPosition?, to end: LogPosition?, _ body: (ID16, Location) throws(StorageError) -> Void
  ) throws(StorageError) -> EntryReading {
    let first = start?.segment == number ? start?.offset ?? 0 : 0
    let limit = end?.segment == number ? end?.offset ?? .max : .max
    return try forEachEntry(from: first, upTo: limit) { (entry, _) throws(StorageError) in
      if entry.kind.isVersion { try body(entry.id, Location(entry, segment: self.number)) }
    }
  }
}

// MARK: - The index as it was at one moment, for a checkpoint that is written while others go on. docs/format-derived.md §31.

/// All of an index as it was when this was made. A shard's table is copied when it is asked for, or before it
/// is changed, whichever comes first: nobody waits for longer than that takes.
struct IndexCopy: ~Copyable {
  private let index: Index
  /// How many entries each shard has, and how many of them are deletions.
  let entryCounts: [UInt32]
  let tombstoneCounts: [UInt32]

  /// Begins to keep what an index holds, all of it in memory. Nobody changes it meanwhile, and there is no
  /// other copy of it.
  init(of index: Index) {
    self.index = index
    var (entryCounts, tombstoneCounts): ([UInt32], [UInt32]) = ([], [])
    for number in 0..<Index.shardCount {
      index.withAnyShard(number) { shard in
        precondition(!shard.isCold, "what is copied is in memory")
        shard.beginCopy()
        entryCounts.append(UInt32(shard.table.count))
        tombstoneCounts.append(UInt32(shard.table.tombstoneCount))
      }
    }
    (self.entryCounts, self.tombstoneCounts) = (entryCounts, tombstoneCounts)
  }

  deinit {
    for number in 0..<Index.shardCount { index.withAnyShard(number) { $0.endCopy() } }
  }

  /// Calls `body` with each shard's table as it was, and lets go of it then: once for all.
  func forEachShard(
    _ body: (borrowing EntryTable) throws(StorageError) -> Void
  ) throws(StorageError) {
    for number in 0..<Index.shardCount {
      if let table = index.withAnyShard(number, { $0.takeCopy() }) { try body(table) }
    }
  }
}
