// The segments of an open store, by number.

import NotelogBase
import NotelogFormat
import Synchronization

/// The segments that reads and compaction find frames in.
final class SegmentTable: Sendable {
  /// Segments in ascending order of number.
  private struct Row: Sendable {
    var numbers: [UInt32] = []
    var segments: [Segment] = []

    /// The first place whose number is not less.
    func place(of number: UInt32) -> Int { numbers.firstPlace(notBelow: number) { $0 } }

    func find(_ number: UInt32) -> Segment? {
      let place = place(of: number)
      return place < numbers.count && numbers[place] == number ? segments[place] : nil
    }
  }

  private let row: ReadMostly<Row>
  private let liveByteTotal: Atomic<Int>
  private let diedByteTotal = Atomic<Int>(0)
  private let finishedByteTotal: Atomic<Int>
  private let expiredByteTotal: Atomic<Int>

  /// A table of some segments.
  init(_ segments: [Segment] = []) {
    let segments = segments.sorted { $0.number < $1.number }
    row = ReadMostly(
      Row(numbers: segments.map(\.number), segments: segments))
    liveByteTotal = Atomic(segments.reduce(0) { $0 + $1.liveBytes })
    finishedByteTotal = Atomic(segments.reduce(0) { $0 + $1.byteCount })
    expiredByteTotal = Atomic(segments.reduce(0) { $0 + $1.expiredByteCount })
  }

  /// The bytes of all live frames, with their footer entries.
  var liveByteCount: Int { liveByteTotal.load(ordering: .relaxed) }
  /// How many bytes have died since the table was made: it only grows.
  var diedByteCount: Int { diedByteTotal.load(ordering: .relaxed) }
  /// The bytes of all finished segments' files.
  var finishedByteCount: Int { finishedByteTotal.load(ordering: .relaxed) }
  /// Those of them, in a store that keeps versions, that compaction would leave; what lives in the head with
  /// them.
  var unexpiredByteCount: Int {
    let expiredByteCount = max(0, expiredByteTotal.load(ordering: .relaxed))
    return max(liveByteCount, finishedByteCount - expiredByteCount - count * Segment.overheadByteCount)
  }

  /// Sets how many bytes of a segment compaction would not leave.
  func setExpired(_ byteCount: Int, in segment: Segment) {
    expiredByteTotal.add(byteCount - segment.setExpired(byteCount), ordering: .relaxed)
  }

  /// Counts bytes of a segment's chunks that became live, or died.
  func addChunks(_ byteCount: Int, in number: UInt32) {
    self[number]?.addChunks(byteCount)
    count(byteCount)
  }

  /// Counts bytes of a segment that became live, or died.
  func addLive(_ byteCount: Int, in segment: Segment?) {
    segment?.addLive(byteCount)
    count(byteCount)
  }

  /// Counts bytes that became live in a segment in the place of others that died: in one step, as writers
  /// that look whether there is room must not see both.
  func replaceLive(_ oldByteCount: Int, in old: Segment?, with newByteCount: Int, in segment: Segment) {
    segment.addLive(newByteCount)
    old?.addLive(-oldByteCount)
    liveByteTotal.add(newByteCount - oldByteCount, ordering: .relaxed)
    diedByteTotal.add(oldByteCount, ordering: .relaxed)
  }

  private func count(_ byteCount: Int) {
    liveByteTotal.add(byteCount, ordering: .relaxed)
    if byteCount < 0 { diedByteTotal.add(-byteCount, ordering: .relaxed) }
  }

  subscript(number: UInt32) -> Segment? { row.read { $0.find(number) } }

  var count: Int { row.read { $0.numbers.count } }

  var all: [Segment] { row.read { $0.segments } }

  func insert(_ segment: Segment) {
    let replacedByteCount = row.change { row in
      let place = row.place(of: segment.number)
      if place < row.numbers.count, row.numbers[place] == segment.number {
        let replaced = row.segments[place]
        row.segments[place] = segment
        return replaced.byteCount
      }
      row.numbers.insert(segment.number, at: place)
      row.segments.insert(segment, at: place)
      return 0
    }
    finishedByteTotal.add(segment.byteCount - replacedByteCount, ordering: .relaxed)
  }

  func remove(_ number: UInt32) {
    row.change { row in
      guard row.find(number) != nil else { return }
      let place = row.place(of: number)
      row.numbers.remove(at: place)
      row.segments.remove(at: place)
    }
  }

  /// Counts bytes of segments that were removed no longer: only once their files are gone may writers take
  /// the room.
  func noteDeleted(_ byteCount: Int, expired expiredByteCount: Int) {
    finishedByteTotal.subtract(byteCount, ordering: .relaxed)
    expiredByteTotal.subtract(expiredByteCount, ordering: .relaxed)
  }
}

// MARK: - Where a frame is, in eight bytes: docs/format-derived.md §31, the place in an index entry.

/// The segment and offset of a frame, with what the index must know of it without reading it.
struct FrameAddress: Hashable, Sendable, BitwiseCopyable {
  /// Segment (32 bits, highest), flags (4 bits), offset / 8 (28 bits). Zero is no place: there is no segment
  /// 0.
  let bits: UInt64

  /// No place at all.
  static let none = FrameAddress(bits: 0)

  private static let tombstoneBit: UInt64 = 1 << 28
  private static let offsetMask: UInt64 = (1 << 28) - 1

  init(bits: UInt64) { self.bits = bits }

  init(segment: UInt32, offset: Int, isTombstone: Bool = false) {
    precondition(
      offset >= 0 && offset % 8 == 0 && offset < FormatLimits.maximumSegmentByteCount, "a frame is aligned")
    bits = UInt64(segment) << 32 | (isTombstone ? Self.tombstoneBit : 0) | UInt64(offset >> 3)
  }

  var segment: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) }
  var offset: Int { Int(bits & Self.offsetMask) << 3 }
  var isTombstone: Bool { bits & Self.tombstoneBit != 0 }
  var isNone: Bool { bits == 0 }
  /// Whether it can be in a checkpoint: a segment, and no flag that has no meaning yet.
  var isValid: Bool { segment != 0 && bits & (0b1110 << 28) == 0 }
}

// MARK: - Where a record's newest frame is, and what its header says.

/// A frame's place with what the index does not hold: it is read from the frame's header when it is needed.
struct Location: Equatable, Sendable, BitwiseCopyable {
  let place: FrameAddress
  let payloadByteCount: UInt32
  let entryByteCount: UInt32
  let sequence: UInt64
  let collection: UInt16
  /// Of a chunk, its number: a large value has many frames, all of its id.
  let chunk: ChunkMark?

  var segment: UInt32 { place.segment }
  var offset: UInt32 { UInt32(place.offset) }
  var isTombstone: Bool { place.isTombstone }

  init(_ entry: FooterEntry, segment: UInt32) {
    place = FrameAddress(segment: segment, offset: entry.offset, isTombstone: entry.kind == .tombstone)
    payloadByteCount = UInt32(entry.payloadByteCount)
    entryByteCount = UInt32(entry.entryByteCount)
    sequence = entry.sequence
    collection = entry.collection
    chunk = entry.chunk
  }

  /// Whether the frame is newer than another of the same id: by its transaction, or by its place in it.
  func supersedes(_ other: Location) -> Bool {
    if sequence != other.sequence { return sequence > other.sequence }
    return segment == other.segment && offset > other.offset
  }

  /// The bytes of the frame, padding included.
  var frameByteCount: Int { aligned(Layout.frameHeaderByteCount + Int(payloadByteCount)) }
  /// The bytes that count as live: the frame and its footer entry.
  var liveByteCount: Int { frameByteCount + Int(entryByteCount) }
}

// MARK: - A frame that is laid out and has no place yet: FORMAT.md §5.

/// A frame whose header waits for sequence number and place.
struct PendingFrame: BitwiseCopyable {
  var header: FrameHeader
  var start: Int
  var envelopeByteCount: Int
  /// Whether some of the record's last version is in it, as it was.
  var carries = false

  /// Where its payload is in the bytes that it is laid out in.
  var payload: Range<Int> {
    let payloadStart = start + Layout.frameHeaderByteCount
    return payloadStart..<payloadStart + header.payloadByteCount
  }

  /// Where its body is.
  var body: Range<Int> {
    payload.lowerBound + envelopeByteCount..<payload.upperBound - header.sealByteCount
  }
}
