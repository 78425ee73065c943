// Sixteen bytes by value: store ids, record ids, value ids, hashes of names.

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
    var low: UInt64 = 0
    var high: UInt64 = 0
    for index in 0..<8 {
      low |= UInt64(bytes.byte(at: offset + index)) << UInt64(8 * index)
      high |= UInt64(bytes.byte(at: offset + 8 + index)) << UInt64(8 * index)
    }
    self.init(low: low, high: high)
  }

  /// The first sixteen bytes of an array that has at least as many.
  package init(_ bytes: [UInt8]) {
    precondition(bytes.count >= 16)
    func word(_ start: Int) -> UInt64 {
      bytes[start..<start + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    self.init(low: word(0), high: word(8))
  }

  /// The bytes, in order.
  package var array: [UInt8] {
    (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? low : high) >> UInt64(8 * ($0 & 7))) }
  }
}

extension RawSpan {
  /// One byte, bounds-checked.
  func byte(at offset: Int) -> UInt8 {
    // SAFETY: every bit pattern is a UInt8, and the access is bounds-checked.
    unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }
}
