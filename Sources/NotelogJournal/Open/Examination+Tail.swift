// Reads from the floor to the break, and says what is torn: FORMAT.md §12, lines 4 to 6 and 8.

import NotelogFormat
package import NotelogStorage

extension Examination {
  /// Reads unit after unit from the floor on, and cuts what follows the break.
  package mutating func walkFromFloor() throws(StorageError) {
    let floor = report.floor
    noteWhatEndsBelow(floor)
    guard let first = log.firstIndex(where: { $0.number >= floor.segment }) else {
      end = log.last.map { LogPosition(segment: $0.number, offset: $0.end) } ?? .zero
      report.wasClosed = floor.segment == 0
      return
    }
    var expected: UInt64?
    defer { sequenceAfterWhole = expected }
    for index in first..<log.count {
      let start = log[index].number == floor.segment ? floor.offset : Layout.firstFrameOffset
      var outcome = try walk(log[index], from: start, expected: &expected)
      if isInterruptedCreation(log[index], outcome) { outcome = Outcome(end: 0) }
      guard outcome.reachedFooter else {
        try endLog(index, outcome)
        return
      }
    }
    // Every segment is finished: nothing was being written. A log segment's footer comes after its successor's
    // creation, though, so that successor is missing.
    report.wasClosed = true
    if let last = log.last, last.found.header.kind == .log {
      report.damages.append(Damage(.missingSegment, segment: last.number + 1))
      noteLostFrames(in: last.number + 1)
    }
  }

  /// The sequence number of the transaction that is looked for where the log ends now. `nextSequence` may be higher: another process may
  /// be writing that transaction, or one behind it, this very moment.
  package func nextVisible() throws(StorageError) -> UInt64 {
    if let sequenceAfterWhole { return sequenceAfterWhole }
    guard closing == nil, let segment = log.last, segment.number == end.segment else { return nextSequence }
    var next = segment.found.header.firstSequence
    // What is behind the end may be cut meanwhile; a damaged segment is shorter than its floor says.
    var reader = SegmentReader(
      segment.found.file, salt: segment.found.salt, end: min(end.offset, segment.end))
    var place = Layout.firstFrameOffset
    while let frame = try reader.nextFrame(from: place) {
      next = max(next, frame.header.nextSequence)
      place = frame.place + frame.header.frameByteCount
    }
    return next
  }

  /// How reading a segment ended.
  private struct Outcome {
    /// Where whole units end.
    var end: Int
    var reachedFooter = false
    /// Whether what follows is nothing but zeros.
    var isZeroBehind = false
    /// The close mark that is the last unit.
    var closeMark: Int?
    /// Whether there was any unit at all.
    var isEmpty = true
  }

  /// A segment exists only when both copies of its header are durable. One that lacks a copy and holds nothing yet was
  /// being created when the power went; with something in it, the copy was lost later.
  private func isInterruptedCreation(_ segment: LogSegment, _ outcome: Outcome) -> Bool {
    segment.found.header.kind == .log && outcome.isEmpty && !outcome.reachedFooter
      && !segment.found.badCopies.isEmpty
      && report.floor <= LogPosition(segment: segment.number, offset: Layout.firstFrameOffset)
  }

  /// The floor lies in or behind segments that must be there, to their ends.
  private mutating func noteWhatEndsBelow(_ floor: LogPosition) {
    guard let segment = log.first(where: { $0.number == floor.segment }) else {
      if floor.segment > 0 {
        // A file under that name that is not the segment is reported as what it is, with the live set.
        if isMissing(floor.segment) { report.damages.append(Damage(.missingSegment, segment: floor.segment)) }
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
  package mutating func noteTruncated(_ number: UInt32, at end: Int, to needed: Int) {
    report.damages.append(Damage(.truncated, segment: number, offset: end, byteCount: needed - end))
    noteLostFrames(in: number)
  }

  private mutating func walk(
    _ segment: LogSegment, from start: Int, expected: inout UInt64?
  ) throws(StorageError) -> Outcome {
    var reader = segment.reader
    var outcome = Outcome(end: start)
    var place = start
    if place <= Layout.firstFrameOffset {
      // The live set comes before the units. Without it, the segment was never completed.
      guard case .frame(let header) = try reader.frame(at: Layout.firstFrameOffset), header.kind == .liveSet,
        try reader.isWhole(header, at: Layout.firstFrameOffset),
        expected == nil || expected == segment.found.header.firstSequence
      else {
        outcome.end = 0
        return outcome
      }
      expected = segment.found.header.firstSequence
      place = Layout.firstFrameOffset + header.frameByteCount
      outcome.end = place
    }
    while place <= segment.end {
      switch try reader.unit(at: place) {
      case .transaction(let range):
        if let expected, range.sequence != expected, segment.found.header.kind == .log { return outcome }
        expected = range.sequence + 1
        highestSequence = max(highestSequence, range.sequence)
        kept.append(KeptTransaction(segment: segment.number, range: range))
        place = range.end
        outcome.closeMark = nil
      case .close(_, let end):
        outcome.closeMark = place
        place = end
      case .footer(_, let end):
        outcome.reachedFooter =
          segment.found.trailer?.footerOffset == place && end + Layout.trailerByteCount == segment.end
        outcome.end = outcome.reachedFooter ? segment.end : place
        if segment.found.header.kind == .recovered { expected = segment.found.header.firstSequence }
        return outcome
      case .nothing:
        outcome.isZeroBehind = true
        // A source that a recovered segment cut has no footer yet; the log goes on behind it all the same.
        outcome.reachedFooter = segment.isCut
        return outcome
      case .broken:
        return outcome
      }
      outcome.end = place
      outcome.isEmpty = false
    }
    return outcome
  }

  /// The log ends in the segment at `index`: decides what is kept, what is cut and whether it was closed in order.
  private mutating func endLog(_ index: Int, _ outcome: Outcome) throws(StorageError) {
    let segment = log[index]
    let isLast = index == log.count - 1
    end = LogPosition(segment: segment.number, offset: outcome.end)
    if isLast, outcome.isZeroBehind, outcome.end > 0, report.floor.segment == segment.number {
      let closedAtEnd = outcome.closeMark != nil && outcome.end == segment.end
      // Or nothing was ever written to it; a recovered segment is written as a whole, and its footer is missing here.
      let unitsStart = try segment.unitsStart()
      let isUnused = segment.found.header.kind == .log && outcome.end == unitsStart
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
    report.keptTransactions = kept.count
  }

  /// Reports what is not zero behind a break.
  private mutating func noteTorn(_ segment: LogSegment, from place: Int) throws(StorageError) {
    guard place < segment.end else { return }
    var reader = segment.reader
    if try reader.isZero(from: place) { return }
    report.torn.append(TornTail(segment: segment.number, offset: place, byteCount: segment.end - place))
  }
}
