// How much space a store may take: FORMAT.md §24, "Space".

import Synchronization

/// The space contract, and where a store stands.
///
/// At most 1.5 × the live bytes and two segments. Compaction is due well before that; its output takes room while it is
/// written, so writers wait when that room is all that is left.
struct SpaceContract: Sendable {
  /// The bytes of the finished segments and of the head, with what was preallocated for it.
  let byteCount: Int
  let liveByteCount: Int
  /// The size of a segment.
  let segmentByteCount: Int

  /// What is taken beside what lives.
  var wastedByteCount: Int { byteCount - liveByteCount }
  /// What the store may take.
  var bound: Int { liveByteCount + liveByteCount / 2 + 2 * segmentByteCount }
  /// Whether compaction should begin.
  var isDue: Bool { byteCount > liveByteCount + liveByteCount * 2 / 5 + segmentByteCount }
  /// The room that writers may take before they have to wait; what is set aside for compaction's output is not theirs.
  var room: Int { bound - byteCount - outputByteCount }

  private var outputByteCount: Int {
    min(liveByteCount, segmentByteCount) + CompactionCandidate.overheadByteCount
  }
}

extension Log {
  /// Where the store stands with its space contract; a segment that grew for a large transaction counts as it is where
  /// that is asked for.
  func contract(longest: Int = 0) -> SpaceContract {
    let segments = catalog.segments
    return SpaceContract(
      byteCount: segments.finishedByteCount + allocatedByteCount.load(ordering: .relaxed),
      liveByteCount: segments.liveByteCount, segmentByteCount: max(aim, longest))
  }
}
