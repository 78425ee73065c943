// Bytes of a segment in which frames were and none can be read: what their neighbours say of them. FORMAT.md §12.

/// A gap between the frames of a segment.
package struct LostBytes: Sendable {
  package let range: Range<Int>
  /// The frames before and behind it; nothing where the gap is the first thing, or the last.
  package let previous: FrameHeader?
  package let next: FrameHeader?

  package init(range: Range<Int>, previous: FrameHeader?, next: FrameHeader?) {
    (self.range, self.previous, self.next) = (range, previous, next)
  }

  /// Whether a record, a deletion or a chunk may have been in it. In a segment of the log the neighbours can tell that nothing was
  /// lost but a mark, which no record depends on once it is below the floor.
  package func mayHoldContent(in kind: SegmentKind) -> Bool {
    guard kind.isLog, let previous else { return true }
    let markByteCount = previous.kind.isInTransaction ? CommitMark.byteCount : CloseMark.byteCount
    guard range.count == aligned(Layout.frameHeaderByteCount + markByteCount) else { return true }
    if previous.kind.isInTransaction {
      // The transaction ends in the gap if another unit follows: then the gap is its mark, and has no room for more.
      return next.map { $0.kind == .commit || $0.sequence == previous.sequence } ?? false
    }
    // Between units, it is a close mark, unless the next frame may belong to a transaction that begins in the gap.
    return next.map { $0.kind == .commit || $0.kind.isInTransaction } ?? false
  }

  /// The highest sequence number that a frame in it can have had; nothing where its neighbours don't tell.
  package func highestSequence(in kind: SegmentKind) -> UInt64? { kind.isLog ? next?.sequence : nil }
}
