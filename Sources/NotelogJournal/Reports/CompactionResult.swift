// What a compaction did.

/// What a compaction did.
package struct CompactionResult: Sendable {
  /// Segments that were replaced, and those that took their place.
  package var removedSegments = 0
  package var addedSegments = 0
  /// By how much the files of the latter are shorter.
  package var reclaimedByteCount = 0
  /// Segments that are damaged and were left as they are.
  package var damagedSegments: [UInt32] = []
  /// The bytes of the files before and after.
  package var byteCountBefore = 0
  package var byteCountAfter = 0
  /// The bytes of live frames that were copied, and of other segments' footers that were read for it.
  package var copiedByteCount = 0
  /// Whether the budget was spent, or the caller said stop, before everything was done.
  package var isUnfinished = false
}
