// What a compaction would do, before it does it: FORMAT.md §24.

/// What a compaction would do.
struct CompactionEstimate: Sendable, Equatable {
  /// The segments that would be replaced.
  var segments: [UInt32] = []
  /// The bytes of live frames that would be copied.
  var copiedByteCount = 0
  /// The bytes of files that would be freed, about.
  var freedByteCount = 0
}
