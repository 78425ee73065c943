// What an opening has read of what came after the checkpoint, by shard: FORMAT.md §31.

import NotelogStorage

/// The frames behind a checkpoint, to be had by the shard they belong to.
struct Tail: Sendable {
  private var entries: [TailEntry] = []
  private var shards: [UInt8] = []
  /// The numbers of the entries, shard by shard, and where each shard's begin; the last is where all end.
  private var order: [UInt32] = []
  private var starts: [Int] = Array(repeating: 0, count: Index.shardCount + 1)

  var count: Int { entries.count }

  /// Adds an entry; `sort` must follow before anything is asked.
  mutating func append(_ entry: TailEntry, fingerprint: UInt64) {
    entries.append(entry)
    shards.append(UInt8(fingerprint >> 56))
  }

  /// Finds out where the entries of each shard are: in two passes, and without moving them.
  mutating func sort() {
    starts = Array(repeating: 0, count: Index.shardCount + 1)
    for shard in shards { starts[Int(shard) + 1] += 1 }
    for shard in 0..<Index.shardCount { starts[shard + 1] += starts[shard] }
    var next = starts
    order = Array(repeating: 0, count: entries.count)
    for (number, shard) in shards.enumerated() {
      order[next[Int(shard)]] = UInt32(number)
      next[Int(shard)] += 1
    }
  }

  func isEmpty(_ shard: Int) -> Bool { starts[shard] == starts[shard + 1] }

  /// Calls `body` with a shard's entries, in the order in which they were added.
  func forEach(
    of shard: Int, _ key: FingerprintKey,
    _ body: (TailEntry, _ fingerprint: UInt64) throws(StorageError) -> Void
  ) throws(StorageError) {
    for place in starts[shard]..<starts[shard + 1] {
      let entry = entries[Int(order[place])]
      try body(entry, key.fingerprint(of: entry.id))
    }
  }
}
