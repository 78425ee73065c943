// Sixteen bytes by value: store ids, record ids, value ids, hashes of names.

import NotelogBase

/// Sixteen bytes, kept as two words so that copying and comparing them costs nothing.
package struct Bytes16: Hashable, Sendable {
  /// Bytes 0 to 7, as a little-endian word.
  package let low: UInt64
  /// Bytes 8 to 15, as a little-endian word.
  package let high: UInt64

  package static let zero = Bytes16(low: 0, high: 0)

  package init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  /// Reads the sixteen bytes at an offset, which must lie within `bytes`.
  package init(_ bytes: RawSpan, at offset: Int = 0) {
    self.init(low: bytes.load(UInt64.self, at: offset), high: bytes.load(UInt64.self, at: offset + 8))
  }

  /// The first sixteen bytes of an array that has at least as many.
  package init(_ bytes: [UInt8]) { self.init(bytes.rawSpan) }

  /// The bytes, in order.
  package var array: [UInt8] {
    (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? low : high) >> UInt64(8 * ($0 & 7))) }
  }
}
