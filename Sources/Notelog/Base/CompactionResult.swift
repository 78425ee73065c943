// What a compaction did.

/// What a compaction did.
struct CompactionResult: Sendable {
  /// Segments that were replaced, and those that took their place.
  var removedSegments = 0
  var addedSegments = 0
  /// By how much the files of the latter are shorter.
  var reclaimedByteCount = 0
  /// Segments that are damaged and were left as they are.
  var damagedSegments: [UInt32] = []
  /// The bytes of the files before and after.
  var byteCountBefore = 0
  var byteCountAfter = 0
  /// The bytes of live frames that were copied, and of other segments' footers that were read for it.
  var copiedByteCount = 0
  /// Whether the budget was spent, or the caller said stop, before everything was done.
  var isUnfinished = false
}
