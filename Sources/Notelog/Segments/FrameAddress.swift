// Where a frame is, in eight bytes: docs/format-derived.md §31, the place in an index entry.

import NotelogFormat

/// The segment and offset of a frame, with what the index must know of it without reading it.
struct FrameAddress: Hashable, Sendable, BitwiseCopyable {
  /// Segment (32 bits, highest), flags (4 bits), offset / 8 (28 bits). Zero is no place: there is no segment 0.
  let bits: UInt64

  /// No place at all.
  static let none = FrameAddress(bits: 0)

  private static let tombstoneBit: UInt64 = 1 << 28
  private static let offsetMask: UInt64 = (1 << 28) - 1

  init(bits: UInt64) { self.bits = bits }

  init(segment: UInt32, offset: Int, isTombstone: Bool = false) {
    precondition(
      offset >= 0 && offset % 8 == 0 && offset < FormatLimits.maximumSegmentByteCount, "a frame is aligned")
    bits = UInt64(segment) << 32 | (isTombstone ? Self.tombstoneBit : 0) | UInt64(offset >> 3)
  }

  var segment: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) }
  var offset: Int { Int(bits & Self.offsetMask) << 3 }
  var isTombstone: Bool { bits & Self.tombstoneBit != 0 }
  var isNone: Bool { bits == 0 }
  /// Whether it can be in a checkpoint: a segment, and no flag that has no meaning yet.
  var isValid: Bool { segment != 0 && bits & (0b1110 << 28) == 0 }
}
