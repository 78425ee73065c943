// Where the log stands in a segment of it: FORMAT.md §26.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// A place behind a unit of a log segment, and what comes before it.
struct LogPoint {
  /// The number of the first transaction of the segment, or that it would have.
  private(set) var begin: UInt64
  /// Where the unit ends, or the live set.
  private(set) var offset: Int
  /// The number of the transaction that follows.
  var nextSequence: UInt64
  /// The highest time of the transactions before, 0 where none has one.
  private(set) var time: UInt64 = 0

  /// Goes through a segment's units, past what does not check.
  ///
  /// - Parameters:
  ///   - found: The segment.
  ///   - start: Where a unit starts from which it goes; nothing where that is the first.
  ///   - limit: Where reading ends.
  ///   - isWanted: Whether a transaction comes before the place, of which the number and the highest time so far are
  ///     given.
  /// - Throws: What reading throws.
  init(
    _ found: FoundSegment, from start: Int? = nil, to limit: Int = .max,
    while isWanted: (UInt64, UInt64) -> Bool = { _, _ in true }
  ) throws(StorageError) {
    let isRecovered = found.header.kind == .recovered
    offset = if let start { start } else { try found.unitsStart() }
    nextSequence = max(1, found.header.firstSequence)
    begin = nextSequence
    var last: UInt64?
    var isBehind = false
    var walk = found.walk(from: offset, to: limit)
    while let header = try walk.advance() {
      switch header.kind {
      case .commit:
        guard try walk.reader.isWhole(header, at: walk.place),
          let mark = CommitMark(payload: try walk.reader.payload(of: header, at: walk.place))
        else { continue }
        // What a recovered segment's header says is the number behind it. Where numbers are left out in it, the live
        // set changed: of what came before, compaction may have dropped versions.
        let following = last.map { $0 + 1 }
        if isRecovered, header.sequence != following { begin = max(1, following ?? header.sequence) }
        last = header.sequence
        isBehind = isBehind || !isWanted(header.sequence, max(time, mark.time))
        if isBehind, isRecovered { continue }
        if isBehind { return }
        time = max(time, mark.time)
        nextSequence = header.sequence + 1
        offset = walk.next
      case .close:
        guard isWanted(header.sequence - min(1, header.sequence), time) else { return }
        nextSequence = max(nextSequence, header.sequence)
        offset = walk.next
      case .footer:
        // What a recovered segment's header says of what follows it is so where it is whole.
        let following = max(nextSequence, found.header.firstSequence)
        if isRecovered, let last, last + 1 < following { begin = last + 1 }
        if isRecovered, !isBehind { nextSequence = following }
        return
      case .record, .tombstone, .chunk, .liveChange, .liveSet: continue
      }
    }
  }
}
