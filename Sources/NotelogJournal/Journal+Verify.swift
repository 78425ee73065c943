// Verifying everything that can be verified without keys. It never writes. FORMAT.md §4, §5, §12.

extension Journal {
  /// What verifying found.
  package struct Verification: Sendable {
    /// What opening found, and what reading every byte found besides.
    package var report: RecoveryReport
    package var segmentCount = 0
    package var frameCount = 0
    package var byteCount = 0
  }

  /// Reads every byte of a store and checks it.
  package static func verify(_ storage: any Storage, storeID: StoreID? = nil) throws(JournalError)
    -> Verification
  {
    var examination = try Examination(storage, storeID: storeID)
    let catalog = Catalog(key: JournalOptions().fingerprintKey)
    try catalog.load(&examination)
    var verification = Verification(report: examination.report)
    do {
      verification.report.checkpoint = try examination.verifiedCheckpoint()
      for segment in catalog.segments.all {
        guard let found = examination.survey.segments[segment.number] else { continue }
        // A source that was cut and not finished has no footer to check.
        let isCut = examination.log.contains { $0.number == segment.number && $0.isCut }
        var verifier = SegmentVerifier(
          found, entry: isCut ? nil : segment.entry, end: examination.verifiedEnd(of: found))
        try verifier.run()
        verification.segmentCount += 1
        verification.frameCount += verifier.frameCount
        verification.byteCount += found.byteCount
        for damage in verifier.damages
        where !verification.report.damages.contains(where: { $0.covers(damage) }) {
          verification.report.damages.append(damage)
        }
      }
    } catch { throw JournalError(error) }
    return verification
  }
}

extension Damage {
  /// Whether another finding speaks of the same bytes.
  fileprivate func covers(_ other: Damage) -> Bool {
    segment == other.segment && kind == other.kind && offset == other.offset
  }
}

extension Examination {
  /// Up to where a segment's frames are verified: the break, if it is behind this segment's floor.
  func verifiedEnd(of found: FoundSegment) -> Int {
    let segment = log.first { $0.number == found.number }
    if found.number == end.segment, !report.wasClosed || appendable != nil {
      return max(end.offset, report.floor.segment == found.number ? report.floor.offset : 0)
    }
    return segment?.end ?? found.byteCount
  }
}
