// What an opening has read of what came after the checkpoint, by shard: docs/format-derived.md §31.

import NotelogStorage

/// The frames behind a checkpoint, to be had by the shard they belong to.
struct Tail: Sendable {
  private var shards: [[TailEntry]] = Array(repeating: [], count: Index.shardCount)

  var count: Int { shards.reduce(0) { $0 + $1.count } }

  mutating func append(_ entry: TailEntry, fingerprint: UInt64) {
    shards[Int(fingerprint >> 56)].append(entry)
  }

  /// How many entries a shard has.
  func count(of shard: Int) -> Int { shards[shard].count }

  /// Calls `body` with a shard's entries, in the order in which they were added.
  func forEach(
    of shard: Int, _ key: FingerprintKey,
    _ body: (TailEntry, _ fingerprint: UInt64) throws(StorageError) -> Void
  ) throws(StorageError) {
    for entry in shards[shard] { try body(entry, key.fingerprint(of: entry.id)) }
  }
}
