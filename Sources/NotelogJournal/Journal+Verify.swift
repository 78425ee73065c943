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
  package static func verify(
    _ storage: any Storage, storeID: StoreID? = nil,
    progress: @escaping WorkProgress.Report = { _, _ in true }
  ) throws(JournalError) -> Verification {
    var examination = try Examination(storage, storeID: storeID)
    let catalog = Catalog(key: JournalOptions().fingerprintKey)
    try catalog.load(&examination)
    var verification = Verification(report: examination.report)
    verification.report.checkpoint = try journaling { () throws(StorageError) in
      try examination.verifiedCheckpoint()
    }
    let segments = catalog.segments.all.compactMap { segment in
      examination.survey.segments[segment.number].map { (segment, $0) }
    }
    var work = WorkProgress(total: segments.reduce(0) { $0 + $1.1.byteCount }, progress)
    for (segment, found) in segments {
      // A source that was cut and not finished has no footer to check.
      let isCut = examination.log.contains { $0.number == segment.number && $0.isCut }
      let end = examination.verifiedEnd(of: found)
      try journaling { () throws(StorageError) in
        var verifier = SegmentVerifier(found, entry: isCut ? nil : segment.entry, end: end)
        try verifier.run()
        verification.take(verifier, of: found)
      }
      try work.advance(by: found.byteCount)
    }
    return verification
  }
}

extension Journal.Verification {
  /// Adds what verifying a segment found.
  fileprivate mutating func take(_ verifier: borrowing SegmentVerifier, of found: FoundSegment) {
    segmentCount += 1
    frameCount += verifier.frameCount
    byteCount += found.byteCount
    for damage in verifier.damages where !report.damages.contains(where: { $0.covers(damage) }) {
      report.damages.append(damage)
    }
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
