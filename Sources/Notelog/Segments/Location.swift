// Where a record's newest frame is, and what its header says.

import NotelogFormat

/// A frame's place with what the index does not hold: it is read from the frame's header when it is needed.
struct Location: Equatable, Sendable, BitwiseCopyable {
  let place: FrameAddress
  let payloadByteCount: UInt32
  let entryByteCount: UInt32
  let sequence: UInt64
  let collection: UInt16
  /// Of a chunk, its number: a large value has many frames, all of its id.
  let chunk: ChunkMark?

  var segment: UInt32 { place.segment }
  var offset: UInt32 { UInt32(place.offset) }
  var isTombstone: Bool { place.isTombstone }

  init(_ entry: FooterEntry, segment: UInt32) {
    place = FrameAddress(segment: segment, offset: entry.offset, isTombstone: entry.kind == .tombstone)
    payloadByteCount = UInt32(entry.payloadByteCount)
    entryByteCount = UInt32(entry.entryByteCount)
    sequence = entry.sequence
    collection = entry.collection
    chunk = entry.chunk
  }

  /// Whether the frame is newer than another of the same id: by its transaction, or by its place in it.
  func supersedes(_ other: Location) -> Bool {
    Self.supersedes((sequence, place), (other.sequence, other.place))
  }

  static func supersedes(
    _ new: (sequence: UInt64, place: FrameAddress), _ known: (sequence: UInt64, place: FrameAddress)
  ) -> Bool {
    if new.sequence != known.sequence { return new.sequence > known.sequence }
    return new.place.segment == known.place.segment && new.place.offset > known.place.offset
  }

  /// The bytes of the frame, padding included.
  var frameByteCount: Int { aligned(Layout.frameHeaderByteCount + Int(payloadByteCount)) }
  /// The bytes that count as live: the frame and its footer entry.
  var liveByteCount: Int { frameByteCount + Int(entryByteCount) }
}
