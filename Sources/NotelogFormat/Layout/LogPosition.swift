// A place in the log: FORMAT.md §2.

import NotelogBase

/// A segment and an offset in it, in the order of the log.
package struct LogPosition: Hashable, Comparable, Sendable, BitwiseCopyable {
  package var segment: UInt32
  package var offset: Int

  @inlinable
  package init(segment: UInt32, offset: Int) {
    self.segment = segment
    self.offset = offset
  }

  /// Before everything.
  package static let zero = LogPosition(segment: 0, offset: 0)

  @inlinable
  package static func < (left: LogPosition, right: LogPosition) -> Bool {
    (left.segment, left.offset) < (right.segment, right.offset)
  }

  /// Whether its segment number can be one; 0 is before everything.
  @inlinable
  package var isValid: Bool { segment <= Limits.maximumSegmentNumber }

  @inlinable
  package init(_ bytes: RawSpan, at offset: Int) {
    segment = bytes.load(UInt32.self, at: offset)
    self.offset = Int(bytes.load(UInt32.self, at: offset + 4))
  }

  @inlinable
  @_lifetime(bytes: copy bytes)
  package func write(into bytes: inout MutableRawSpan, at place: Int) {
    bytes.store(segment, at: place)
    bytes.store(UInt32(offset), at: place + 4)
  }
}
