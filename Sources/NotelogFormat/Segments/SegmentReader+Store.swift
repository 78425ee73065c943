// What a log segment says of the whole store: the live set it begins with, the close mark it may end in, and the floor that its
// marks name. FORMAT.md §4, §6 and §12.

package import NotelogStorage

/// A close mark that a segment ends in.
package struct Closing {
  package let mark: CloseMark
  /// Where its frame lies.
  package let range: Range<Int>
  /// The number that the next transaction gets.
  package let nextSequence: UInt64
}

extension SegmentReader {
  /// The close mark that the segment ends in; nothing where it ends otherwise.
  package mutating func closing() throws(StorageError) -> Closing? {
    let start = end - aligned(Layout.frameHeaderByteCount + CloseMark.byteCount)
    guard start > Layout.firstFrameOffset, start % 8 == 0, case .frame(let header) = try frame(at: start),
      header.kind == .close, try isWhole(header, at: start),
      let mark = CloseMark(payload: try payload(of: header, at: start)), mark.place.offset == start
    else { return nil }
    return Closing(mark: mark, range: start..<end, nextSequence: header.sequence)
  }

  /// The position that a frame names as the floor of its time; nothing where it is no witness or does not check.
  package mutating func witness(
    _ header: FrameHeader, at place: Int
  ) throws(StorageError) -> LogPosition? {
    switch header.kind {
    case .commit:
      guard try isWhole(header, at: place) else { return nil }
      return CommitMark(payload: try payload(of: header, at: place))?.floor
    case .close:
      guard try isWhole(header, at: place) else { return nil }
      let named = CloseMark(payload: try payload(of: header, at: place))?.place
      return named?.offset == place ? named : nil
    case .record, .tombstone, .chunk, .liveChange, .liveSet, .footer:
      return nil
    }
  }

  /// The live set that the segment begins with, and where its frame ends; nothing where it isn't the one that the
  /// segment's header speaks of.
  package mutating func liveSet(of segment: SegmentHeader) throws(StorageError) -> (set: LiveSet, end: Int)? {
    let place = Layout.firstFrameOffset
    guard case .frame(let header) = try frame(at: place), header.kind == .liveSet,
      try isWhole(header, at: place),
      let set = LiveSet(payload: try payload(of: header, at: place)), set.count == segment.liveCount,
      header.payloadChecksum == segment.liveChecksum
    else { return nil }
    return (set, place + header.frameByteCount)
  }

  /// Where the segment's first unit starts, or would: behind its live set, if that can be read.
  package mutating func unitsStart() throws(StorageError) -> Int {
    let place = Layout.firstFrameOffset
    guard case .frame(let header) = try frame(at: place), header.kind == .liveSet else { return place }
    return place + header.frameByteCount
  }

  /// Applies the live changes that begin between two places, past anything broken.
  package mutating func applyLiveChanges(
    to live: inout LiveSet, from start: Int, to limit: Int
  ) throws(StorageError) {
    var changes = LiveChanges(of: live)
    var place = start
    while let (next, header) = try nextFrame(from: place), next < limit {
      if header.kind == .liveChange, try isWhole(header, at: next),
        let change = LiveChange(payload: try payload(of: header, at: next))
      {
        changes.add(change)
      }
      place = next + header.frameByteCount
    }
    live = changes.result
  }
}
