// The in-memory index: record id to the place of its newest frame. FORMAT.md §14.

import NotelogConcurrency

/// Where every record is, by a fingerprint of its id. Tombstones stay in it as long as their frames are needed.
///
/// Two records may have the same fingerprint. What the index gives are candidates: that a frame is the record's, only
/// the id in the frame says.
final class Index: Sendable {
  static let shardCount = 256

  let key: FingerprintKey
  private let shards: InlineArray<256, Lock<Shard>>

  init(key: FingerprintKey) {
    self.key = key
    shards = InlineArray { _ in Lock(Shard()) }
  }

  /// The fingerprint that a record is found by; its highest byte is the shard's number.
  @inline(__always)
  func fingerprint(of id: RecordKey) -> UInt64 { key.fingerprint(of: id) }

  @inline(__always)
  private func withShard<Result, Failure: Error>(
    of fingerprint: UInt64, _ body: (inout Shard) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try shards[Int(fingerprint >> 56)].withLock { shard throws(Failure) in try body(&shard) }
  }

  /// The place of the nth candidate; nothing behind the last.
  @inline(__always)
  func candidate(_ fingerprint: UInt64, _ ordinal: Int) throws(StorageError) -> Place? {
    try withShard(of: fingerprint) { shard throws(StorageError) in
      shard.table.place(fingerprint, at: ordinal)
    }
  }

  /// Whether the newest frame of a record is at this place.
  func contains(_ fingerprint: UInt64, at place: Place) throws(StorageError) -> Bool {
    try withShard(of: fingerprint) { shard throws(StorageError) in
      shard.table.contains(fingerprint, at: place)
    }
  }

  /// Takes in a record that is not in the index yet.
  func insert(_ fingerprint: UInt64, _ place: Place) throws(StorageError) {
    try withShard(of: fingerprint) { shard throws(StorageError) in
      shard.table.insert(fingerprint, place)
      if place.isTombstone { shard.tombstoneCount += 1 }
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

  /// Makes room for that many records in all, as a hint.
  func reserve(_ count: Int) {
    // Shards differ by a few times the square root of what they hold; a little too much would be wasted on all.
    for number in 0..<Self.shardCount {
      shards[number].withLock { $0.table.reserve(count / Self.shardCount) }
    }
  }

  /// How many records there are, tombstones not counted.
  var recordCount: Int {
    var count = 0
    for number in 0..<Self.shardCount {
      count += shards[number].withLock { $0.table.count - $0.tombstoneCount }
    }
    return count
  }
}

/// One of the index's shards.
struct Shard: ~Copyable, Sendable {
  var table = EntryTable()
  /// How many of the entries are deletions.
  var tombstoneCount = 0
}
