// Which of a record's frames in one transaction counts: the last one. FORMAT.md §12.2.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// The last frame of each id, for one transaction at a time.
///
/// What compaction has moved, a snapshot knows by its id and its sequence number, which a transaction that
/// writes a record twice gives to both frames.
struct LastFrames {
  private var segment: UInt32 = 0
  private var sequence: UInt64 = 0
  private var start = 0
  private var offsets: [ID16: Int] = [:]

  /// Whether a frame is the last of its id in its transaction.
  ///
  /// - Complexity: O(*n*) in the frames of the transaction for the first that is asked about, O(1) for those
  ///   behind it.
  mutating func isLast(_ entry: FooterEntry, in segment: Segment) throws(StorageError) -> Bool {
    // Compaction copies one frame of each record.
    if segment.kind == .compacted { return true }
    if self.segment != segment.number || sequence != entry.sequence || entry.offset < start {
      try collect(from: entry, in: segment)
    }
    return offsets[entry.id] == entry.offset
  }

  /// Goes through the transaction from a frame of it on, past anything broken.
  private mutating func collect(from entry: FooterEntry, in segment: Segment) throws(StorageError) {
    self.segment = segment.number
    sequence = entry.sequence
    start = entry.offset
    offsets.removeAll(keepingCapacity: true)
    var walk = SegmentWalk(
      segment.file, salt: segment.salt, end: try segment.file.byteCount(), from: start)
    while let header = try walk.advance(), header.sequence == sequence, header.kind.isInTransaction {
      if header.kind.isVersion { offsets[header.id] = walk.place }
    }
  }
}
