// What a compaction did, as the library says it.

/// What a compaction did.
public struct CompactionSummary: Sendable {
  /// The bytes of all segment files before.
  public let byteCountBefore: Int
  /// The bytes of all segment files after, with the room that the newest one has to write into: of a small store they may be more than before.
  /// How much was freed is what ``StoreCounters/bytesReclaimed`` counts.
  public let byteCountAfter: Int
  /// How many segments went.
  public let removedSegments: Int
  /// How many segments came.
  public let addedSegments: Int
  /// The numbers of segments that are damaged, and were left as they are.
  public let damagedSegments: [Int]
  /// Whether the budget was spent, or the caller said stop, before everything was done.
  public let isUnfinished: Bool
}

extension CompactionSummary {
  init(_ result: CompactionResult) {
    byteCountBefore = result.byteCountBefore
    byteCountAfter = result.byteCountAfter
    removedSegments = result.removedSegments
    addedSegments = result.addedSegments
    damagedSegments = result.damagedSegments.map(Int.init)
    isUnfinished = result.isUnfinished
  }
}
