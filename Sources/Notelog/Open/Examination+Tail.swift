// Reads from the floor to the break, and says what is torn: FORMAT.md §12, lines 4 to 6 and 8.

import NotelogFormat
import NotelogStorage

extension Examination {
  /// Reads unit after unit from the floor on, and cuts what follows the break.
  mutating func walkFromFloor() throws(StorageError) {
    let floor = report.floor
    noteWhatEndsBelow(floor)
    guard let first = log.firstIndex(where: { $0.number >= floor.segment }) else {
      end = log.last.map { LogPosition(segment: $0.number, offset: $0.end) } ?? .zero
      report.wasClosed = floor.segment == 0
      return
    }
    for index in first..<log.count {
      let start = log[index].number == floor.segment ? floor.offset : Layout.firstFrameOffset
      var outcome = try walk(log[index], from: start)
      if isInterruptedCreation(log[index], outcome) { outcome = Outcome(end: 0) }
      guard outcome.reachedFooter else {
        try endLog(index, outcome)
        return
      }
    }
    // Every segment is finished: nothing was being written. A log segment's footer comes after its
    // successor's creation, though, so that successor is missing.
    report.wasClosed = true
    if let last = log.last, last.header.kind == .log {
      // Which number it had, nobody knows: compaction's outputs take some in between.
      report.damages.append(Finding(.missingSegment, segment: last.number + 1))
      noteUnnamedLoss(in: last.number + 1)
    }
  }

  /// The sequence number of the transaction that is looked for where the log ends now. `nextSequence` may be
  /// higher: another process may be writing that transaction, or one behind it, this very moment.
  func nextVisible() throws(StorageError) -> UInt64 {
    if let sequenceAfterWhole { return sequenceAfterWhole }
    guard closing == nil, let segment = log.last, segment.number == end.segment else { return nextSequence }
    var next = segment.header.firstSequence
    // What is behind the end may be cut meanwhile; a damaged segment is shorter than its floor says.
    var walk = segment.walk(to: end.offset)
    while let header = try walk.advance() { next = max(next, header.nextSequence) }
    return next
  }

  /// How reading a segment ended.
  private struct Outcome {
    /// Where whole units end.
    var end: Int
    var reachedFooter = false
    /// Whether what follows is nothing but zeros.
    var isZeroBehind = false
    /// Whether there was any unit at all.
    var isEmpty = true
  }

  /// A segment exists only when both copies of its header are durable. One that lacks a copy and holds
  /// nothing yet was being created when the power went; with something in it, the copy was lost later.
  private func isInterruptedCreation(_ segment: FoundSegment, _ outcome: Outcome) -> Bool {
    segment.header.kind == .log && outcome.isEmpty && !outcome.reachedFooter
      && !segment.badCopies.isEmpty
      && report.floor <= LogPosition(segment: segment.number, offset: Layout.firstFrameOffset)
  }

  /// The floor lies in or behind segments that must be there, to their ends.
  private mutating func noteWhatEndsBelow(_ floor: LogPosition) {
    guard let segment = log.first(where: { $0.number == floor.segment }) else {
      if floor.segment > 0 {
        // A file under that name that is not the segment is reported as what it is, with the live set.
        if isMissing(floor.segment) {
          report.damages.append(Finding(.missingSegment, segment: floor.segment))
        }
        noteLostFrames(in: floor.segment)
      }
      return
    }
    // A header names its own start as floor before that is durable: then its creation was interrupted.
    if segment.end < floor.offset, floor.offset > Layout.firstFrameOffset {
      noteTruncated(segment.number, at: segment.end, to: floor.offset)
    }
  }

  /// A segment ends before what was durable in it.
  mutating func noteTruncated(_ number: UInt32, at end: Int, to needed: Int) {
    report.damages.append(Finding(.truncated, segment: number, offset: end, byteCount: needed - end))
    noteLostFrames(in: number)
  }

  private mutating func walk(_ segment: FoundSegment, from start: Int) throws(StorageError) -> Outcome {
    let header = segment.header
    var walk = segment.walk(from: max(start, Layout.firstFrameOffset))
    var outcome = Outcome(end: start)
    if start <= Layout.firstFrameOffset {
      // The live set comes before the units. Without it, the segment was never completed.
      guard try walk.reader.wholeFrame(at: Layout.firstFrameOffset, .liveSet) != nil,
        try walk.advance() != nil, sequenceAfterWhole == nil || sequenceAfterWhole == header.firstSequence
      else { return Outcome(end: 0) }
      sequenceAfterWhole = header.firstSequence
      outcome.end = walk.next
    }
    while outcome.end <= segment.end {
      switch try walk.unit() {
      case .transaction(let range):
        if let sequenceAfterWhole, range.sequence != sequenceAfterWhole, header.kind == .log {
          return outcome
        }
        sequenceAfterWhole = range.sequence + 1
        witnesses.hear(.zero, before: range.sequence + 1)
        kept.append((segment.number, range))
        outcome.end = range.end
      case .close(let end): outcome.end = end
      case .footer(let end):
        outcome.reachedFooter =
          segment.trailer?.footerOffset == outcome.end && end + Layout.trailerByteCount == segment.end
        if outcome.reachedFooter { outcome.end = segment.end }
        if header.kind == .recovered { sequenceAfterWhole = header.firstSequence }
        return outcome
      case .none:
        outcome.isZeroBehind = try walk.reader.isZero(from: outcome.end)
        // A source that a recovered segment cut has no footer yet; the log goes on behind it all the same.
        outcome.reachedFooter = outcome.isZeroBehind && segment.isCut
        return outcome
      case .broken:
        return outcome
      }
      outcome.isEmpty = false
    }
    return outcome
  }

  /// The log ends in the segment at `index`: decides what is kept, what is cut and whether it was closed in
  /// order.
  private mutating func endLog(_ index: Int, _ outcome: Outcome) throws(StorageError) {
    let segment = log[index]
    let isLast = index == log.count - 1
    end = LogPosition(segment: segment.number, offset: outcome.end)
    if isLast, outcome.isZeroBehind, outcome.end > 0, report.floor.segment == segment.number {
      let closedAtEnd = closing != nil && outcome.end == segment.end
      // Or nothing was ever written to it; a recovered segment is written as a whole, and its footer is
      // missing here.
      let unitsStart = try segment.unitsStart()
      let isUnused = segment.header.kind == .log && outcome.end == unitsStart
      if closedAtEnd || isUnused {
        appendable = end
        return
      }
    }
    report.wasClosed = false
    if !outcome.isZeroBehind { try noteTorn(segment, from: max(outcome.end, Layout.firstFrameOffset)) }
    for later in log[(index + 1)...] {
      try noteTorn(later, from: Layout.firstFrameOffset)
      cut.append(later)
    }
    log.removeSubrange((index + 1)...)
    if outcome.end == 0 {
      // Not even its live set is whole: its creation was interrupted. What comes before it is finished.
      cut.insert(log.removeLast(), at: 0)
      end = LogPosition(segment: segment.number, offset: 0)
    }
  }

  /// Reports what is not zero behind a break.
  private mutating func noteTorn(_ segment: FoundSegment, from place: Int) throws(StorageError) {
    guard place < segment.end else { return }
    var reader = segment.reader
    if try reader.isZero(from: place) { return }
    report.torn.append(Finding(.torn, segment: segment.number, offset: place, byteCount: segment.end - place))
  }
}
