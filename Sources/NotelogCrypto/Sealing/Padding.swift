// Padding that hides lengths: Padmé with a minimum bucket (FORMAT.md 7.3).

import NotelogBase

/// Pads a value before sealing, so that its length says little: at most twelve percent are added, and what is
/// smaller than the minimum bucket all looks alike.
package enum Padding {
  /// The end of the value: one byte 0x80, then zeros.
  static let marker: UInt8 = 0x80

  /// The padded length of a value of `count` bytes, its end mark included.
  ///
  /// - Parameters:
  ///   - count: The value's length in bytes.
  ///   - minimumBucket: The length that is never gone below.
  /// - Returns: At least `count + 1`.
  package static func paddedCount(of count: Int, minimumBucket: Int) -> Int {
    precondition(count >= 0 && count < 1 << 40 && minimumBucket >= 0 && minimumBucket <= 1 << 20)
    let length = count + 1
    guard length > minimumBucket else { return minimumBucket }
    guard length > 1 else { return 1 }
    let exponent = log2(length)
    let freeBits = exponent - (log2(exponent) + 1)
    guard freeBits > 0 else { return length }
    let mask = (1 << freeBits) - 1
    return (length + mask) & ~mask
  }

  /// Writes the end mark and the zeros behind a value that already stands at the start of `bytes`.
  package static func pad(_ bytes: inout MutableRawSpan, valueCount: Int) {
    precondition(valueCount >= 0 && valueCount < bytes.byteCount)
    bytes.storeBytes(of: marker, toByteOffset: valueCount, as: UInt8.self)
    for offset in (valueCount + 1)..<max(valueCount + 1, bytes.byteCount) {
      bytes.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self)
    }
  }

  /// The length of the value in padded bytes.
  ///
  /// - Throws: ``CryptoError/tampered`` where there is no end mark. What was opened was authenticated, so
  ///   this says that whoever sealed it did not pad it.
  package static func valueCount(in padded: RawSpan) throws(CryptoError) -> Int {
    var offset = padded.byteCount - 1
    while offset >= 0, padded.byte(at: offset) == 0 { offset -= 1 }
    guard offset >= 0, padded.byte(at: offset) == marker else { throw .tampered }
    return offset
  }

  /// The exponent of the highest bit. Defined for values above zero, and zero at zero.
  private static func log2(_ value: Int) -> Int {
    value <= 0 ? 0 : Int.bitWidth - 1 - value.leadingZeroBitCount
  }
}
