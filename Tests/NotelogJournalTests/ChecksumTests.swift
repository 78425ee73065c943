// The checksum is zlib's, however it is computed: FORMAT.md §1.

@testable import NotelogBase
@testable import NotelogFormat
@testable import Notelog
import Testing

@Suite struct ChecksumTests {
  private let bytes: [UInt8] = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 167 ^ $0 >> 3) }
  /// What a byte becomes, bit by bit: zlib's polynomial.
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { value, _ in (value & 1 != 0 ? 0xEDB8_8320 : 0) ^ value >> 1 }
  }

  /// The checksum after more bytes, a byte a step.
  private static func byBytes(_ value: UInt32, _ bytes: RawSpan) -> UInt32 {
    var register = ~value
    for index in 0..<bytes.byteCount {
      register = table[Int((register ^ UInt32(bytes.byte(at: index))) & 0xFF)] ^ register >> 8
    }
    return ~register
  }

  @Test func `a checksum is zlib's at every length and wherever the bytes start`() {
    for count in 0...4500 {
      for start in [0, 1, 7] {
        let all = bytes.rawSpan
        let part = all.extracting(start..<start + count)
        var ours = Checksum()
        ours.value = UInt32(truncatingIfNeeded: count &* 0x9E37_79B9)
        let zlib = Self.byBytes(ours.value, part)
        let tables = ~Checksum.step(~ours.value, part)
        ours.update(part)
        #expect(ours.value == zlib, "\(count) bytes from \(start)")
        #expect(tables == zlib, "\(count) bytes from \(start), by tables")
      }
    }
  }

  @Test func `a checksum taken in pieces is that of the whole`() {
    let all = bytes.rawSpan
    for cut in stride(from: 0, through: 5000, by: 61) {
      var checksum = Checksum()
      checksum.update(all.extracting(first: cut))
      checksum.update(all.extracting(droppingFirst: cut))
      #expect(checksum.value == Checksum.of(all), "cut at \(cut)")
    }
  }

  @Test func `a frame header's checksum is that of salt, place and 36 bytes`() {
    let all = bytes.rawSpan
    let header = all.extracting(100..<136)
    var checksum = Checksum()
    checksum.update(UInt64(0x0123_4567_89AB_CDEF))
    checksum.update(UInt32(4608))
    checksum.value = Self.byBytes(checksum.value, header)
    let salt = SegmentSalt(0x0123_4567_89AB_CDEF)
    #expect(salt.headerChecksum(header, place: 4608) == checksum.value)
    #expect(Checksum.ofByTables(4608, header, after: salt.share) == checksum.value)
  }

  @Test func `the checksum of the nine digits is the published one`() {
    #expect(Checksum.of(Array("123456789".utf8).rawSpan) == 0xCBF4_3926)
  }
}
