// What a footer lists is where a frame can be: FORMAT.md §21.1.

@testable import NotelogBase
@testable import NotelogFormat
import Testing

@testable import Notelog

@Suite struct `Footer` {
  private static func entry(
    kind: UInt8 = 1, offset: UInt32 = 4608, payloadByteCount: UInt32 = 16, flags: UInt32 = 0,
    envelope: [UInt8] = []
  ) -> FooterEntry? {
    var bytes = [UInt8](repeating: 0, count: Layout.footerEntryByteCount) + envelope
    bytes.withBytes(in: 0..<bytes.count) { bytes in
      bytes.store(offset / 8 | UInt32(kind) << 28 | flags, at: 8)
      bytes.store(payloadByteCount, at: 12)
    }
    return FooterEntry(bytes.rawSpan, at: 0)
  }

  /// A footer whose checksums fit and which lists a frame beyond 2 GiB trapped whoever indexed it: a place in
  /// the index has no room for such an offset, and the entry was not compared with what it has room for.
  @Test(arguments: [0, 4600, 0x7FFF_FFF8] as [UInt32])
  func `an entry where no frame can be is none`(offset: UInt32) {
    #expect(Self.entry(offset: offset) == nil)
  }

  @Test func `an entry of no content frame is none`() {
    #expect(Self.entry(kind: 0) == nil)
    #expect(Self.entry(flags: 1 << 31) == nil)
    #expect(Self.entry(kind: 2) == nil)
    #expect(Self.entry(kind: 2, payloadByteCount: 0)?.kind == .tombstone)
    #expect(Self.entry(payloadByteCount: UInt32(FrameKind.record.maximumPayloadByteCount) + 1) == nil)
    #expect(
      Self.entry(kind: 3, payloadByteCount: UInt32(FormatLimits.maximumChunkPayloadByteCount) + 1) == nil)
  }

  @Test func `an entry has as much of an envelope as that says`() {
    let flag: UInt32 = 1 << 30
    #expect(Self.entry(envelope: [6, 0, 0, 0, 1, 2])?.entryByteCount == Layout.footerEntryByteCount)
    #expect(Self.entry(flags: flag, envelope: [6, 0, 0, 0, 1, 2, 3])?.envelopeByteCount == 6)
    #expect(Self.entry(flags: flag, envelope: [6, 0, 0, 0, 1]) == nil)
    #expect(Self.entry(flags: flag, envelope: [3, 0, 0, 0]) == nil)
    #expect(Self.entry(flags: flag, envelope: [4, 0, 0]) == nil)
    #expect(Self.entry(payloadByteCount: 5, flags: flag, envelope: [6, 0, 0, 0, 1, 2]) == nil)
    #expect(Self.entry(kind: 2, payloadByteCount: 0, flags: flag, envelope: [4, 0, 0, 0]) == nil)
    #expect(Self.entry(kind: 3, flags: flag, envelope: [5, 0, 0, 0, 1, 0, 0, 0])?.chunk?.number == 5)
    #expect(Self.entry(kind: 3, flags: flag, envelope: [5, 0, 0, 0, 1, 0, 0]) == nil)
    #expect(Self.entry(kind: 3, payloadByteCount: 7, flags: flag, envelope: [5, 0, 0, 0, 1, 0, 0, 0]) == nil)
  }

  @Test func `an entry keeps the highest of all that it says`() {
    var header = FrameHeader(
      .record, collection: UInt16(FormatLimits.maximumCollection),
      payloadByteCount: FormatLimits.maximumRecordByteCount,
      id: ID16(low: .max, high: .max))
    header.sequence = UInt64(FormatLimits.maximumSequence)
    let last =
      FormatLimits.maximumSegmentByteCount - FormatLimits.maximumRecordByteCount - Layout.frameHeaderByteCount
    let entry = FooterEntry(header, offset: last, envelopeByteCount: 0)
    var buffer = Buffer()
    entry.append(to: &buffer, envelope: RawSpan())
    #expect(buffer.count == Layout.footerEntryByteCount)
    #expect(FooterEntry(buffer.bytes, at: 0) == entry)
  }

  @Test func `an entry anywhere else is one`() {
    #expect(Self.entry(offset: 4608)?.offset == 4608)
    #expect(Self.entry(offset: 0x8000_0000 - 56)?.frameByteCount == 56)
    #expect(Self.entry(offset: 0x8000_0000 - 56, payloadByteCount: 17) == nil)
  }
}
