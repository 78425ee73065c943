// What a compaction did, or would do.

/// What a compaction did.
public struct CompactionSummary: Sendable {
  /// The bytes of all segment files before.
  public internal(set) var byteCountBefore = 0
  /// The bytes of all segment files after, with the room that the newest one has to write into: of a small store they may be more than before.
  /// How much was freed is what ``StoreCounters/bytesReclaimed`` counts.
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
