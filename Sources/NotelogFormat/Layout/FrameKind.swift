// The kinds of frames: FORMAT.md §5.

/// What a frame holds. Zero is none of them: it is preallocated space.
package enum FrameKind: UInt8, Sendable, BitwiseCopyable {
  case record = 1
  case tombstone = 2
  case chunk = 3
  case liveChange = 4
  case commit = 5
  case liveSet = 6
  case close = 7
  case footer = 8

  /// Whether footers list it.
  @inlinable
  package var isContent: Bool { self == .record || self == .tombstone || self == .chunk }

  /// Whether it is a version of a record: the index points to the newest.
  @inlinable
  package var isVersion: Bool { self == .record || self == .tombstone }

  /// The longest payload the kind may have.
  @inlinable
  package var maximumPayloadByteCount: Int {
    switch self {
    case .record: Limits.maximumRecordByteCount
    case .tombstone: 0
    case .chunk: Limits.maximumChunkPayloadByteCount
    case .commit, .close: 16
    case .liveChange, .liveSet: Limits.maximumTransactionByteCount
    case .footer: Limits.maximumSegmentByteCount
    }
  }
}
