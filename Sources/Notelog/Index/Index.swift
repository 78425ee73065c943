// The in-memory index: record id to the place of its newest frame. docs/format-derived.md §31.

import NotelogFormat
import NotelogStorage
import NotelogBase
import Synchronization

/// Where every record is, by a fingerprint of its id. Tombstones stay in it as long as their frames are needed.
///
/// Two records may have the same fingerprint. What the index gives are candidates: that a frame is the record's, only
/// the id in the frame says.
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

  /// The first candidate, and the shard in memory from now on: changing it then reads nothing, and so can't fail.
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
    var count = 0
    for number in 0..<Self.shardCount {
      count += shards.withLock(number) { shard in
        // It may have to be loaded.
        defer { prefetchHints[number].note(shard.table) }
        return shard.recordCount
      }
    }
    return count
  }

  /// About how many records there are, without reading anything.
  var estimatedRecordCount: Int {
    var count = 0
    for number in 0..<Self.shardCount {
      count += shards.withLock(number) { $0.estimatedRecordCount }
    }
    return count
  }

  /// Calls `body` with each shard's table, brought into memory.
  func forEachShard(
    _ body: (borrowing EntryTable) throws(StorageError) -> Void
  ) throws(StorageError) {
    for number in 0..<Self.shardCount {
      try withShard(number) { shard throws(StorageError) in try body(shard.table) }
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

  /// Whether a shard has the entries of another index's, of which no two are the same.
  func hasEntries(of other: Index, inShard number: Int) throws(StorageError) -> Bool {
    try other.withShard(number) { truth throws(StorageError) in
      try withShard(number) { shard throws(StorageError) in
        guard shard.table.count == truth.table.count else { return false }
        var isSame = true
        truth.table.forEach { if !shard.table.contains($0.fingerprint, at: $0.place) { isSame = false } }
        return isSame
      }
    }
  }

  /// Lets go of a shard, for whoever goes through an index once.
  func forgetShard(_ number: Int) {
    shards.withLock(number) { shard in
      shard = Shard(number)
      prefetchHints[number].note(shard.table)
    }
  }
}

/// Where a shard's slots were when whoever loaded or changed it let go of its lock. What is fetched by it is looked up under the
/// lock; where it is out of date, the fetching was in vain.
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
