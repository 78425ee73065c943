// Verifying everything, a segment at a time: for whoever looks after a store that is in use.
// docs/maintenance.md, "Scrub".

import NotelogFormat
import NotelogStorage
import NotelogBase

extension Journal {
  /// Verifies finished segments, every byte of them, in order of their numbers, while the store is in use.
  ///
  /// At least one segment is verified in a call, whatever the budget; so calling it again and again comes to
  /// an end.
  ///
  /// - Parameters:
  ///   - first: The segment that the call before returned; a new round where nothing is given.
  ///   - budget: The bytes to read, about, or the time.
  /// - Returns: What was found, and where to go on.
  /// - Throws: `inputOutput` where a file can't be read; `closed`.
  func scrub(
    from first: Int? = nil, _ budget: WorkBudget = .unlimited
  ) throws(NotelogError) -> Verification {
    try checkOpen()
    let budget = budget.untilCancelled
    var result = Verification()
    for segment in catalog.segments.all {
      guard segment.number >= first ?? 0, let entry = segment.entry else { continue }
      if result.segmentCount > 0, result.byteCount >= budget.byteCount || budget.isOver() {
        result.next = Int(segment.number)
        return result
      }
      // What compaction has taken away meanwhile, nobody reads any more.
      guard catalog.segments[segment.number] != nil else { continue }
      try checkOpen()
      let outcome = try fromStorage(Survey.read(segment.file, segment.number)?.verified(as: entry))
      // Once the store is closed, a descriptor may be another file's: what was read then is no finding.
      try checkOpen()
      guard let outcome else {
        result.segmentCount += 1
        result.report.damages.append(Finding(.unreadableSegment, segment: segment.number))
        continue
      }
      for damage in outcome.report.damages { damageLog.note(damage) }
      result.add(outcome)
    }
    return result
  }
}

extension FoundSegment {
  /// Verifies a file by itself, as a backup's.
  ///
  /// - Parameter entry: What the live set says of the finished segment that it should be; nothing where it is
  ///   not finished.
  /// - Returns: What was found.
  /// - Throws: What stands in the way of reading.
  func verified(as entry: LiveEntry?) throws(StorageError) -> Verification {
    var damages = badCopies.map {
      Finding(.headerCopy, segment: number, offset: $0, byteCount: Layout.headerByteCount)
    }
    if let entry, let difference = difference(from: entry) { damages.insert(difference, at: 0) }
    var verifier = SegmentVerifier(self, entry: entry, end: byteCount)
    var window = Buffer()
    try verifier.run(through: &window)
    var outcome = verifier.outcome
    outcome.report.damages = damages + outcome.report.damages
    return outcome
  }
}
