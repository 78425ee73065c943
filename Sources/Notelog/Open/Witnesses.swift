// What says how far the log went, and what segments' headers say of others: FORMAT.md §12, lines 2 and 3.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// The witnesses of the floor. Opening a store and salvaging one hear the same.
struct Witnesses {
  /// Where the store was last closed in order, as its `lock` says.
  let lastClose: LastClose?
  /// The index's checkpoint: its head is a witness.
  let checkpoint: CheckpointFile.Finding
  /// The highest position that any of them names.
  private(set) var floor = LogPosition.zero
  /// All lower sequence numbers were given out, whatever became of what bore them.
  private(set) var nextSequence: UInt64 = 0

  /// Reads those outside of the log.
  init(in storage: any Storage) {
    lastClose = LastClose.read(storage)
    checkpoint = CheckpointFile.find(in: storage)
  }

  /// Takes in what is said of a store outside of its log, and by headers of its segments.
  mutating func hear(of storeID: ID16, _ headers: [SegmentHeader]) {
    for header in headers { hear(header.floor) }
    if let head = checkpoint.found?.head, head.storeID == storeID {
      hear(head.covered, before: head.nextSequence)
    }
    if let last = lastClose, last.storeID == storeID { hear(last.mark, before: last.nextSequence) }
  }

  /// Takes in the marks of a segment, and the numbers of its frames, past anything broken.
  mutating func hear(_ walk: inout SegmentWalk) throws(StorageError) {
    while let header = try walk.advance() {
      hear(try walk.witness(header) ?? .zero, before: header.nextSequence)
    }
  }

  mutating func hear(_ position: LogPosition, before next: UInt64 = 0) {
    floor = max(floor, position)
    nextSequence = max(nextSequence, next)
  }
}

extension [SegmentHeader] {
  /// What recovered segments keep of their sources, by the sources' numbers: line 2. Nothing stays where it
  /// is 0.
  var keptByteCounts: [UInt32: Int] {
    var kept: [UInt32: Int] = [:]
    for header in sorted(by: { $0.number < $1.number }) where header.kind == .recovered {
      for source in header.sources where source.segment < header.number {
        kept[source.segment] = source.offset
      }
    }
    return kept
  }

  /// The segments that others take the place of whole.
  var replaced: Set<UInt32> {
    Set(
      flatMap { header in
        header.sources.filter { $0.segment < header.number && $0.offset == 0 }.map(\.segment)
      })
  }
}
