// A record's 16-byte id, as the journal sees it: FORMAT.md §5.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import NotelogBase

/// The id of a record, or of a large value: 16 bytes that the journal never interprets.
public struct RecordKey: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Bytes 0 to 7, as a little-endian integer.
  public let low: UInt64
  /// Bytes 8 to 15, as a little-endian integer.
  public let high: UInt64

  @inlinable
  public init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  /// The id in 16 bytes at an offset.
  @inlinable
  public init(_ bytes: RawSpan, at offset: Int) {
    low = bytes.load(UInt64.self, at: offset)
    high = bytes.load(UInt64.self, at: offset + 8)
  }

  /// The id of frames that have none.
  @inlinable
  public static var zero: RecordKey { RecordKey(low: 0, high: 0) }

  /// What the compiler would write, but for that other modules inline it.
  @inlinable
  public static func == (left: RecordKey, right: RecordKey) -> Bool {
    left.low == right.low && left.high == right.high
  }

  @inlinable
  public func hash(into hasher: inout Hasher) {
    hasher.combine(low)
    hasher.combine(high)
  }

  @inlinable
  @_lifetime(bytes: copy bytes)
  public func write(into bytes: inout MutableRawSpan, at offset: Int) {
    bytes.store(low, at: offset)
    bytes.store(high, at: offset + 8)
  }

  @inlinable
  public static func < (left: RecordKey, right: RecordKey) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}
