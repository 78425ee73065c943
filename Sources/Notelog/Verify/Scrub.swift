// Verifying everything, a segment at a time: for whoever looks after a store that is in use.
// docs/maintenance.md, "Scrub".

import NotelogFormat
import NotelogStorage
import NotelogBase

/// Where a scrub goes on. It may be kept, and taken up in another opening of the store.
public struct ScrubPosition: Sendable, Hashable, Codable {
  /// Segments with lower numbers have been verified in this round.
  let segment: UInt32
}

/// What a call of a scrub found.
public struct ScrubSummary: Sendable {
  /// What is damaged, in the order in which it was found.
  public internal(set) var findings: [Finding] = []
  /// How many segments were read.
  public internal(set) var segmentCount = 0
  /// How many frames were checked.
  public internal(set) var frameCount = 0
  /// How many bytes were read.
  public internal(set) var byteCount = 0
  /// Where to go on; nil where this round has come to its end.
  public internal(set) var next: ScrubPosition?
}

extension Journal {
  /// Verifies finished segments, every byte of them, in order of their numbers, while the store is in use.
  ///
  /// At least one segment is verified in a call, whatever the budget; so calling it again and again comes to
  /// an end.
  ///
  /// - Parameters:
  ///   - position: What the call before returned; a new round where nothing is given.
  ///   - budget: The bytes to read, about, or the time.
  /// - Returns: What was found, and where to go on.
  /// - Throws: `inputOutput` where a file can't be read; `closed`.
  func scrub(
    from position: ScrubPosition? = nil, _ budget: WorkBudget = .unlimited
  ) throws(NotelogError) -> ScrubSummary {
    try checkOpen()
    let budget = budget.untilCancelled
    var result = ScrubSummary()
    for segment in catalog.segments.all {
      guard segment.number >= position?.segment ?? 0, let entry = segment.entry else { continue }
      if result.segmentCount > 0, result.byteCount >= budget.byteCount || budget.isOver() {
        result.next = ScrubPosition(segment: segment.number)
        return result
      }
      // What compaction has taken away meanwhile, nobody reads any more.
      guard catalog.segments[segment.number] != nil else { continue }
      try checkOpen()
      let found = try Survey.read(segment.file, segment.number)
      let finding = try fromStorage(found?.damages(as: entry))
      // Once the store is closed, a descriptor may be another file's: what was read then is no finding.
      try checkOpen()
      result.segmentCount += 1
      guard let found, let finding else {
        result.findings.append(Finding(.unreadableSegment, segment: segment.number))
        continue
      }
      for damage in finding.damages { damageLog.note(damage) }
      result.findings += finding.damages
      result.frameCount += finding.frameCount
      result.byteCount += found.byteCount
    }
    return result
  }
}

extension FoundSegment {
  /// What does not check in a file.
  ///
  /// - Parameter entry: What the live set says of the finished segment that it should be; nothing where it is
  ///   not finished.
  /// - Returns: The damages, and how many frames there are.
  /// - Throws: What stands in the way of reading.
  func damages(as entry: LiveEntry?) throws(StorageError) -> (damages: [Finding], frameCount: Int) {
    var damages = badCopies.map {
      Finding(.headerCopy, segment: number, offset: $0, byteCount: Layout.headerByteCount)
    }
    if let entry, let difference = difference(from: entry) { damages.insert(difference, at: 0) }
    var verifier = SegmentVerifier(self, entry: entry, end: byteCount)
    var window = Buffer()
    try verifier.run(through: &window)
    return (damages + verifier.damages, verifier.frameCount)
  }
}
