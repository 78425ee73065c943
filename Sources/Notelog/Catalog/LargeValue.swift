// Where the chunks of one large value are: FORMAT.md §8.

import NotelogBase
import NotelogFormat

/// A large value's chunks, as runs of frames that follow one another: two gigabytes take a few thousand of them, and a few
/// dozen once compaction has put them together.
struct LargeValue {
  /// Chunks of one length, one behind the other in one segment.
  struct Extent: Equatable {
    let segment: UInt32
    var offset: UInt32
    var first: UInt32
    var count: UInt32
    let payloadByteCount: UInt32

    var end: UInt32 { first + count }
    var frameByteCount: Int { aligned(Layout.frameHeaderByteCount + Int(payloadByteCount)) }

    func place(of number: UInt32) -> FrameAddress {
      FrameAddress(segment: segment, offset: Int(offset) + Int(number - first) * frameByteCount)
    }
  }

  /// A chunk's place and the length of its payload.
  struct Chunk: Equatable {
    let place: FrameAddress
    let payloadByteCount: Int

    /// The bytes that count as live: the frame and its footer entry.
    var liveByteCount: Int {
      aligned(Layout.frameHeaderByteCount + payloadByteCount) + Layout.footerEntryByteCount
        + ChunkMark.byteCount
    }
  }

  /// The record that refers to it.
  var owner: ID16?
  /// The number of the chunk that says it is the last.
  private(set) var last: UInt32?
  /// In order of the chunks' numbers.
  private(set) var extents: [Extent] = []

  /// Whether no chunk is missing.
  var isComplete: Bool {
    var next: UInt32 = 0
    for extent in extents {
      guard extent.first == next else { return false }
      next = extent.end
    }
    return last.map { $0 + 1 == next } ?? false
  }

  /// Where a chunk is; nothing where there is none of this number.
  func chunk(_ number: UInt32) -> Chunk? {
    guard let index = index(covering: number) else { return nil }
    let extent = extents[index]
    return Chunk(place: extent.place(of: number), payloadByteCount: Int(extent.payloadByteCount))
  }

  /// Adds a chunk, unless one of its number is known.
  ///
  /// - Returns: Whether it was new.
  @discardableResult
  mutating func insert(_ mark: ChunkMark, _ chunk: Chunk) -> Bool {
    if mark.isLast { last = mark.number }
    let next = firstIndex(reaching: mark.number)
    if next < extents.count, extents[next].first <= mark.number { return false }
    if next > 0 {
      let before = extents[next - 1]
      if before.end == mark.number, before.payloadByteCount == UInt32(chunk.payloadByteCount),
        before.place(of: mark.number) == chunk.place
      {
        extents[next - 1].count += 1
        return true
      }
    }
    extents.insert(
      Extent(
        segment: chunk.place.segment, offset: UInt32(chunk.place.offset), first: mark.number, count: 1,
        payloadByteCount: UInt32(chunk.payloadByteCount)),
      at: next)
    return true
  }

  /// Forgets where a chunk is.
  mutating func remove(_ number: UInt32) {
    guard let index = index(covering: number) else { return }
    let extent = extents[index]
    var pieces: [Extent] = []
    if number > extent.first {
      var before = extent
      before.count = number - extent.first
      pieces.append(before)
    }
    if number + 1 < extent.end {
      var after = extent
      after.first = number + 1
      after.offset = UInt32(extent.place(of: number + 1).offset)
      after.count = extent.end - after.first
      pieces.append(after)
    }
    extents.replaceSubrange(index...index, with: pieces)
  }

  /// How many live bytes it has in each segment.
  func forEachSegment(_ body: (UInt32, Int) -> Void) {
    for extent in extents {
      let chunk = Chunk(place: extent.place(of: extent.first), payloadByteCount: Int(extent.payloadByteCount))
      body(extent.segment, Int(extent.count) * chunk.liveByteCount)
    }
  }

  private func index(covering number: UInt32) -> Int? {
    let index = firstIndex(reaching: number)
    return index < extents.count && extents[index].first <= number ? index : nil
  }

  /// The first index whose extent ends behind a number: it has that chunk, or comes behind where it would be.
  private func firstIndex(reaching number: UInt32) -> Int {
    extents.firstPlace(notBelow: number) { $0.end - 1 }
  }
}
