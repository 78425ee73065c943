// The kinds of frames: FORMAT.md §5.

// Public for the optimiser alone (docs/decisions/0076).

/// What a frame holds. Zero is none of them: it is preallocated space.
public enum FrameKind: UInt8, Sendable, BitwiseCopyable {
  case record = 1
  case tombstone = 2
  case chunk = 3
  case liveChange = 4
  case commit = 5
  case liveSet = 6
  case close = 7
  case footer = 8

  /// What the compiler would write, but for that other modules inline it.
  @inlinable
  public static func == (left: FrameKind, right: FrameKind) -> Bool { left.rawValue == right.rawValue }

  /// Whether it is a version of a record: the index points to the newest.
  @inlinable
  public var isVersion: Bool { self == .record || self == .tombstone }

  /// Whether footers list it.
  @inlinable
  public var isContent: Bool { isVersion || self == .chunk }

  /// Whether a transaction consists of such frames; its commit mark counts them.
  @inlinable
  public var isInTransaction: Bool { isContent || self == .liveChange }

  /// The longest payload the kind may have.
  @inlinable
  public var maximumPayloadByteCount: Int {
    switch self {
    case .record: FormatLimits.maximumRecordByteCount + Layout.sealByteCount
    case .tombstone: 0
    case .chunk: FormatLimits.maximumChunkPayloadByteCount
    case .commit: 128
    case .close: 16
    case .liveChange, .liveSet: FormatLimits.maximumTransactionByteCount
    case .footer: FormatLimits.maximumSegmentByteCount
    }
  }
}
