// The marks that close a transaction and a store: FORMAT.md §6.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

package import NotelogBase

/// The payload of a commit mark.
package struct CommitMark: Equatable, Sendable {
  package static let byteCount = 24
  /// What its frame takes.
  package static let frameByteCount = aligned(Layout.frameHeaderByteCount + byteCount)
  /// What may stand behind it: room for a seal of the commit, which this version writes none of and does not
  /// read.
  package static let byteCountMax = 128

  package var frameCount: Int
  package var firstOffset: Int
  package var floor: LogPosition
  /// When it was committed, in milliseconds since 1970; 0 where the store keeps no times.
  package var time: UInt64

  package init(frameCount: Int, firstOffset: Int, floor: LogPosition, time: UInt64 = 0) {
    self.frameCount = frameCount
    self.firstOffset = firstOffset
    self.floor = floor
    self.time = time
  }

  package init?(payload bytes: RawSpan) {
    guard (Self.byteCount...Self.byteCountMax).contains(bytes.byteCount) else { return nil }
    frameCount = Int(bytes.load(UInt32.self, at: 0))
    firstOffset = Int(bytes.load(UInt32.self, at: 4))
    floor = LogPosition(bytes, at: 8)
    time = bytes.load(UInt64.self, at: 16)
    guard floor.isValid else { return nil }
  }

  package func write(into bytes: inout MutableRawSpan, at offset: Int) {
    bytes.store(UInt32(frameCount), at: offset)
    bytes.store(UInt32(firstOffset), at: offset + 4)
    floor.write(into: &bytes, at: offset + 8)
    bytes.store(time, at: offset + 16)
  }
}

/// A close mark: its payload, and the number in its header.
package struct CloseMark: Equatable, Sendable {
  package static let byteCount = 16
  /// What its frame takes.
  package static let frameByteCount = aligned(Layout.frameHeaderByteCount + byteCount)

  package var place: LogPosition
  package var liveCount: Int
  package var liveChecksum: UInt32
  /// The number that the next transaction gets.
  package var nextSequence: UInt64

  /// Where its frame lies in its segment.
  package var range: Range<Int> { place.offset..<place.offset + Self.frameByteCount }

  package init(place: LogPosition, live: LiveSet, nextSequence: UInt64) {
    self.place = place
    liveCount = live.count
    liveChecksum = live.checksum
    self.nextSequence = nextSequence
  }

  package init?(_ header: FrameHeader, payload bytes: RawSpan) {
    guard bytes.byteCount == Self.byteCount else { return nil }
    nextSequence = header.sequence
    place = LogPosition(bytes, at: 0)
    liveCount = Int(bytes.load(UInt32.self, at: 8))
    liveChecksum = bytes.load(UInt32.self, at: 12)
    guard place.isValid else { return nil }
  }

  /// Whether the store was closed with this live set.
  package func speaks(of live: LiveSet) -> Bool { liveCount == live.count && liveChecksum == live.checksum }

  /// Appends the mark's frame to a buffer whose end will be at the mark's place.
  package func appendFrame(to buffer: inout Buffer, salt: SegmentSalt) {
    let start = buffer.appendZeros(Layout.frameHeaderByteCount + Self.byteCount)
    var bytes = buffer.mutableBytes
    let payloadStart = start + Layout.frameHeaderByteCount
    place.write(into: &bytes, at: payloadStart)
    bytes.store(UInt32(liveCount), at: payloadStart + 8)
    bytes.store(liveChecksum, at: payloadStart + 12)
    let header = FrameHeader(
      .close, sequence: nextSequence, of: bytes.bytes.extracting(droppingFirst: payloadStart))
    header.write(into: &bytes, at: start, salt: salt, place: place.offset)
  }
}

// MARK: - What a chunk's frame says of it before the sealed bytes: FORMAT.md §8.

/// A chunk's number, and whether it ends its value. A footer keeps it where it keeps a record's envelope.
public struct ChunkMark: Equatable, Sendable, BitwiseCopyable {
  public static let byteCount = 8

  public let number: UInt32
  public let isLast: Bool

  public init(_ number: UInt32, isLast: Bool) {
    self.number = number
    self.isLast = isLast
  }

  /// Reads what a chunk's payload begins with; nothing where that can't be one.
  public init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= Self.byteCount, bytes.load(UInt32.self, at: 4) <= 1,
      bytes.load(UInt32.self, at: 0) < FormatLimits.maximumChunks
    else { return nil }
    number = bytes.load(UInt32.self, at: 0)
    isLast = bytes.load(UInt32.self, at: 4) == 1
  }

  public func write(into bytes: inout MutableRawSpan, at offset: Int) {
    bytes.store(number, at: offset)
    bytes.store(isLast ? 1 : 0 as UInt32, at: offset + 4)
  }
}

extension FrameHeader {
  /// How many bytes of a payload that checks a footer keeps: of a record its envelope, of a chunk its mark.
  public func listedByteCount(inPayload payload: RawSpan) -> Int {
    switch kind {
    case .record: bodyRange(in: payload)?.lowerBound ?? 0
    case .chunk: ChunkMark(payload) == nil ? 0 : ChunkMark.byteCount
    case .tombstone, .liveChange, .commit, .liveSet, .close, .footer: 0
    }
  }
}
