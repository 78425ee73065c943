// The clean open, of a store that was closed in order: docs/format-derived.md §31, "Clean open".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// A store that ends in a close mark and whose files are those that were there when it was written.
///
/// Nothing is read but the checkpoint, the head, and what is newer than the checkpoint. Of the other segments
/// only the names are looked at: a store may have a thousand of them.
struct ClosedStore {
  let checkpoint: CheckpointFile
  let head: FoundSegment
  let closing: CloseMark
  let live: LiveSet
  /// All segments, those that were not read to be opened when they are.
  let segments: [Segment]
  /// The highest segment number that any name bears.
  let highestNumber: UInt32

  /// Where the log ends, and up to where everything is durable.
  var end: LogPosition { LogPosition(segment: head.number, offset: closing.range.upperBound) }
  var floor: LogPosition { closing.place }

  /// Nothing where anything at all is not as it should be: then the store has to be examined.
  init?(_ storage: any Storage, _ lock: any StorageFile, storeID: ID16?) throws(StorageError) {
    guard let checkpoint = CheckpointFile.find(in: storage).found, !checkpoint.head.isOfDamagedStore,
      storeID == nil || storeID == checkpoint.head.storeID
    else { return nil }
    let lastClose = LastClose.read(lock).flatMap { $0.storeID == checkpoint.head.storeID ? $0.mark : nil }
    let names = try FolderNames(storage)
    guard names.partials.isEmpty else { return nil }
    let numbers = names.numbers
    // The few that the checkpoint doesn't cover; the head is one of them.
    var read: [FoundSegment] = []
    for number in numbers where !checkpoint.head.covers(checkpoint.head.figures(of: number)) {
      guard let found = try Survey.read(number, in: storage),
        found.isIntact(of: checkpoint.head.storeID)
      else { return nil }
      read.append(found)
    }
    guard let head = read.last(where: \.header.kind.isLog),
      let closing = try head.closing(),
      let live = try Self.live(checkpoint.head, head, closing),
      numbers.count == live.count + 1
    else { return nil }
    var segments = [Segment(head, entry: nil)]
    segments.reserveCapacity(numbers.count)
    // Both in order of number: but for the head, each file is the next live segment's.
    for (entry, number) in zip(live.entries, numbers.lazy.filter { $0 != head.number }) {
      guard entry.number == number else { return nil }
      if let found = read.find(number, by: { $0.number }) {
        guard found.entry == entry else { return nil }
        segments.append(Segment(found, entry: entry))
      } else {
        guard let figures = checkpoint.head.figures(of: number) else { return nil }
        segments.append(
          Segment(
            number: number, kind: figures.kind, salt: SegmentSalt(entry.salt),
            file: DeferredFile(segment: number, in: storage), entry: entry))
      }
    }
    self.checkpoint = checkpoint
    self.head = head
    self.closing = closing
    self.live = live
    self.segments = segments
    highestNumber = names.highest
    // A witness of more than the head holds says that the head is not what it was.
    let floor = floor
    guard checkpoint.head.covered <= floor, lastClose.map({ $0 <= floor }) ?? true,
      read.allSatisfy({ $0.header.floor <= floor })
    else { return nil }
  }

  /// The live set that the close mark speaks of: the checkpoint's, where nothing came or went since, or else
  /// the head's.
  private static func live(
    _ checkpoint: CheckpointHead, _ head: FoundSegment, _ closing: CloseMark
  ) throws(StorageError) -> LiveSet? {
    var live = LiveSet(checkpoint.segments.filter(\.isFinished).map(\.entry))
    if closing.speaks(of: live) { return live }
    var reader = SegmentReader(head.file, salt: head.salt, end: closing.place.offset)
    guard let beginning = try reader.liveSet(of: head.header) else { return nil }
    live = beginning.set
    if closing.speaks(of: live) { return live }
    var walk = head.walk(from: beginning.end, to: closing.place.offset)
    try walk.applyLiveChanges(to: &live)
    return closing.speaks(of: live) ? live : nil
  }
}

extension CheckpointHead {
  /// Whether everything is in the checkpoint that was ever written to a segment, which is one of its own or
  /// isn't.
  ///
  /// Segments of the log from the covered position on are new, or were empty then, or have only their
  /// beginning covered.
  func covers(_ segment: SegmentFigures?) -> Bool {
    guard let segment else { return false }
    return !segment.kind.isLog || segment.number < covered.segment
  }
}

extension FoundSegment {
  /// Whether the header is a store's, and all of its copies are there, and a writer of this version may go
  /// on.
  func isIntact(of storeID: ID16) -> Bool {
    header.storeID == storeID && header.number == number && badCopies.isEmpty && header.writeFlags == 0
  }
}
