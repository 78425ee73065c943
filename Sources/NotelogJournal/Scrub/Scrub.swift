// Verifying everything, a segment at a time: for whoever looks after a store that is in use. FORMAT.md §13, "Scrub".

import NotelogConcurrency

/// Where a scrub goes on. It may be kept, and taken up again in another opening.
package struct ScrubPosition: Equatable, Sendable {
  /// Segments below it have been verified in this round.
  package var segment: UInt32

  package init(segment: UInt32 = 0) { self.segment = segment }
}

/// What a scrub found.
package struct ScrubResult: Sendable {
  package internal(set) var damages: [Damage] = []
  package internal(set) var segmentCount = 0
  package internal(set) var frameCount = 0
  package internal(set) var byteCount = 0
  /// Where to go on; nothing when every segment has been verified.
  package internal(set) var next: ScrubPosition?
}

extension Journal {
  /// Verifies finished segments, every byte of them, in order of their numbers, while the store is in use.
  ///
  /// At least one segment is verified in a call, whatever the budget; so calling it again and again comes to an end.
  ///
  /// - Parameters:
  ///   - position: What the call before returned; a new round where nothing is given.
  ///   - budget: The bytes to read, about, or the time.
  /// - Returns: What was found, and where to go on.
  /// - Throws: `inputOutput` where a file can't be read.
  package func scrub(
    from position: ScrubPosition = ScrubPosition(), _ budget: CompactionBudget = .unlimited
  ) throws(JournalError) -> ScrubResult {
    var result = ScrubResult()
    for segment in catalog.segments.all {
      guard segment.number >= position.segment, let entry = segment.entry else { continue }
      if result.segmentCount > 0, result.byteCount >= budget.byteCount || budget.isOver() {
        result.next = ScrubPosition(segment: segment.number)
        return result
      }
      try scrub(segment, entry, &result)
    }
    return result
  }

  private func scrub(
    _ segment: Segment, _ entry: LiveEntry, _ result: inout ScrubResult
  ) throws(JournalError) {
    let found = try Survey.read(segment.file, segment.number)
    result.segmentCount += 1
    guard let found else {
      result.damages.append(Damage(.unreadableSegment, segment: segment.number))
      return
    }
    if found.entry != entry {
      result.damages.append(Damage(.replacedSegment, segment: segment.number, offset: found.byteCount))
    }
    for place in found.badCopies {
      result.damages.append(
        Damage(.headerCopy, segment: segment.number, offset: place, byteCount: Layout.headerByteCount))
    }
    var verifier = SegmentVerifier(found, entry: entry, end: found.byteCount)
    do { try verifier.run() } catch { throw JournalError(error) }
    result.damages += verifier.damages
    result.frameCount += verifier.frameCount
    result.byteCount += found.byteCount
  }
}
