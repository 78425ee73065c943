// What a store counts while it is open.

/// What a store did since it was opened. All counts begin at 0 and only grow; ``StoreInfo`` has what a store holds.
public struct StoreCounters: Sendable {
  /// How many transactions were committed.
  public internal(set) var commits = 0
  /// How many bytes they brought into the log.
  public internal(set) var bytesCommitted = 0
  /// How many bytes compaction wrote beside them.
  public internal(set) var bytesCopied = 0
  /// How often a commit, or several at once, waited for a sync.
  public internal(set) var syncs = 0
  /// How long the slowest of them took.
  public internal(set) var slowestSync = Duration.zero
  /// How many runs of compaction replaced segments.
  public internal(set) var compactions = 0
  /// By how many bytes they made the store's files shorter.
  public internal(set) var bytesReclaimed = 0
  /// How often the log was recovered because it had not been closed in order: at opening, and where the lock was taken again from a process
  /// that had ended.
  public internal(set) var recoveries = 0
  /// How many places are known to be damaged, those that opening found among them; ``Store/damage`` says which.
  public internal(set) var damagedPlaces = 0
  /// How many events ``Store/Options/observer`` was not told of, because a thousand waited for it already.
  public internal(set) var untoldEvents = 0
}
