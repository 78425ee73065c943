// Lending the store: the writer's lock is given back while the journal stays open, and taken again. FORMAT.md
// §25, "Lending".

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Journal {
  /// Whether this process holds the store's lock, and so nobody else writes.
  var holdsLock: Bool { lock.withLock { $0 != nil } }

  /// Waits for what is being written, marks the store as closed in order and gives the lock back. Reads go
  /// on; writes are refused until ``resume(waiting:)``. Where the lock isn't held, nothing happens.
  ///
  /// - Throws: `busy` while a large value is being uploaded, `poisoned`: then the lock is kept. Otherwise
  ///   what stood in the way of closing in order: the lock is given back all the same, and who takes it next
  ///   recovers.
  func suspend() throws(NotelogError) {
    try enterTurn()
    defer { log.turn.leave() }
    lockHold.enter()
    defer { lockHold.leave() }
    try lend()
  }

  /// The same if nobody is writing this very moment.
  ///
  /// - Returns: Whether the lock is given back.
  @discardableResult
  func suspendIfIdle() throws(NotelogError) -> Bool {
    guard log.turn.enterIfFree() else { return false }
    defer { log.turn.leave() }
    guard lockHold.enterIfFree() else { return false }
    defer { lockHold.leave() }
    try lend()
    return true
  }

  /// Keeps the lock from being given back, for what else only the process may change that has it; others go
  /// on writing meanwhile. In a write closure it is kept anyway.
  ///
  /// - Returns: Whether ``endExclusive()`` is to be called.
  func beginExclusive() throws(NotelogError) -> Bool {
    try checkWritable()
    if log.turn.isHeldByThisThread { return false }
    try takeTurn()
    defer { log.turn.leave() }
    // Closed while this thread waited for the turn.
    try checkWritable()
    guard holdsLock else { throw NotelogError.suspended(path) }
    lockHold.enter()
    return true
  }

  /// The lock may be given back again.
  func endExclusive() { lockHold.leave() }

  /// Gives the lock back if another process waits for it.
  func yieldIfWanted() {
    if isLockWanted() { _ = try? suspendIfIdle() }
  }

  /// Waits for whoever compacts, and begins, with the store's lock in hand.
  func enterCompactor() throws(NotelogError) {
    while true {
      if !holdsLock, options.isLeased {
        try takeTurn()
        log.turn.leave()
      }
      compactor.enter()
      if holdsLock { return }
      compactor.leave()
      if !options.isLeased { throw NotelogError.suspended(path) }
    }
  }

  /// Gives the lock back. The caller has the turn, and nobody else keeps it.
  private func lend() throws(NotelogError) {
    compactor.enter()
    defer { compactor.leave() }
    guard holdsLock, processIdentifier == owner else { return }
    // After a failure others may still be writing, and whoever takes the lock must not meet them: closing
    // ends them.
    try log.waitUntilQuiet()
    guard !catalog.chunks.hasUploads else {
      throw NotelogError(
        .busy, "a large value is being uploaded: others would take what there is of it for dead", in: path)
    }
    compactor.abandon()
    // The files that were not asked for yet are opened, so that they can be read when another process has
    // removed their names; more than can be open at once are held by a pin.
    hold(storage.pinForReading(options.random))
    for segment in catalog.segments.all { _ = try? segment.file.byteCount() }
    defer {
      log.state.withLock { state in
        state.isLent = true
        state.head = nil
        state.footer = nil
      }
      lock.withLock { file in
        file?.close()
        file = nil
      }
    }
    try endInOrder(isForGood: false)
  }

  /// Takes the lock again, and takes in what others have committed meanwhile. Where it is held, nothing
  /// happens.
  ///
  /// - Parameter lockTimeout: How long to wait for somebody else's lock.
  /// - Throws: `busy` where somebody else has it for longer; what opening throws. Then the store stays
  ///   suspended.
  func resume(waiting lockTimeout: Duration = .zero) throws(NotelogError) {
    try enterTurn()
    defer { log.turn.leave() }
    try takeBack(waiting: lockTimeout)
  }

  /// Takes the lock again. The caller has the turn.
  func takeBack(waiting lockTimeout: Duration) throws(NotelogError) {
    if isClosed { throw NotelogError.closed(path) }
    if holdsLock { return }
    if options.isReadOnly { throw NotelogError.readOnly(path) }
    // Before others are held up.
    let file = try Self.takeLock(storage, waiting: lockTimeout)
    do {
      compactor.enter()
      defer { compactor.leave() }
      following.enter()
      defer { following.leave() }
      try log.state.withLock { state throws(NotelogError) in
        if let failure = state.failure { throw failure }
      }
      try goOnWriting(file)
      // Before others may follow: whoever finds the lock not held takes what is written from now on for
      // another process's.
      lock.withLock { $0 = file }
    }
    log.state.withLock { $0.isLent = false }
    pin.withLock { $0 = nil }
  }

  /// Brings the log up to date for writing, as opening does. The caller holds the store's lock, the turn, the
  /// compactor and `following`.
  private func goOnWriting(_ file: any StorageFile) throws(NotelogError) {
    // What can't be followed may be what a recovery has left undone.
    let isClosing = (try? follow())?.endsInCloseMark ?? false
    let names = try fromStorage(FolderNames(storage))
    if isClosing, names.partials.isEmpty,
      let (head, closing) = try fromStorage(end(LastClose.read(file), names))
    {
      try log.state.withLock { state throws(NotelogError) in
        state.head = try fromStorage(
          Self.reopenHead(head, end: closing.range.upperBound, catalog, storage))
        state.floor = closing.place
        state.visibleEnd = state.floor
        state.startAt(
          max(closing.nextSequence, state.nextVisible, head.header.firstSequence),
          highestNumber: max(names.highest, state.highestNumber))
      }
    } else {
      // Who had it last did not give it back in order.
      var report = RecoveryReport()
      var examined = try Examination(storage, storeID: storeID)
      if examined.isUnproven { throw NotelogError(unproven: examined.report) }
      examined = try Self.recover(examined, storage, options, &report)
      let examination = examined
      let place = try follow().place
      guard place == examination.followedEnd else {
        throw NotelogError(
          .damaged, "the log can't be followed to its end; open the store again", segment: Int(place.segment),
          offset: place.offset)
      }
      deferReplaced(examination)
      try log.state.withLock { state throws(NotelogError) in
        if let end = examination.appendable, let segment = examination.survey.segments[end.segment] {
          state.head = try fromStorage(Self.reopenHead(segment, end: end.offset, catalog, storage))
        }
        state.live = examination.live
        state.floor = max(state.floor, examination.report.floor)
        state.startAt(
          max(examination.nextSequence, state.nextVisible),
          highestNumber: max(examination.highestKnownNumber, names.highest))
      }
      noteRecovery(report)
    }
    log.space.forget(headByteCount: log.state.withLock { $0.head?.allocatedEnd ?? 0 })
  }

  /// The close mark that the log ends in, if it is one of what is known, and nobody says that there was more.
  private func end(_ lastClose: LastClose?, _ names: FolderNames) throws(StorageError) -> (
    FoundSegment, CloseMark
  )? {
    let (place, live) = log.state.withLock { ($0.visibleEnd, $0.live) }
    // But for the head, all are in the live set, if nothing is wrong.
    guard names.numbers.filter({ live[$0] == nil }) == [place.segment],
      let found = try Survey.read(place.segment, in: storage), found.isIntact(of: storeID),
      let closing = try found.closing(),
      closing.speaks(of: live)
    else { return nil }
    if let lastClose, lastClose.storeID == storeID, lastClose.mark > closing.place { return nil }
    return (found, closing)
  }

  /// Waits for the turn.
  ///
  /// - Throws: `busy` in a closure that has it: it would wait for itself.
  func enterTurn() throws(NotelogError) {
    guard log.turn.isHeldByThisThread else { return log.turn.enter() }
    var error = NotelogError(
      .busy, "a write closure of this thread is running: use its transaction, not the store", in: path)
    error.sentence = "It is being written to already."
    throw error
  }
}

extension LogState {
  /// Begins where everything before a sequence number is visible and durable.
  fileprivate mutating func startAt(_ next: UInt64, highestNumber: UInt32) {
    expect(next)
    // Others have written meanwhile, whatever it was.
    noteWriting(in: nil)
    unsynced = []
    self.highestNumber = highestNumber
  }
}

extension Journal {
  /// How long to wait before the lock is asked for again: so often as a lease takes to be given back, and
  /// from then on longer and longer.
  private static let lockPauses = (
    first: Duration.microseconds(50), count: 20, longest: Duration.milliseconds(5)
  )
  /// How often who comes later lets those go first who wait already, and for how long each time.
  private static let courtesy = (count: 20, pause: Duration.microseconds(100))

  /// Takes the writing process's lock, and waits for it as long as that.
  static func takeLock(
    _ storage: any Storage, waiting lockTimeout: Duration = .zero
  ) throws(NotelogError) -> any StorageFile {
    let end = ContinuousClock.now.advanced(by: lockTimeout)
    var (pause, count) = (lockPauses.first, 0)
    var request: (any StorageFile)?
    defer { request?.close() }
    if lockTimeout > .zero {
      for _ in 0..<courtesy.count where isLockWanted(in: storage) { pauseThread(courtesy.pause) }
    }
    while true {
      do { return try storage.openLocked(FileName.lock, .createIfMissing, .exclusive) } catch {
        // Not at each attempt: saying who has it takes milliseconds.
        guard error.isRefusedLock, ContinuousClock.now < end else { throw refusal(of: error, storage) }
        // Who has it looks whether anybody asks, and is woken by what is written.
        if request == nil {
          request = try? storage.openLocked(FileName.waiting, .createIfMissing, .shared)
          var byte = Buffer()
          byte.appendZeros(1)
          _ = try? request?.write(byte.bytes, at: 0)
        }
        pauseThread(pause)
        count += 1
        if count > lockPauses.count { pause = min(pause + pause / 4, lockPauses.longest) }
      }
    }
  }

  /// What tells when another process begins to wait for the lock; nothing where the system can't.
  func watchRequests() -> StorageWatch? {
    // There has to be a file.
    _ = try? storage.open(FileName.waiting, .createIfMissing)
    return storage.watch(FileName.waiting)
  }

  /// Whether another process waits for the lock.
  func isLockWanted() -> Bool { Self.isLockWanted(in: storage) }

  private static func isLockWanted(in storage: any Storage) -> Bool {
    do {
      _ = try storage.openLocked(FileName.waiting, .read, .exclusive)
      return false
    } catch { return error.errno == SystemErrno.wouldBlock }
  }

  // MARK: - Moving on to what other processes have committed: FORMAT.md §25, "Following".

  /// How often another process may go on just while it is followed.
  private static let maximumAttempts = 1000
  /// How often a read that fails is tried again: whoever closes the store cuts its last segment, and the next
  /// writer goes on in it.
  private static let maximumReadAttempts = 10

  /// Takes in what other processes have committed since the journal was opened, or since it was last asked.
  /// Who holds the store's lock knows everything anyway.
  ///
  /// Snapshots stay as they were, readers go on meanwhile, and whoever watches is told of each transaction.
  ///
  /// - Returns: Whether there was anything.
  /// - Throws: `damaged` where something is missing that the log speaks of; then what was known before is
  ///   served.
  @discardableResult
  func refresh() throws(NotelogError) -> Bool {
    following.enter()
    defer { following.leave() }
    if isClosed { throw NotelogError.closed(path) }
    if holdsLock || !knowsWhatIsCurrent { return false }
    return try follow().hasNews
  }

  /// Returns when what others have committed is taken in with all that belongs to it, as far as records of it
  /// are visible now.
  func awaitFollowing() {
    if following.isHeldByThisThread { return }
    following.enter()
    following.leave()
  }

  /// The sequence number of the newest transaction that can be seen.
  var lastSequence: UInt64 { log.state.withLock(waking: .nobody) { $0.nextVisible - 1 } }

  /// The same, for who has entered `following`.
  func follow() throws(NotelogError) -> (hasNews: Bool, endsInCloseMark: Bool, place: LogPosition) {
    var follower = Follower(self)
    defer {
      follower.endArranging()
      unfinishedFollow.withLock { $0 = (follower.gap, follower.isExact) }
    }
    var attempt = 0
    while true {
      attempt += 1
      do {
        try follower.run()
        if let gap = follower.finish(), gap <= lastSequence { log.watch.tellGap(gap...lastSequence) }
        if followed.withLock({ $0.first })?() == true, attempt < Self.maximumAttempts { continue }
        return (follower.hasNews, follower.endsInCloseMark, follower.place)
      } catch {
        if error.cause?.errno == SystemErrno.inputOutput, attempt < Self.maximumReadAttempts { continue }
        // A file that was named a moment ago may be gone: its writer goes on.
        guard let cause = error.cause, cause.isMissing || cause.errno == SystemErrno.stale
        else { throw error }
        guard attempt < Self.maximumAttempts else {
          throw NotelogError(
            .damaged,
            "a segment that the log names is missing or does not check; open the store again (\(error))")
        }
      }
    }
  }
}
