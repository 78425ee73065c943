// CRC-32 by zlib: FORMAT.md §1.

internal import CZlib

/// The running value of a CRC-32.
package struct Checksum: Sendable {
  package private(set) var value: UInt32

  package init() { value = 0 }

  /// Goes on from an earlier value.
  init(continuing value: UInt32) { self.value = value }

  /// The checksum of some bytes.
  @inline(__always)
  package static func of(_ bytes: RawSpan) -> UInt32 {
    var checksum = Checksum()
    checksum.update(bytes)
    return checksum.value
  }

  /// Takes in more bytes.
  @inline(__always)
  package mutating func update(_ bytes: RawSpan) {
    // SAFETY: the pointer covers the span's bytes and does not outlive the call. An empty span may have no address,
    // which zlib takes as a request for the initial value, so it is left out.
    unsafe bytes.withUnsafeBytes { buffer in
      guard let start = buffer.baseAddress, buffer.count > 0 else { return }
      value = UInt32(
        truncatingIfNeeded: unsafe crc32_z(
          uLong(value), start.assumingMemoryBound(to: UInt8.self), buffer.count))
    }
  }

  /// Takes in an integer, little-endian.
  @inline(__always)
  package mutating func update<Value: FixedWidthInteger & BitwiseCopyable>(_ integer: Value) {
    // SAFETY: the pointer covers a local of known size and does not outlive the call.
    unsafe withUnsafeBytes(of: integer.littleEndian) { buffer in
      guard let start = buffer.baseAddress else { return }
      value = UInt32(
        truncatingIfNeeded: unsafe crc32_z(
          uLong(value), start.assumingMemoryBound(to: UInt8.self), buffer.count))
    }
  }
}

/// The same checksum for a few bytes at a time, where calling zlib costs more than the work: eight bytes a step, by
/// tables (Kounavis and Berry, 2005).
enum ShortChecksum {
  /// Eight tables of 256 entries: entry *n* of table *k* is what the byte *n* becomes when *k* bytes follow it.
  private static let tables: InlineArray<2048, UInt32> = {
    var tables = InlineArray<2048, UInt32>(repeating: 0)
    for byte in 0..<256 {
      tables[byte] = (0..<8).reduce(UInt32(byte)) { value, _ in
        value & 1 != 0 ? 0xEDB8_8320 ^ value >> 1 : value >> 1
      }
    }
    for entry in 256..<2048 {
      let before = tables[entry - 256]
      tables[entry] = tables[Int(before & 0xFF)] ^ before >> 8
    }
    return tables
  }()

  /// Goes on from a checksum with eight bytes, given as a little-endian integer.
  @inline(__always)
  static func update(_ checksum: UInt32, _ word: UInt64) -> UInt32 {
    let mixed = word ^ UInt64(~checksum)
    var value: UInt32 = 0
    for index in 0..<8 {
      let byte = Int(truncatingIfNeeded: mixed >> UInt64(8 * index) & 0xFF)
      value ^= tables[(7 - index) << 8 | byte]
    }
    return ~value
  }
}
