// A place in the log: FORMAT.md §2.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import NotelogBase

/// A segment and an offset in it, in the order of the log.
public struct LogPosition: Hashable, Comparable, Sendable, BitwiseCopyable {
  public var segment: UInt32
  public var offset: Int

  public init(segment: UInt32, offset: Int) {
    self.segment = segment
    self.offset = offset
  }

  /// Before everything.
  public static let zero = LogPosition(segment: 0, offset: 0)

  public static func < (left: LogPosition, right: LogPosition) -> Bool {
    (left.segment, left.offset) < (right.segment, right.offset)
  }

  /// Whether its segment number can be one; 0 is before everything.
  public var isValid: Bool { segment <= FormatLimits.maximumSegmentNumber }

  public init(_ bytes: RawSpan, at offset: Int) {
    segment = bytes.load(UInt32.self, at: offset)
    self.offset = Int(bytes.load(UInt32.self, at: offset + 4))
  }

  public func write(into bytes: inout MutableRawSpan, at place: Int) {
    bytes.store(segment, at: place)
    bytes.store(UInt32(offset), at: place + 4)
  }
}
