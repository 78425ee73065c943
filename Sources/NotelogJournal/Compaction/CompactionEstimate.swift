// What a compaction would do, before it does it: FORMAT.md §24.

/// What a compaction would do.
package struct CompactionEstimate: Sendable, Equatable {
  /// The segments that would be replaced.
  package internal(set) var segments: [UInt32] = []
  /// The bytes of live frames that would be copied.
  package internal(set) var copiedByteCount = 0
  /// The bytes of files that would be freed, about.
  package internal(set) var freedByteCount = 0
}
