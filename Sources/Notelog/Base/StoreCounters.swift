// What a store counts while it is open.

/// What a store did since it was opened. All counts begin at 0 and only grow; ``StoreInfo`` has what a store
/// holds.
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
  /// How often the log was recovered because it had not been closed in order: at opening, and where the lock
  /// was taken again from a process that had ended.
  public internal(set) var recoveries = 0
  /// How many places are known to be damaged, those that opening found among them; ``Store/damage`` says
  /// which.
  public internal(set) var damagedPlaces = 0
  /// How many events ``Store/Options/observer`` was not told of, because a thousand waited for it already.
  public internal(set) var droppedEvents = 0
}

// MARK: - What a compaction did, or would do.

/// What a compaction did.
public struct CompactionSummary: Sendable {
  /// The bytes of all segment files before.
  public internal(set) var byteCountBefore = 0
  /// The bytes of all segment files after, with the room that the newest one has to write into: of a small
  /// store they may be more than before. How much was freed is what ``StoreCounters/bytesReclaimed`` counts.
  public internal(set) var byteCountAfter = 0
  /// How many segments went.
  public internal(set) var removedSegments = 0
  /// How many segments came.
  public internal(set) var addedSegments = 0
  /// The numbers of segments that are damaged, and were left as they are.
  public internal(set) var damagedSegments: [Int] = []
  /// Whether the budget was spent, or the caller said stop, before everything was done.
  public internal(set) var isUnfinished = false
  /// By how much the files of the segments that came are shorter than those of the ones that went.
  var reclaimedByteCount = 0
  /// The bytes of live frames that were copied.
  var copiedByteCount = 0
}

/// What a compaction would do.
public struct CompactionForecast: Sendable, Equatable {
  /// The numbers of the segments that it would replace.
  public internal(set) var segments: [Int] = []
  /// How many live bytes it would copy.
  public internal(set) var copiedByteCount = 0
  /// How many bytes it would free, about.
  public internal(set) var freedByteCount = 0
}
