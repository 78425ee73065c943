// The sizes and limits of the format: FORMAT.md §4, §5 and "Limits", whose table equals this file (a test compares them).

/// Sizes and offsets that the format fixes.
package enum Layout {
  package static let headerByteCount = 512
  package static let headerCopyOffset = 4096
  package static let firstFrameOffset = 4608
  package static let frameHeaderByteCount = 40
  package static let trailerByteCount = 24
  package static let liveEntryByteCount = 24
  package static let footerEntryByteCount = 32
  package static let footerPrefixByteCount = 520
}

/// The largest values that are accepted. What passes one is refused before anything is allocated or skipped.
package enum Limits {
  package static let maximumSources = 52
  package static let maximumSegmentNumber = 4_000_000_000
  package static let maximumSequence = 281_474_976_710_655
  package static let maximumSegmentByteCount = 2_147_483_648
  package static let maximumTransactionByteCount = 67_108_864
  package static let maximumRecordByteCount = 16_777_216
  package static let maximumEnvelopeByteCount = 65_535
  package static let maximumCollection = 65_535
  package static let maximumTornByteCount = 16_777_216
  package static let chunkByteCount = 65_536
  package static let maximumChunkPayloadByteCount = 65_664
  package static let maximumChunks = 16_777_216
}

/// The number of bytes rounded up to the next multiple of 8, where frames start.
@inlinable
@inline(__always)
package func aligned(_ byteCount: Int) -> Int { (byteCount + 7) & ~7 }
