// What a store counts while it is open.

/// What a store did since it was opened. All counts begin at 0 and only grow; ``StoreInfo`` has what a store holds.
public struct StoreCounters: Sendable {
  /// How many transactions were committed.
  public let commits: Int
  /// How many bytes they brought into the log.
  public let bytesCommitted: Int
  /// How many bytes compaction wrote beside them.
  public let bytesCopied: Int
  /// How often a commit, or several at once, waited for a sync.
  public let syncs: Int
  /// How long the slowest of them took.
  public let slowestSync: Duration
  /// How many runs of compaction replaced segments.
  public let compactions: Int
  /// By how many bytes they made the store's files shorter.
  public let bytesReclaimed: Int
  /// How often the log was recovered because it had not been closed in order: at opening, and where the lock was taken again from a process
  /// that had ended.
  public let recoveries: Int
  /// How many places are known to be damaged, those that opening found among them; ``Store/damage`` says which.
  public let damagedPlaces: Int
  /// How many events ``Store/Options/observer`` was not told of, because a thousand waited for it already.
  public let untoldEvents: Int
}

extension Store {
  /// Counts as of now, also of a store that was closed. No key is needed, and no file is read.
  ///
  /// - Complexity: O(1).
  public var counters: StoreCounters {
    let counts = journal.counts
    return StoreCounters(
      commits: counts.commits, bytesCommitted: counts.bytesCommitted, bytesCopied: counts.bytesCopied,
      syncs: counts.syncs, slowestSync: counts.slowestSync, compactions: counts.compactions,
      bytesReclaimed: counts.bytesReclaimed, recoveries: counts.recoveries,
      damagedPlaces: counts.damagedPlaces, untoldEvents: events?.untoldCount ?? 0)
  }
}
