// Verifying everything that can be verified without keys. It never writes. FORMAT.md §4, §5, §12.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Journal {
  /// What looks into records while they are verified: called with each current one that is whole, its payload,
  /// and where in that its body is.
  typealias Inspector = (StoredRecord, _ payload: RawSpan, _ body: Range<Int>) -> Void

  /// Reads every byte of a store and checks it, if need be more than once: beside a writer, what was found is
  /// of one moment.
  ///
  /// - Parameters:
  ///   - storage: The store's folder.
  ///   - storeID: The store's id, where it is known.
  ///   - threadCount: How many threads share the segments.
  /// - Returns: What was found.
  /// - Throws: What stands in the way of reading; `busy` where the store never holds still.
  static func verify(
    _ storage: any Storage, storeID: ID16? = nil, threadCount: Int = 1
  ) throws(NotelogError) -> Verification {
    try ReadingAttempts.verify(storage) { () throws(NotelogError) in
      try verifyOnce(storage, storeID: storeID, threadCount: threadCount)
    }
  }

  /// Reads every byte of a store once. Beside a writer, what looks like damage may be due to its going on:
  /// ``ReadingAttempts`` tells.
  ///
  /// - Parameters:
  ///   - storage: The store's folder.
  ///   - storeID: The store's id, where it is known.
  ///   - threadCount: How many threads share the segments.
  ///   - progress: Told how far it has come, on the caller's thread.
  ///   - visit: Called on each thread, to hand over what looks into the records that the thread comes to.
  /// - Returns: What was found.
  /// - Throws: What stands in the way of reading; `cancelled`.
  static func verifyOnce(
    _ storage: any Storage, storeID: ID16? = nil, threadCount: Int,
    progress: @escaping WorkProgress.Report = { _, _ in true },
    visit: @Sendable ((Inspector) -> Void) -> Void = { $0 { _, _, _ in } }
  ) throws(NotelogError) -> Verification {
    let pin = storage.pinForReading(JournalOptions().random)
    var examination = try Examination(storage, storeID: storeID, forgiving: true)
    if examination.report.isDamaged {
      // Files may have changed between two looks.
      examination = try Examination.stable(storage, storeID: examination.storeID, forgiving: true)
    }
    let catalog = Catalog(key: examination.comparedKey ?? JournalOptions().fingerprintKey)
    // Nobody keeps this index: it may be too large, and need not grow.
    catalog.index.reserve(examination.listedFrameLimit)
    let chunks = try load(catalog, &examination, threadCount)
    var verification = Verification()
    verification.report = examination.report
    if let mark = examination.brokenCloseMark {
      verification.report.damages.append(mark)
      // It is one finding: what a crash tears was not there when the store was closed.
      verification.report.torn.removeAll { $0.place == mark.place && $0.byteCount <= mark.byteCount }
    }
    verification.nextSequence = examination.nextSequence
    var orders = OrderComparison(
      of: examination.comparedKey == nil ? nil : examination.checkpoint.found, in: storage)
    for part in try examination.verifySegments(of: catalog, &orders, threadCount, progress, visit) {
      verification.add(part)
    }
    // What the medium did not give, all in all, comes before what follows from it.
    let survey = examination.survey
    let unreadable = survey.segments.keys.sorted().flatMap { survey.segments[$0]?.unreadableDamages ?? [] }
    verification.report.damages.removeAll { $0.kind == .unreadableBytes }
    verification.report.damages.insert(contentsOf: unreadable, at: 0)
    verification.verifyChunks(chunks)
    // A segment that does not check is no witness of what the checkpoint should say.
    examination.report.damages = verification.report.damages
    (verification.report.checkpoint, verification.index) = try fromStorage(
      examination.verifiedCheckpoint(against: catalog))
    if !verification.report.isDamaged {
      (verification.index.orders, verification.index.hasUnsoundOrder) = orders.findings()
    }
    verification.noteIndex()
    _ = consume pin
    return verification
  }

  /// Makes the index of what the segments list.
  ///
  /// - Returns: What they say of large values.
  private static func load(
    _ catalog: Catalog, _ examination: inout Examination, _ threadCount: Int
  ) throws(NotelogError) -> ChunkScan {
    let scan = Lock(ChunkScan())
    try catalog.load(&examination, threadCount: threadCount) { entry, envelope, segment in
      // What a footer keeps of a chunk stands where a record's envelope does: without either, there is
      // nothing about large values.
      guard envelope.byteCount > 0 else { return }
      scan.withLock {
        let named = $0.apply(entry, envelope, in: segment)
        if !named.isEmpty {
          $0.owners.append((entry.id, named, FrameAddress(segment: segment, offset: entry.offset)))
        }
      }
    }
    var chunks = scan.withLock { $0 }
    let owners = chunks.owners
    chunks.owners = []
    for owner in owners
    where try fromStorage(
      catalog.index.contains(catalog.index.fingerprint(of: owner.record), at: owner.place))
    {
      chunks.owners.append(owner)
    }
    return chunks
  }
}

extension Examination {
  /// Verifies a catalog's segments on several threads, a few at a time: in between it tells how far it has
  /// come.
  ///
  /// - Returns: What each gave, in their order.
  fileprivate func verifySegments(
    of catalog: Catalog, _ orders: inout OrderComparison, _ threadCount: Int,
    _ told: @escaping WorkProgress.Report, _ visit: @Sendable ((Journal.Inspector) -> Void) -> Void
  ) throws(NotelogError) -> [Verification] {
    let tasks = catalog.segments.all.compactMap { segment in
      survey.segments[segment.number].map { (segment: segment, found: $0) }
    }
    var progress = WorkProgress(total: tasks.reduce(0) { $0 + $1.found.byteCount }, told)
    // Those of one length together, so that no thread waits long for the others.
    let order =
      threadCount > 1
      ? tasks.indices.sorted { tasks[$0].found.byteCount > tasks[$1].found.byteCount } : Array(tasks.indices)
    let empty = orders
    let found = Lock(orders)
    let outcomes = Lock<(parts: [Int: Verification], failure: StorageError?)>(([:], nil))
    for start in stride(from: 0, to: tasks.count, by: 2 * threadCount) {
      let part = order[start..<min(start + 2 * threadCount, tasks.count)]
      let queue = WorkQueue(count: part.count)
      inParallel(min(threadCount, part.count)) { _ in
        visit { inspect in
          var window = Buffer()
          var orders = empty
          defer { found.withLock { [orders] in $0.merge(orders) } }
          while let next = queue.next() {
            let number = part[start + next]
            do throws(StorageError) {
              let (segment, found) = tasks[number]
              let outcome = try verify(segment, found, catalog, through: &window) { record, payload, body in
                orders.add(record, payload.extracting(first: body.lowerBound))
                inspect(record, payload, body)
              }
              outcomes.withLock { $0.parts[number] = outcome }
            } catch {
              outcomes.withLock { [error] in $0.failure = $0.failure ?? error }
              queue.stop()
            }
          }
        }
      }
      if let failure = outcomes.withLock({ $0.failure }) { throw NotelogError(failure) }
      try progress.advance(by: part.reduce(0) { $0 + tasks[$1].found.byteCount })
    }
    orders = found.withLock { $0 }
    let parts = outcomes.withLock { $0.parts }
    return tasks.indices.compactMap { parts[$0] }
  }

  private func verify(
    _ segment: Segment, _ found: FoundSegment, _ catalog: Catalog, through window: inout Buffer,
    _ inspect: Journal.Inspector
  ) throws(StorageError) -> Verification {
    // A source that was cut and not finished has no footer to check.
    let entry = segment.cutEnd == nil ? segment.entry : nil
    // One of the log is verified to the break.
    let end = log.first { $0.number == found.number }.map(framesEnd) ?? found.byteCount
    var verifier = SegmentVerifier(found, entry: entry, end: end)
    let possiblyStaleBelow = report.possiblyStaleBelow
    // Where the index came upon nothing in the segment that is dead, nothing need be looked up.
    let hasDead = segment.deathCount > 0
    let number = found.number
    let index = catalog.index
    try verifier.run(through: &window) { header, place, payload, next throws(StorageError) in
      // The next record's place in the index comes from memory while this one is seen to.
      if hasDead, let next { index.prefetch(index.fingerprint(of: next)) }
      guard header.kind == .record else { return }
      if hasDead {
        let place = FrameAddress(segment: number, offset: place)
        guard try index.contains(index.fingerprint(of: header.id), at: place) else { return }
      }
      guard let body = header.bodyRange(in: payload) else { return }
      inspect(
        StoredRecord(header, isPossiblyStale: header.sequence < possiblyStaleBelow), payload, body)
    }
    var outcome = verifier.outcome
    outcome.lost = []
    for entry in verifier.outcome.lost where entry.kind == .record {
      let place = FrameAddress(segment: number, offset: entry.offset)
      if try index.contains(index.fingerprint(of: entry.id), at: place) { outcome.lost.append(entry) }
    }
    return outcome
  }

  /// The mark of the last clean close, where the file `lock` says that there is one and the log breaks there.
  /// It costs nothing: the next opening takes the store for one that was not closed.
  fileprivate var brokenCloseMark: Finding? {
    guard let last = witnesses.lastClose, last.storeID == storeID, last.mark == end, !report.wasClosed else {
      return nil
    }
    return Finding(
      .closeMark, segment: end.segment, offset: end.offset, byteCount: CloseMark.frameByteCount)
  }

  /// How many frames the footers of the live set can list, at most.
  fileprivate var listedFrameLimit: Int {
    live.entries.reduce(0) { sum, entry in
      sum + (survey.segments[entry.number]?.trailer?.footerByteCount ?? 0) / Layout.footerEntryByteCount
    }
  }
}

// MARK: - Whether each large value has all its chunks: FORMAT.md §8, INV-V3.

extension Verification {
  /// Every large value that a live record refers to must have all its chunks.
  mutating func verifyChunks(_ scan: ChunkScan) {
    let owners = Dictionary(scan.owners.flatMap { owner in owner.values.map { ($0, owner.record) } }) { $1 }
    for index in report.damages.indices {
      // What a chunk's frame bears is its value's id; whose it is, the record says.
      if let value = report.damages[index].record, let owner = owners[value.bytes] {
        report.damages[index].record = RecordID(owner)
      }
    }
    for owner in scan.owners {
      for value in owner.values where scan.values[value]?.isComplete != true {
        report.damages.append(
          Finding(.chunks, segment: owner.place.segment, offset: owner.place.offset, record: owner.record))
      }
    }
  }
}

// MARK: - Checks every byte of one segment: FORMAT.md §21.1, INV-S2 and INV-S3, and §5.

/// Reads a segment from its first byte to its last.
struct SegmentVerifier: ~Copyable {
  private let found: FoundSegment
  private let entry: LiveEntry?
  /// Where frames end in a segment that is not finished.
  private let end: Int
  /// What was found; as lost, all content frames that do not check, as their headers or the footer say what
  /// they were.
  private(set) var outcome = Verification()
  /// The footer as the frames say it must be.
  private var expected = FooterBuilder()

  init(_ found: FoundSegment, entry: LiveEntry?, end: Int) {
    self.found = found
    self.entry = entry
    self.end = end
    (outcome.segmentCount, outcome.byteCount) = (1, found.byteCount)
  }

  private var isFinished: Bool { entry != nil && found.trailer != nil }

  /// Checks everything, and calls `inspect` with each frame that is whole: its header, its place, its
  /// payload, and the id that the next frame has, if that is in memory already. It reads through a window
  /// that others have used.
  mutating func run(
    through window: inout Buffer,
    _ inspect: (FrameHeader, Int, RawSpan, ID16?) throws(StorageError) -> Void = { _, _, _, _ in }
  ) throws(StorageError) {
    let gap = Layout.headerByteCount..<min(Layout.headerCopyOffset, found.byteCount)
    var start = SegmentReader(found.file, salt: found.salt, end: gap.upperBound)
    if !gap.isEmpty, try !start.isZero(from: gap.lowerBound) { add(.notZero, gap.lowerBound, gap.count) }
    var walk = found.walk(to: isFinished ? (found.trailer?.footerOffset ?? end) : end)
    walk.reader.exchangeWindow(with: &window)
    defer { walk.reader.exchangeWindow(with: &window) }
    try checkFrames(&walk, inspect)
    if isFinished { try checkFooter() }
  }

  private mutating func add(_ kind: Finding.Kind, _ offset: Int, _ byteCount: Int, record: ID16? = nil) {
    outcome.report.damages.append(
      Finding(kind, segment: found.number, offset: offset, byteCount: byteCount, record: record))
  }

  private mutating func checkFrames(
    _ walk: inout SegmentWalk, _ inspect: (FrameHeader, Int, RawSpan, ID16?) throws(StorageError) -> Void
  ) throws(StorageError) {
    var transaction = (start: walk.next, frameCount: 0)
    while true {
      let next = try walk.advance()
      let place = walk.place
      if let lost = walk.lost {
        let kind = lost.mayHoldContent(in: found.header.kind) ? Finding.Kind.lostFrames : .commitMark
        add(kind, lost.range.lowerBound, lost.range.count)
        transaction = (place, 0)
      }
      guard let header = next else { return }
      outcome.frameCount += 1
      let isWhole = try walk.reader.isWhole(header, at: place)
      let record = header.kind.isContent ? header.id : nil
      if !isWhole {
        add(.payload, place, header.frameByteCount, record: record)
        if header.kind.isContent {
          outcome.lost.append(FooterEntry(header, offset: place, envelopeByteCount: 0))
        }
      } else if let padding = try walk.reader.brokenPadding(header, at: place) {
        add(.notZero, padding.lowerBound, padding.count, record: record)
      }
      if isWhole {
        let next = walk.reader.idAhead(at: walk.next)
        let payload = try walk.reader.payload(of: header, at: place)
        expected.note(header, at: place, payload: payload)
        try inspect(header, place, payload, next)
      }
      if header.kind.isInTransaction {
        transaction.frameCount += 1
        continue
      }
      if header.kind == .footer { add(.footer, place, header.frameByteCount) }
      if header.kind == .commit, isWhole {
        let mark = CommitMark(payload: try walk.reader.payload(of: header, at: place))
        if mark?.firstOffset != transaction.start || mark?.frameCount != transaction.frameCount,
          !outcome.report.damages.contains(where: { $0.kind == .lostFrames })
        {
          add(.commitMark, place, header.frameByteCount)
        }
      }
      transaction = (walk.next, 0)
    }
  }

  /// The footer must be, byte for byte, what the frames make it.
  private mutating func checkFooter() throws(StorageError) {
    guard let trailer = found.trailer else { return }
    var reader = SegmentReader(found.file, salt: found.salt, end: found.byteCount)
    var buffer = Buffer()
    expected.finish(at: trailer.footerOffset, header: found.header) { buffer.append($0) }
    let range = trailer.footerOffset..<found.byteCount
    let isEqual = try buffer.count == range.count ? reader.bytes(range).elementsEqual(buffer.bytes) : false
    if isEqual { return }
    // Where frames are damaged, the footer is the better witness of those; it has its own checksum.
    if !outcome.report.isDamaged { return add(.footer, trailer.footerOffset, range.count) }
    if try !isFooterOfFrames(trailer, &reader) { add(.footer, trailer.footerOffset, range.count) }
  }

  /// Whether a footer checks, lists every frame that is whole, and lists nothing else but where bytes are
  /// damaged.
  private mutating func isFooterOfFrames(
    _ trailer: Trailer, _ reader: inout SegmentReader
  ) throws(StorageError) -> Bool {
    var listed: [Int: FooterEntry] = [:]
    let state = try reader.forEachFooterEntry(trailer, evenIfIncomplete: true) { entry, _ in
      listed[entry.offset] = entry
    }
    if state == .unreadable { return false }
    var isSame = true
    var walk = found.walk(to: trailer.footerOffset)
    while let header = try walk.advance() {
      guard header.kind.isContent else { continue }
      let (entry, isWhole) = try walk.entry(of: header, checkingPayload: true)
      if isWhole, listed.removeValue(forKey: entry.offset) != entry { isSame = false }
    }
    let damaged = outcome.report.damages.filter { $0.kind == .lostFrames || $0.kind == .payload }
    let known = Set(outcome.lost.map(\.offset))
    outcome.lost += listed.values.filter { !known.contains($0.offset) }.sorted { $0.offset < $1.offset }
    return isSame
      && listed.values.allSatisfy { entry in damaged.contains { $0.range.contains(entry.offset) } }
  }
}

// MARK: - Verifying everything, a segment at a time: for whoever looks after a store that is in use. docs/maintenance.md, "Scrub".

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
  /// Verifies a file by itself, as an archive's.
  ///
  /// - Parameters:
  ///   - entry: What the live set says of the finished segment that it should be; nothing where it is not
  ///     finished.
  ///   - end: Where frames end where it is not finished.
  /// - Returns: What was found.
  /// - Throws: What stands in the way of reading.
  func verified(as entry: LiveEntry?, to end: Int = .max) throws(StorageError) -> Verification {
    var damages = badCopies.map {
      Finding(.headerCopy, segment: number, offset: $0, byteCount: Layout.headerByteCount)
    }
    if let entry, let difference = difference(from: entry) { damages.insert(difference, at: 0) }
    var verifier = SegmentVerifier(self, entry: entry, end: min(end, byteCount))
    var window = Buffer()
    try verifier.run(through: &window)
    var outcome = verifier.outcome
    outcome.report.damages = damages + outcome.report.damages
    return outcome
  }
}
