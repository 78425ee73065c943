// What can't be known to be current, once frames are lost that may have superseded it: FORMAT.md §12, line 5.

import Synchronization

/// Below which sequence number records may have been superseded by frames that are lost.
///
/// Most of it is known when a store has been opened. What only turns out when a shard of the index is loaded,
/// comes later.
final class Staleness: Sendable {
  private let boundary = Atomic<UInt64>(0)
  /// The number of the first transaction after the opening; until that is known, all may be stale.
  private let opening = Atomic<UInt64>(.max)

  /// Records with a lower sequence number may be stale.
  var below: UInt64 { boundary.load(ordering: .relaxed) }

  /// Notes what the opening found, and where it ended.
  func begin(below: UInt64, at nextSequence: UInt64) {
    opening.store(nextSequence, ordering: .relaxed)
    boundary.max(below, ordering: .relaxed)
  }

  /// Notes that frames from before the opening are lost, whose records nothing names.
  func noteLoss() { boundary.max(opening.load(ordering: .relaxed), ordering: .relaxed) }
}
