// Reads units, transactions and close marks, with every check: FORMAT.md §6, and §12 above the floor.

package import NotelogStorage

/// A transaction's place in its segment.
package struct TransactionRange: Equatable, Sendable {
  package let sequence: UInt64
  /// Where its first frame starts.
  package let start: Int
  /// Where its commit mark starts.
  package let markStart: Int
  /// Where the next unit starts.
  package let end: Int
  package let mark: CommitMark
}

extension SegmentReader {
  /// What stands at a place where a unit may start.
  package enum Unit {
    case transaction(TransactionRange)
    case close(CloseMark, end: Int)
    /// The footer's frame, whole.
    case footer(FrameHeader, end: Int)
    /// Nothing but zeros, or nothing at all, up to the end.
    case nothing
    /// Something that is not whole.
    case broken
  }

  /// Reads the unit at a place, payloads and padding included.
  package mutating func unit(at start: Int) throws(StorageError) -> Unit {
    var place = start
    var sequence: UInt64?
    var frameCount = 0
    while true {
      switch try frame(at: place) {
      case .invalid: return .broken
      case .end, .zero:
        guard place == start else { return .broken }
        return try isZero(from: place) ? .nothing : .broken
      case .frame(let header):
        // Nobody acknowledged it yet: any byte that is not what was written tells a write that was torn.
        guard try isWhole(header, at: place), try brokenPadding(header, at: place) == nil else {
          return .broken
        }
        let end = place + header.frameByteCount
        switch header.kind {
        case .record, .tombstone, .chunk, .liveChange:
          guard sequence == nil || sequence == header.sequence else { return .broken }
          sequence = header.sequence
          frameCount += 1
          place = end
        case .commit:
          guard let mark = CommitMark(payload: try payload(of: header, at: place)),
            sequence == header.sequence, mark.frameCount == frameCount, mark.firstOffset == start
          else { return .broken }
          return .transaction(
            TransactionRange(
              sequence: header.sequence, start: start, markStart: place, end: end, mark: mark))
        case .close:
          guard frameCount == 0, let mark = CloseMark(payload: try payload(of: header, at: place)),
            mark.place.offset == place
          else { return .broken }
          return .close(mark, end: end)
        case .footer:
          return frameCount == 0 ? .footer(header, end: end) : .broken
        case .liveSet:
          return .broken
        }
      }
    }
  }
}
