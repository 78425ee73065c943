// What a footer lists is where a frame can be: FORMAT.md §4.

import Testing

@testable import NotelogJournal

@Suite struct `Footer` {
  private static func entry(offset: UInt32, payloadByteCount: UInt32 = 16) -> FooterEntry? {
    var bytes = [UInt8](repeating: 0, count: Layout.footerEntryByteCount)
    bytes.withBytes(in: 0..<bytes.count) { bytes in
      bytes.store(FrameKind.record.rawValue, at: 0)
      bytes.store(offset, at: 4)
      bytes.store(payloadByteCount, at: 8)
    }
    return bytes.withBytes { FooterEntry($0, at: 0) }
  }

  /// A footer whose checksums fit and which lists a frame at an odd offset, or beyond 2 GiB, trapped whoever indexed it: a place in
  /// the index has no room for such an offset, and the entry was not compared with what it has room for.
  @Test(arguments: [0, 4600, 4609, 4612, 0x7FFF_FFF8, 0x8000_0000, 0xFFFF_FFF8, 0xFFFF_FFFF] as [UInt32])
  func `an entry where no frame can be is none`(offset: UInt32) {
    #expect(Self.entry(offset: offset) == nil)
  }

  @Test func `an entry anywhere else is one`() {
    #expect(Self.entry(offset: 4608)?.offset == 4608)
    #expect(Self.entry(offset: 0x8000_0000 - 56)?.frameByteCount == 56)
    #expect(Self.entry(offset: 0x8000_0000 - 56, payloadByteCount: 17) == nil)
  }
}
