// Verifying everything that can be verified without keys. It never writes. FORMAT.md §4, §5, §12.

import NotelogConcurrency

extension Journal {
  /// What verifying found.
  package struct Verification: Sendable {
    /// What opening found, and what reading every byte found besides.
    package var report: RecoveryReport
    package var segmentCount = 0
    package var frameCount = 0
    package var byteCount = 0
  }

  /// What looks into records while they are verified: called with each current one that is whole.
  package typealias Inspector = (StoredRecord, RawSpan) -> Void

  /// Reads every byte of a store and checks it.
  ///
  /// - Parameters:
  ///   - storage: The store's folder.
  ///   - storeID: The store's id, where it is known.
  ///   - threadCount: How many threads share the segments.
  ///   - progress: Told how far it has come, on the caller's thread.
  ///   - visit: Called on each thread, to hand over what looks into the records that the thread comes to.
  /// - Returns: What was found.
  /// - Throws: What stands in the way of reading; `cancelled`.
  package static func verify(
    _ storage: any Storage, storeID: StoreID? = nil, threadCount: Int = 1,
    progress: @escaping WorkProgress.Report = { _, _ in true },
    visit: @Sendable ((Inspector) -> Void) -> Void = { $0 { _, _ in } }
  ) throws(JournalError) -> Verification {
    var examination = try Examination(storage, storeID: storeID)
    let catalog = Catalog(key: JournalOptions().fingerprintKey)
    // Nobody keeps this index: it may be too large, and need not grow.
    catalog.index.reserve(examination.listedFrameLimit)
    let scan = Lock(ChunkScan())
    try catalog.load(&examination, threadCount: threadCount) { entry, envelope, segment in
      guard entry.kind == .chunk || envelope.byteCount > 0 else { return }
      scan.withLock { $0.take(entry, envelope, in: segment) { true } }
    }
    var verification = Verification(report: examination.report)
    verification.report.checkpoint = try journaling { () throws(StorageError) in
      try examination.verifiedCheckpoint()
    }
    let tasks = catalog.segments.all.compactMap { segment in
      examination.survey.segments[segment.number].map { found in
        // A source that was cut and not finished has no footer to check.
        let isCut = examination.log.contains { $0.number == segment.number && $0.isCut }
        return SegmentTask(
          found: found, segment: segment, entry: isCut ? nil : segment.entry,
          end: examination.verifiedEnd(of: found), staleBelow: examination.staleBelow)
      }
    }
    var work = WorkProgress(total: tasks.reduce(0) { $0 + $1.found.byteCount }, progress)
    let roundCount = threadCount == 1 ? 1 : 8 * threadCount
    for start in stride(from: 0, to: tasks.count, by: roundCount) {
      let round = Array(tasks[start..<min(start + roundCount, tasks.count)])
      for outcome in SegmentTask.run(round, catalog, threadCount, visit) {
        try verification.take(outcome)
        try work.advance(by: outcome.byteCount)
      }
    }
    var chunks = scan.withLock { $0 }
    try journaling { () throws(StorageError) in
      try chunks.keepOwners { (record, place) throws(StorageError) in
        try catalog.index.contains(catalog.index.fingerprint(of: record), at: place)
      }
    }
    verification.verifyChunks(chunks)
    return verification
  }
}

extension Journal.Verification {
  /// Adds what verifying a segment found.
  fileprivate mutating func take(_ outcome: SegmentTask.Outcome) throws(JournalError) {
    if let failure = outcome.failure { throw JournalError(failure) }
    segmentCount += 1
    frameCount += outcome.frameCount
    byteCount += outcome.byteCount
    for damage in outcome.damages where !report.damages.contains(where: { $0.covers(damage) }) {
      report.damages.append(damage)
    }
  }
}

/// A segment to be verified.
private struct SegmentTask: Sendable {
  /// What verifying it gave.
  struct Outcome: Sendable {
    var failure: StorageError?
    var damages: [Damage] = []
    var frameCount = 0
    let byteCount: Int
  }

  let found: FoundSegment
  let segment: Segment
  let entry: LiveEntry?
  let end: Int
  let staleBelow: UInt64

  /// Verifies segments on several threads: each takes the next one that nobody has taken.
  static func run(
    _ tasks: [SegmentTask], _ catalog: Catalog, _ threadCount: Int,
    _ visit: @Sendable ((Journal.Inspector) -> Void) -> Void
  ) -> [Outcome] {
    let next = Lock(0)
    let outcomes = Lock<[Outcome?]>(Array(repeating: nil, count: tasks.count))
    inParallel(min(threadCount, tasks.count)) { _ in
      visit { inspect in
        while true {
          let number = next.withLock { number in
            defer { number += 1 }
            return number
          }
          guard number < tasks.count else { return }
          let outcome = tasks[number].run(catalog, inspect)
          outcomes.withLock { $0[number] = outcome }
        }
      }
    }
    return outcomes.withLock { $0 }.compactMap { $0 }
  }

  private func run(_ catalog: Catalog, _ inspect: Journal.Inspector) -> Outcome {
    var outcome = Outcome(byteCount: found.byteCount)
    var verifier = SegmentVerifier(found, entry: entry, end: end)
    // Where the index came upon nothing in the segment that is dead, nothing need be looked up.
    let hasDead = segment.deathCount > 0
    let number = found.number
    let index = catalog.index
    do throws(StorageError) {
      try verifier.run { header, place, payload, next throws(StorageError) in
        // The next record's place in the index comes from memory while this one is seen to.
        if hasDead, let next { index.prefetch(index.fingerprint(of: next)) }
        guard header.kind == .record else { return }
        if hasDead {
          let place = Place(segment: number, offset: place)
          guard try index.contains(index.fingerprint(of: header.id), at: place) else { return }
        }
        let envelopeByteCount = header.hasEnvelope ? Int(payload.load(UInt16.self, at: 0)) : 0
        inspect(
          StoredRecord(
            id: header.id, collection: header.collection, revision: header.sequence,
            isPossiblyStale: header.sequence < staleBelow),
          payload.extracting(droppingFirst: envelopeByteCount))
      }
    } catch { outcome.failure = error }
    outcome.damages = verifier.damages
    outcome.frameCount = verifier.frameCount
    return outcome
  }
}

extension Damage {
  /// Whether another finding speaks of the same bytes.
  fileprivate func covers(_ other: Damage) -> Bool {
    segment == other.segment && kind == other.kind && offset == other.offset
  }
}

extension Examination {
  /// How many frames the footers of the live set can list, at most.
  fileprivate var listedFrameLimit: Int {
    live.entries.reduce(0) { sum, entry in
      sum + (survey.segments[entry.number]?.trailer?.footerByteCount ?? 0) / Layout.footerEntryByteCount
    }
  }

  /// Up to where a segment's frames are verified: the break, if it is behind this segment's floor.
  func verifiedEnd(of found: FoundSegment) -> Int {
    let segment = log.first { $0.number == found.number }
    if found.number == end.segment, !report.wasClosed || appendable != nil {
      return max(end.offset, report.floor.segment == found.number ? report.floor.offset : 0)
    }
    return segment?.end ?? found.byteCount
  }
}
