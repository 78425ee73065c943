// CRC-32, zlib's: FORMAT.md §1.

internal import CSystem
internal import CZlib

/// The running value of a CRC-32.
///
/// Sixteen bytes a step where the processor multiplies without carries, and by zlib where it does not; a few bytes by
/// tables, as calling zlib for them costs more than the work (docs/decisions/0020).
package struct Checksum: Sendable {
  package private(set) var value: UInt32

  package init() { value = 0 }

  /// Goes on from an earlier value.
  init(continuing value: UInt32) { self.value = value }

  private static let canFold = checksum_can_fold()
  /// From how many bytes on folding pays.
  private static let foldLimit = 64

  /// The checksum of some bytes.
  @inline(__always)
  package static func of(_ bytes: RawSpan) -> UInt32 {
    var checksum = Checksum()
    checksum.update(bytes)
    return checksum.value
  }

  /// Takes in more bytes.
  package mutating func update(_ bytes: RawSpan) {
    if bytes.byteCount < Self.foldLimit {
      value = ~ChecksumTables.step(~value, bytes)
    } else if Self.canFold {
      fold(bytes)
    } else {
      updateByZlib(bytes)
    }
  }

  /// Takes in an integer, little-endian.
  package mutating func update<Value: FixedWidthInteger & BitwiseCopyable>(_ integer: Value) {
    // SAFETY: the span covers a local of known size and does not outlive the closure.
    unsafe withUnsafeBytes(of: integer.littleEndian) { update(unsafe $0.bytes) }
  }

  private mutating func fold(_ bytes: RawSpan) {
    let foldedByteCount = bytes.byteCount & ~15
    var first: UInt64 = 0
    var second: UInt64 = 0
    // SAFETY: the pointer covers the span's bytes, of which there are at least 64, and does not outlive the call.
    unsafe bytes.withUnsafeBytes {
      unsafe checksum_fold(~value, $0.baseAddress, foldedByteCount, &first, &second)
    }
    let register = ChecksumTables.step(ChecksumTables.step(0, first), second)
    value = ~ChecksumTables.step(register, bytes.extracting(droppingFirst: foldedByteCount))
  }

  /// The same by zlib.
  mutating func updateByZlib(_ bytes: RawSpan) {
    // SAFETY: the pointer covers the span's bytes and does not outlive the call. An empty span may have no address,
    // which zlib takes as a request for the initial value, so it is left out.
    unsafe bytes.withUnsafeBytes { buffer in
      guard let start = buffer.baseAddress, buffer.count > 0 else { return }
      value = UInt32(
        truncatingIfNeeded: unsafe crc32_z(
          uLong(value), start.assumingMemoryBound(to: UInt8.self), buffer.count))
    }
  }
}
