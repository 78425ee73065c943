// The index as it was at one moment, for a checkpoint that is written while others go on. docs/format-derived.md §31.

import NotelogStorage

/// All of an index as it was when this was made. A shard's table is copied when it is asked for, or before it is changed, whichever comes first:
/// nobody waits for longer than that takes.
struct IndexCopy: ~Copyable {
  private let index: Index
  private let othersGoOn: Bool
  /// How many entries each shard has, and how many of them are deletions.
  let entryCounts: [UInt32]
  let tombstoneCounts: [UInt32]

  /// Begins to keep what an index holds, all of it in memory. Nobody changes it meanwhile, and there is no other copy of it.
  ///
  /// - Parameters:
  ///   - index: The index.
  ///   - othersGoOn: Whether anybody may change it before this goes: if not, nothing has to be copied.
  init(of index: Index, othersGoOn: Bool) {
    self.index = index
    self.othersGoOn = othersGoOn
    var (entryCounts, tombstoneCounts): ([UInt32], [UInt32]) = ([], [])
    for number in 0..<Index.shardCount {
      index.withAnyShard(number) { shard in
        precondition(!shard.isCold, "what is copied is in memory")
        if othersGoOn { shard.beginCopy() }
        entryCounts.append(UInt32(shard.table.count))
        tombstoneCounts.append(UInt32(shard.table.tombstoneCount))
      }
    }
    (self.entryCounts, self.tombstoneCounts) = (entryCounts, tombstoneCounts)
  }

  deinit {
    guard othersGoOn else { return }
    for number in 0..<Index.shardCount { index.withAnyShard(number) { $0.endCopy() } }
  }

  /// Calls `body` with each shard's table as it was, and lets go of it then: once for all.
  func forEachShard(
    _ body: (borrowing EntryTable) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard othersGoOn else { return try index.forEachShard(body) }
    for number in 0..<Index.shardCount {
      if let table = index.withAnyShard(number, { $0.takeCopy() }) { try body(table) }
    }
  }
}
