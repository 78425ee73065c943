// Whether a footer lists all frames that are there: FORMAT.md §21.1, INV-S2, and §24.

import NotelogFormat
import NotelogStorage

/// Goes along a finished segment with its footer's entries, and looks at what lies between them: what a footer leaves out, nobody
/// copies, and its record would go with the segment.
///
/// Hardly anything is read for it. Frames follow each other; where the frames of one transaction end and those of another begin there is
/// room for a commit mark and no more, the mark is there. Other gaps are walked, header by header.
struct FooterCoverage: Sendable {
  private static let markByteCount = aligned(Layout.frameHeaderByteCount + CommitMark.byteCount)

  private let footerOffset: Int?
  private let hasMarks: Bool
  /// Where the frame listed last ends, and its transaction.
  private var end = Layout.firstFrameOffset
  private var sequence: UInt64?

  init(of segment: Segment?) {
    hasMarks = segment?.kind.isLog ?? false
    // Its footer was read a moment ago. Where the trailer can't be now, nothing is covered.
    footerOffset = (try? segment?.trailer())?.footerOffset
  }

  /// Whether no content frame lies between the entry before and this one, or the footer where this is nothing.
  mutating func reaches(_ entry: FooterEntry?, _ reader: inout SegmentReader) throws(StorageError) -> Bool {
    guard let footerOffset, let place = entry?.offset ?? footerOffset as Int?, place <= footerOffset else {
      return false
    }
    let gap = place - end
    let isSameTransaction = entry != nil && entry?.sequence == sequence
    let hasMark = hasMarks && sequence != nil && !isSameTransaction
    if gap != (hasMark ? Self.markByteCount : 0), try !isWithoutContent(to: place, &reader) { return false }
    guard let entry else { return true }
    end = place + entry.frameByteCount
    sequence = entry.sequence
    return true
  }

  /// Walks the frames from the last entry's end to a place.
  private func isWithoutContent(to place: Int, _ reader: inout SegmentReader) throws(StorageError) -> Bool {
    var next = end
    while next < place {
      guard case .frame(let header) = try reader.frame(at: next), !header.kind.isContent else { return false }
      next += header.frameByteCount
    }
    return next == place
  }
}
