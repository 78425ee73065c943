// Creating, opening and closing a journal: FORMAT.md §12.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Journal {
  /// Creates a store's journal in its folder, which must hold no segment yet.
  static func create(
    in storage: any Storage, storeID: ID16, options: JournalOptions = JournalOptions()
  ) throws(NotelogError) -> Journal {
    let lock = try takeLock(storage, waiting: options.lockTimeout)
    let survey = try fromStorage(Survey(storage, storeID: nil))
    guard survey.isEmpty else { throw NotelogError(.alreadyExists, "there is a store here already") }
    try removeInterruptedCreations(survey.interruptedCreations, storage)
    let catalog = Catalog(key: options.fingerprintKey, cache: BlockCache(byteCount: options.cacheByteCount))
    let journal = Journal(
      storage, options: options, catalog: catalog, storeID: storeID, branch: options.newBranch(),
      state: LogState(), lock: lock, report: RecoveryReport())
    let held = journal.log.enterGate()
    defer { journal.log.leaveGate() }
    // The first segment is what makes the folder a store.
    try journal.log.makeRoom(held, byteCount: 0, footerByteCount: 0, takesReserve: true)
    journal.log.space.fill()
    return journal
  }

  /// Opens a store's journal, and recovers it first if it was not closed in order.
  ///
  /// A store id that is given must be the store's.
  ///
  /// - Throws: `damaged`, with what was found, where something is lost that nothing names, unless that is
  ///   accepted: then the store is open for reading only.
  static func open(
    in storage: any Storage, storeID: ID16? = nil, options: JournalOptions = JournalOptions()
  ) throws(NotelogError) -> Journal {
    let lock = try lock(for: options, storage)
    let pin = lock == nil ? storage.pinForReading(options.random) : nil
    // What goes wrong in a clean open, examining reports.
    if !options.examinesAllSegments, let lock,
      let closed = try? ClosedStore(storage, lock, storeID: storeID),
      let journal = try? closed.open(in: storage, options, lock)
    {
      return journal
    }
    let journal = try openExamined(storage, storeID, options, lock)
    journal.hold(pin)
    return journal
  }

  /// The lock that a journal begins with: none for reading, nor where it is leased and another process has it
  /// now.
  private static func lock(
    for options: JournalOptions, _ storage: any Storage
  ) throws(NotelogError) -> (any StorageFile)? {
    if options.isReadOnly { return nil }
    if !options.isLeased { return try takeLock(storage, waiting: options.lockTimeout) }
    do { return try takeLock(storage) } catch {
      guard error.code == .busy else { throw error }
      return nil
    }
  }

  /// Opens a store whose segments are all looked at.
  private static func openExamined(
    _ storage: any Storage, _ storeID: ID16?, _ options: JournalOptions, _ lock: (any StorageFile)?
  ) throws(NotelogError) -> Journal {
    var lock = lock
    var examination =
      lock == nil
      ? try Examination.stable(storage, storeID: storeID, forgiving: options.isReadOnly)
      : try Examination(storage, storeID: storeID)
    var report = examination.report
    // Where it is clear already that nothing will be written, recovery doesn't begin to.
    if lock != nil, !examination.isUnproven {
      examination = try recover(examination, storage, options, &report)
    }
    let catalog = try Catalog.open(&examination, in: storage, options)
    report.merge(examination.report)
    if report.verdict == .unproven {
      guard options.acceptsUnprovenDamage else { throw NotelogError(unproven: report) }
      lock?.close()
      lock = nil
    }
    // Another process may be writing there this very moment: a reader passes no verdict above the floor.
    if lock == nil { report.torn = [] }
    var state = try logState(examination, catalog, storage, isReading: lock == nil)
    state.isLent = lock == nil && options.isLeased && report.verdict != .unproven
    var options = options
    options.isReadOnly = lock == nil && !state.isLent
    let journal = Journal(
      storage, options: options, catalog: catalog, storeID: examination.storeID, branch: examination.branch,
      state: state, lock: lock, report: report)
    if lock != nil { journal.deferReplaced(examination) }
    return journal
  }

  /// Recovers, as often as needed: each step leaves a store that the next one finds whole.
  static func recover(
    _ examination: Examination, _ storage: any Storage, _ options: JournalOptions,
    _ report: inout RecoveryReport
  ) throws(NotelogError) -> Examination {
    var examination = examination
    for segment in examination.survey.segments.values where segment.header.writeFlags != 0 {
      throw NotelogError(
        .unsupportedVersion, "segment \(segment.number) asks for a newer version to write",
        segment: Int(segment.number))
    }
    for name in examination.survey.names.partials { try fromStorage(storage.remove(name)) }
    if examination.needsRecovery {
      report.wasRecovered = true
      report.torn = examination.report.torn
      var recovery = Recovery(storage: storage, examination: examination)
      let number = try FileName.segmentNumber(after: examination.highestKnownNumber)
      do { try recovery.run(number: number, salt: options.random()) } catch {
        guard error.code == .full else { throw error }
        try? storage.unlink(FileName.segment(number) + FileName.partialSuffix)
        giveUpReserve(storage)
        recovery.isDiskFull = true
        try recovery.run(number: number, salt: options.random())
      }
      examination = try Examination(storage, storeID: examination.storeID)
    }
    var isChanged: Bool
    do { isChanged = try Recovery.finishSources(examination, in: storage) } catch {
      guard error.code == .full else { throw error }
      giveUpReserve(storage)
      isChanged = try Recovery.finishSources(examination, in: storage)
    }
    if isChanged { examination = try Examination(storage, storeID: examination.storeID) }
    try removeUnpublished(examination, storage)
    try removeInterruptedCreations(
      examination.survey.interruptedCreations.filter {
        examination.live[$0] == nil && $0 > examination.end.segment
      },
      storage)
    return examination
  }

  /// Counts a recovery, and tells of it.
  func noteRecovery(_ report: RecoveryReport) {
    guard report.wasRecovered else { return }
    log.state.withLock(waking: .nobody) { $0.counters.recoveries += 1 }
    options.tell?(.recovered(tornByteCount: report.tornByteCount))
  }

  /// Makes room for a recovery on a full disk.
  private static func giveUpReserve(_ storage: any Storage) {
    storage.removeDisposables()
    _ = storage.releaseReserve()
  }

  /// Unlinks segments whose creation did not get as far as a header.
  private static func removeInterruptedCreations(
    _ numbers: [UInt32], _ storage: any Storage
  ) throws(NotelogError) {
    for number in numbers { try fromStorage(storage.remove(FileName.segment(number))) }
  }

  /// Unlinks output of compactions that was never published.
  private static func removeUnpublished(
    _ examination: Examination, _ storage: any Storage
  ) throws(NotelogError) {
    let segments = examination.survey.segments
    for segment in segments.values
    where !segment.header.kind.isLog && examination.live[segment.number] == nil {
      let areSourcesThere = segment.header.sources.allSatisfy {
        examination.live[$0.segment] != nil && segments[$0.segment]?.entry == examination.live[$0.segment]
      }
      if areSourcesThere { try fromStorage(storage.remove(FileName.segment(segment.number))) }
    }
  }

  /// The state from which writing goes on.
  private static func logState(
    _ examination: Examination, _ catalog: Catalog, _ storage: any Storage, isReading: Bool
  ) throws(NotelogError) -> LogState {
    let next = isReading ? try fromStorage(examination.nextVisible()) : examination.nextSequence
    // What is visible ends before a close mark; but what a reader waits for comes behind it.
    let isMarkLast = examination.closing != nil && !isReading
    var state = LogState(
      visibleEnd: isMarkLast ? examination.report.floor : examination.followedEnd,
      floor: examination.report.floor, live: examination.live, highestNumber: examination.highestKnownNumber)
    state.expect(next)
    if !isReading, let end = examination.appendable,
      let found = examination.survey.segments[end.segment]
    {
      state.head = try fromStorage(reopenHead(found, end: end.offset, catalog, storage))
    }
    return state
  }

  /// Makes the head of a store that was closed in order ready to be appended to.
  static func reopenHead(
    _ found: FoundSegment, end: Int, unsynced: Range<Int>? = nil, _ catalog: Catalog, _ storage: any Storage
  ) throws(StorageError) -> Head {
    let file = try storage.openFile(FileName.segment(found.number), .update)
    let segment =
      catalog.segments[found.number]?.reopened(in: file)
      ?? Segment(number: found.number, kind: .log, salt: found.salt, file: file, entry: nil)
    catalog.segments.insert(segment)
    let range = if let unsynced { unsynced } else { try found.closing()?.range ?? 0..<end }
    // What was last appended to it can't be known to be on the medium.
    return Head(
      segment: segment, header: found.header, end: end, allocatedEnd: end, footerByteCount: 0,
      unsynced: range)
  }

  /// What is said of a lock that could not be taken.
  static func refusal(of error: StorageError, _ storage: any Storage) -> NotelogError {
    if error.isRefusedLock {
      return .busy("the store is open for writing", FileName.lock, in: storage, cause: error)
    }
    if error.isMissing {
      return NotelogError(.notFound, "there is no such folder", in: storage.path, cause: error)
    }
    return NotelogError(error)
  }
}

extension StorageError {
  /// Whether somebody else has the lock.
  var isRefusedLock: Bool { call == .lock && errno == SystemErrno.wouldBlock }
}

// MARK: - Opening a store that was closed in order, without reading its segments: docs/format-derived.md §31, "Clean open".

extension ClosedStore {
  /// Opens the store for writing; nothing where what came after the checkpoint can't all be read.
  func open(
    in storage: any Storage, _ options: JournalOptions, _ lock: any StorageFile
  ) throws(NotelogError) -> Journal? {
    guard let taken = try fromStorage(Catalog.load(checkpoint, segments, end: end, options)),
      taken.readings.isEmpty
    else { return nil }
    let catalog = taken.catalog
    let next = min(max(closing.nextSequence, head.header.firstSequence), UInt64(FormatLimits.maximumSequence))
    var state = LogState(visibleEnd: floor, floor: floor, live: live, highestNumber: highestNumber)
    state.expect(next)
    state.head = try fromStorage(
      Journal.reopenHead(head, end: end.offset, unsynced: closing.range, catalog, storage))
    var report = RecoveryReport()
    report.floor = floor
    report.checkpoint = .used
    return Journal(
      storage, options: options, catalog: catalog, storeID: checkpoint.head.storeID,
      branch: head.header.branch, state: state, lock: lock, report: report)
  }
}

// MARK: - Closing in order: FORMAT.md §6, close mark.

extension Journal {
  /// Makes everything durable, marks the store as closed in order, and gives the lock back.
  ///
  /// - Throws: What stood in the way. The lock is given back all the same, and the next opening recovers.
  func close() throws(NotelogError) {
    // In the order in which writers take them: one that waits for room waits for whoever compacts.
    try enterTurn()
    defer { log.turn.leave() }
    lockHold.enter()
    defer { lockHold.leave() }
    // A compaction that is under way comes to its end first.
    compactor.enter()
    defer { compactor.leave() }
    if isClosed { return }
    defer {
      log.state.withLock { $0.failure = .closed(path) }
      records.close()
      // Before the lock: after a failure some may still be writing, and whoever opens the store next must not
      // meet them.
      for segment in catalog.segments.all { segment.file.close() }
      lock.withLock { $0?.close() }
      pin.withLock { $0 = nil }
    }
    guard holdsLock else { return }
    compactor.abandon()
    guard processIdentifier == owner else { return }
    try endInOrder(isForGood: true)
  }

  /// Makes everything durable, and marks the log as closed in order. The caller has the turn, and has entered
  /// the compactor: nobody else reserves.
  func endInOrder(isForGood: Bool) throws(NotelogError) {
    // The close mark says that everything before it is durable, so that comes first.
    try log.waitUntilQuiet()
    try log.awaitDurable(lastSequence)
    do {
      let held = log.enterGate()
      defer { log.leaveGate() }
      // A segment may have been finished after the last transaction was durable.
      try log.syncOlderSegments(held)
    }
    if isForGood { writeCheckpointAtClose() }
    let ending = try log.state.withLock {
      state throws(NotelogError) -> (segment: Segment, mark: CloseMark)? in
      if let failure = state.failure { throw failure }
      guard let head = state.head, head.isTouched else { return nil }
      let mark = CloseMark(
        place: LogPosition(segment: head.segment.number, offset: head.end), live: state.live,
        nextSequence: state.nextSequence)
      return (head.segment, mark)
    }
    guard let ending else { return }
    do { try write(ending.mark, in: ending.segment) } catch {
      throw NotelogError(.inputOutput, "the store could not be closed in order", in: path, cause: error)
    }
    // Where the close mark is, which is on the medium by now, is noted outside of the log too. The note itself is
    // not synced: an older one says less, and nothing false.
    let close = LastClose(
      storeID: storeID, mark: ending.mark.place, nextSequence: ending.mark.nextSequence)
    var buffer = Buffer(capacity: LastClose.byteCount)
    close.append(to: &buffer)
    try? lock.withLock { $0 }?.writeAll(buffer.bytes, at: 0)
  }

  /// Ends a segment with a close mark.
  private func write(_ mark: CloseMark, in segment: Segment) throws(StorageError) {
    var buffer = Buffer()
    mark.appendFrame(to: &buffer, salt: segment.salt)
    try segment.file.writeAll(buffer.bytes, at: mark.place.offset)
    try segment.file.setLength(mark.range.upperBound)
    try log.timing(segment.file.makeDurable)
  }

  /// Throws once it was closed.
  func checkOpen() throws(NotelogError) {
    if isClosed { throw NotelogError.closed(path) }
  }

  /// Whether it was closed.
  var isClosed: Bool { records.isClosed }

  /// Keeps a pin until the journal is closed, or goes.
  func hold(_ pin: consuming Pin?) {
    var held = pin
    self.pin.withLock { swap(&$0, &held) }
  }
}
