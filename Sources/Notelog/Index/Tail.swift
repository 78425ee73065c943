// What an opening has read of what came after the checkpoint, by shard: docs/format-derived.md §31.

/// The frames behind a checkpoint, to be had by the shard they belong to.
struct Tail: Sendable {
  private var shards: [[TailEntry]] = Array(repeating: [], count: Index.shardCount)

  var count: Int { shards.reduce(0) { $0 + $1.count } }

  mutating func append(_ entry: TailEntry, fingerprint: UInt64) {
    shards[Int(fingerprint >> 56)].append(entry)
  }

  /// A shard's entries, in the order in which they were added.
  subscript(shard: Int) -> [TailEntry] { shards[shard] }
}
