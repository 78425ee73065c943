// The marks that close a transaction and a store: FORMAT.md §6.

package import NotelogBase

/// The payload of a commit mark.
package struct CommitMark: Equatable, Sendable {
  package static let byteCount = 24
  /// What may stand behind it: room for a seal of the commit, which this version writes none of and does not read.
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

  @_lifetime(bytes: copy bytes)
  package func write(into bytes: inout MutableRawSpan, at offset: Int) {
    bytes.store(UInt32(frameCount), at: offset)
    bytes.store(UInt32(firstOffset), at: offset + 4)
    floor.write(into: &bytes, at: offset + 8)
    bytes.store(time, at: offset + 16)
  }
}

/// The payload of a close mark.
package struct CloseMark: Equatable, Sendable {
  package static let byteCount = 16

  package var place: LogPosition
  package var liveCount: Int
  package var liveChecksum: UInt32

  package init(place: LogPosition, liveCount: Int, liveChecksum: UInt32) {
    self.place = place
    self.liveCount = liveCount
    self.liveChecksum = liveChecksum
  }

  package init?(payload bytes: RawSpan) {
    guard bytes.byteCount == Self.byteCount else { return nil }
    place = LogPosition(bytes, at: 0)
    liveCount = Int(bytes.load(UInt32.self, at: 8))
    liveChecksum = bytes.load(UInt32.self, at: 12)
    guard place.isValid else { return nil }
  }

  /// Whether the store was closed with this live set.
  package func speaks(of live: LiveSet) -> Bool { liveCount == live.count && liveChecksum == live.checksum }

  @_lifetime(bytes: copy bytes)
  package func write(into bytes: inout MutableRawSpan, at offset: Int) {
    place.write(into: &bytes, at: offset)
    bytes.store(UInt32(liveCount), at: offset + 8)
    bytes.store(liveChecksum, at: offset + 12)
  }

  /// Appends the mark's frame to a buffer whose end will be at `offset` of a segment.
  package func appendFrame(to buffer: inout Buffer, sequence: UInt64, salt: SegmentSalt, place offset: Int) {
    let start = buffer.count
    buffer.appendZeros(Layout.frameHeaderByteCount + Self.byteCount)
    var bytes = buffer.mutableBytes
    let payloadStart = start + Layout.frameHeaderByteCount
    write(into: &bytes, at: payloadStart)
    FrameHeader(
      .close, payloadByteCount: Self.byteCount, sequence: sequence,
      payloadChecksum: Checksum.of(bytes.bytes.extracting(payloadStart..<payloadStart + Self.byteCount))
    ).write(into: &bytes, at: start, salt: salt, place: offset)
  }
}
