// The in-memory index: record id to the place of its newest frame. FORMAT.md §14.

import NotelogConcurrency

/// Where every record is, by a fingerprint of its id. Tombstones stay in it as long as their frames are needed.
///
/// Two records may have the same fingerprint. What the index gives are candidates: that a frame is the record's, only
/// the id in the frame says.
final class Index: Sendable {
  static let shardCount = 256

  let key: FingerprintKey
  private let shards: Locks<Shard>

  /// An index that is empty, or holds what a checkpoint holds.
  init(key: FingerprintKey, source: ShardSource? = nil) {
    self.key = key
    shards = Locks(count: Self.shardCount) { number in Shard(number, source: source) }
  }

  /// The fingerprint that a record is found by; its highest byte is the shard's number.
  @inline(__always)
  func fingerprint(of id: RecordKey) -> UInt64 { key.fingerprint(of: id) }

  /// Runs `body` with a shard that is in memory.
  @inline(__always)
  private func withShard<Result>(
    of fingerprint: UInt64, _ body: (inout Shard) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try shards.withLock(Int(fingerprint >> 56)) { shard throws(StorageError) in
      if shard.isCold { try shard.load() }
      return try body(&shard)
    }
  }

  /// Brings all of the index into memory.
  func loadAll() throws(StorageError) {
    for number in 0..<Self.shardCount {
      try shards.withLock(number) { shard throws(StorageError) in
        if shard.isCold { try shard.load() }
      }
    }
  }

  /// The place of the nth candidate; nothing behind the last.
  @inline(__always)
  func candidate(_ fingerprint: UInt64, _ ordinal: Int) throws(StorageError) -> Place? {
    try shards.withLock(Int(fingerprint >> 56)) { shard throws(StorageError) in
      if shard.isCold { return try shard.placeInFile(fingerprint, at: ordinal) }
      return shard.table.place(fingerprint, at: ordinal)
    }
  }

  /// The first candidate, and the shard in memory from now on: changing it then reads nothing, and so can't fail.
  func warmCandidate(_ fingerprint: UInt64) throws(StorageError) -> Place? {
    try withShard(of: fingerprint) { shard throws(StorageError) in shard.table.place(fingerprint, at: 0) }
  }

  /// Begins to fetch what is about to be looked up.
  func prefetch(_ fingerprint: UInt64) {
    shards.withLock(Int(fingerprint >> 56)) { $0.table.prefetch(fingerprint) }
  }

  /// Whether the newest frame of a record is at this place.
  func contains(_ fingerprint: UInt64, at place: Place) throws(StorageError) -> Bool {
    try withShard(of: fingerprint) { shard throws(StorageError) in
      shard.table.contains(fingerprint, at: place)
    }
  }

  /// Makes room for about that many records, for whoever knows that they are about to come.
  func reserve(_ count: Int) {
    // Fingerprints are spread evenly, and hardly a shard gets a tenth more than its share.
    let share = count / Self.shardCount
    for number in 0..<Self.shardCount { shards.withLock(number) { $0.table.reserve(share + share / 10) } }
  }

  /// Takes in a record that is not in the index yet.
  func insert(_ fingerprint: UInt64, _ place: Place) throws(StorageError) {
    try withShard(of: fingerprint) { shard throws(StorageError) in
      shard.table.insert(fingerprint, place)
      if place.isTombstone { shard.tombstoneCount += 1 }
    }
  }

  /// Takes in a record whose fingerprint nobody has yet.
  ///
  /// - Returns: Whether it was so.
  func insertIfNew(_ fingerprint: UInt64, _ place: Place) throws(StorageError) -> Bool {
    try withShard(of: fingerprint) { shard throws(StorageError) in
      guard shard.table.place(fingerprint, at: 0) == nil else { return false }
      shard.table.insert(fingerprint, place)
      if place.isTombstone { shard.tombstoneCount += 1 }
      return true
    }
  }

  /// Gives a record another place, if it is still where it was.
  func replace(_ fingerprint: UInt64, at old: Place, with new: Place) throws(StorageError) -> Bool {
    try withShard(of: fingerprint) { shard throws(StorageError) in
      guard shard.table.replace(fingerprint, at: old, with: new) else { return false }
      shard.tombstoneCount += (new.isTombstone ? 1 : 0) - (old.isTombstone ? 1 : 0)
      return true
    }
  }

  /// Forgets a record, if it is still where it was.
  func remove(_ fingerprint: UInt64, at place: Place) throws(StorageError) -> Bool {
    try withShard(of: fingerprint) { shard throws(StorageError) in
      guard shard.table.remove(fingerprint, at: place) else { return false }
      if place.isTombstone { shard.tombstoneCount -= 1 }
      return true
    }
  }

  /// How many records there are, tombstones not counted.
  var recordCount: Int {
    var count = 0
    for number in 0..<Self.shardCount {
      count += shards.withLock(number) { $0.recordCount }
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

  /// Calls `body` with each shard's table, all of it in memory.
  func forEachShard(
    _ body: (borrowing EntryTable, _ tombstoneCount: Int) throws(StorageError) -> Void
  ) throws(StorageError) {
    for number in 0..<Self.shardCount {
      try shards.withLock(number) { shard throws(StorageError) in
        if shard.isCold { try shard.load() }
        try body(shard.table, shard.tombstoneCount)
      }
    }
  }
}
