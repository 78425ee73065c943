// Sixteen bytes that name something: a record, a large value, a store, a keyring.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

/// An id of 16 bytes, which nobody interprets.
public struct ID16: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Bytes 0 to 7, as a little-endian integer.
  public let low: UInt64
  /// Bytes 8 to 15, as a little-endian integer.
  public let high: UInt64

  @inlinable
  public init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  /// The id in the 16 bytes at an offset.
  @inlinable
  public init(_ bytes: RawSpan, at offset: Int = 0) {
    low = bytes.load(UInt64.self, at: offset)
    high = bytes.load(UInt64.self, at: offset + 8)
  }

  /// The first 16 bytes of an array that has at least as many.
  package init(_ bytes: [UInt8]) { self.init(bytes.rawSpan) }

  /// The id of what has none.
  @inlinable
  public static var zero: ID16 { ID16(low: 0, high: 0) }

  /// The bytes, in order.
  package var array: [UInt8] {
    (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? low : high) >> UInt64(8 * ($0 & 7))) }
  }

  /// What the compiler would write, but for that other modules inline it.
  @inlinable
  public static func == (left: ID16, right: ID16) -> Bool { left.low == right.low && left.high == right.high }

  @inlinable
  public func hash(into hasher: inout Hasher) {
    hasher.combine(low)
    hasher.combine(high)
  }

  @inlinable
  public func write(into bytes: inout MutableRawSpan, at offset: Int) {
    bytes.store(low, at: offset)
    bytes.store(high, at: offset + 8)
  }

  /// Some order: by the second integer, then by the first.
  @inlinable
  public static func < (left: ID16, right: ID16) -> Bool { (left.high, left.low) < (right.high, right.low) }
}
