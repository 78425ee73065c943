// What the segments say behind a checkpoint, and how a shard takes it in: docs/format-derived.md §31.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// A frame that a shard does not know yet.
struct TailEntry: Sendable, BitwiseCopyable {
  let id: ID16
  let sequence: UInt64
  let place: FrameAddress
  /// The bytes that count as live: the frame and its footer entry.
  let liveByteCount: Int

  init(_ entry: FooterEntry, segment: UInt32) {
    id = entry.id
    sequence = entry.sequence
    place = FrameAddress(segment: segment, offset: entry.offset, isTombstone: entry.kind == .tombstone)
    liveByteCount = entry.frameByteCount + entry.entryByteCount
  }

  /// Whether the frame is newer than another of the same id.
  func supersedes(_ other: Location) -> Bool {
    Location.supersedes((sequence, place), (other.sequence, other.place))
  }
}

extension Shard {
  /// What taking in an entry came to.
  enum Taken {
    case new
    case replaced(Location)
    /// Known already, or older than what is known.
    case older
  }

  /// Takes in an entry; which of the candidates is its record, the ids in their frames say.
  mutating func apply(
    _ entry: TailEntry, _ fingerprint: UInt64, _ segments: SegmentTable, _ cache: BlockCache
  ) throws(StorageError) -> Taken {
    var ordinal = 0
    while let place = table.place(fingerprint, at: ordinal) {
      if place == entry.place { return .older }
      guard case .frame(let known) = try segments.candidateState(at: place, cache), known.id == entry.id
      else {
        ordinal += 1
        continue
      }
      let location = Location(known, segment: place.segment)
      guard entry.supersedes(location) else { return .older }
      _ = table.replace(fingerprint, at: place, with: entry.place)
      return .replaced(location)
    }
    table.insert(fingerprint, entry.place)
    return .new
  }
}

extension Segment {
  /// Calls `body` with the records and deletions that lie between two positions of the log, or anywhere in a segment
  /// that is wholly between them.
  ///
  /// - Returns: What does not check, and where frames are lost that nothing in the segment names.
  func forEachTailEntry(
    from start: LogPosition?, to end: LogPosition,
    _ body: (TailEntry, _ collection: UInt16) throws(StorageError) -> Void
  ) throws(StorageError) -> EntryReading {
    let first = start?.segment == number ? start?.offset ?? 0 : 0
    let limit = end.segment == number ? end.offset : Int.max
    var window = Buffer()
    return try forEachEntry(from: first, upTo: limit, through: &window) { (entry, _) throws(StorageError) in
      guard entry.kind.isVersion else { return }
      try body(TailEntry(entry, segment: self.number), entry.collection)
    }
  }
}
