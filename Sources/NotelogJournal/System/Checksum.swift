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
