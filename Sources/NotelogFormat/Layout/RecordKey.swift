// A record's 16-byte id, as the journal sees it: FORMAT.md §5.

import NotelogBase

/// The id of a record, or of a large value: 16 bytes that the journal never interprets.
package struct RecordKey: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Bytes 0 to 7, as a little-endian integer.
  package let low: UInt64
  /// Bytes 8 to 15, as a little-endian integer.
  package let high: UInt64

  @inlinable
  package init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  /// The id in 16 bytes at an offset.
  @inlinable
  package init(_ bytes: RawSpan, at offset: Int) {
    low = bytes.load(UInt64.self, at: offset)
    high = bytes.load(UInt64.self, at: offset + 8)
  }

  /// The id of frames that have none.
  package static let zero = RecordKey(low: 0, high: 0)

  @inlinable
  @_lifetime(bytes: copy bytes)
  package func write(into bytes: inout MutableRawSpan, at offset: Int) {
    bytes.store(low, at: offset)
    bytes.store(high, at: offset + 8)
  }

  @inlinable
  package static func < (left: RecordKey, right: RecordKey) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}
