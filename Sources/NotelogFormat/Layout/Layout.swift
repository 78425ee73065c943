// The sizes and limits of the format: FORMAT.md §4, §5 and "Limits", whose table equals this file (a test
// compares them).

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

/// Sizes and offsets that the format fixes.
public enum Layout {
  @inlinable public static var headerByteCount: Int { 512 }
  @inlinable public static var headerCopyOffset: Int { 4096 }
  @inlinable public static var firstFrameOffset: Int { 4608 }
  @inlinable public static var frameHeaderByteCount: Int { 40 }
  @inlinable public static var sealByteCount: Int { 16 }
  @inlinable public static var trailerByteCount: Int { 24 }
  @inlinable public static var liveEntryByteCount: Int { 24 }
  @inlinable public static var footerEntryByteCount: Int { 32 }
  @inlinable public static var footerPrefixByteCount: Int { 520 }
}

/// The largest values that are accepted. What passes one is refused before anything is allocated or skipped.
public enum FormatLimits {
  @inlinable public static var maximumSources: Int { 50 }
  @inlinable public static var maximumSegmentNumber: Int { 4_000_000_000 }
  @inlinable public static var maximumSequence: Int { 281_474_976_710_655 }
  @inlinable public static var maximumSegmentByteCount: Int { 2_147_483_648 }
  @inlinable public static var maximumTransactionByteCount: Int { 67_108_864 }
  @inlinable public static var maximumRecordByteCount: Int { 16_777_216 }
  @inlinable public static var maximumEnvelopeByteCount: Int { 65_535 }
  @inlinable public static var maximumCollection: Int { 65_534 }
  @inlinable public static var maximumTornByteCount: Int { 16_777_216 }
  @inlinable public static var chunkByteCount: Int { 65_536 }
  @inlinable public static var maximumChunkPayloadByteCount: Int { 65_664 }
  @inlinable public static var maximumChunks: Int { 16_777_216 }
}

/// The number of bytes rounded up to the next multiple of 8, where frames start.
@inlinable
@inline(__always)
public func aligned(_ byteCount: Int) -> Int { (byteCount + 7) & ~7 }
