// Compaction, on demand and in steps: FORMAT.md §24.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Journal {
  /// Copies what is live in segments that hold dead bytes, and deletes them.
  ///
  /// Writers and readers go on meanwhile: copying holds none of their locks.
  ///
  /// - Parameters:
  ///   - budget: What it may spend. What is not done then, the next call goes on with.
  ///   - share: How much of a segment must be dead.
  ///   - progress: Called after each piece; what it began is given up when it returns false.
  /// - Returns: What was done.
  /// - Throws: `full` where even the reserve is not enough; `poisoned` and `closed` as writing does.
  func compact(
    _ budget: WorkBudget = .unlimited, _ share: CompactionShare = .onDemand,
    progress: WorkProgress.Report = { _, _ in true }
  ) throws(NotelogError) -> CompactionSummary {
    try checkWritable()
    try enterCompactor()
    defer { compactor.leave() }
    defer { log.space.endTightness() }
    try fromStorage(storage.checkPins())
    // What nobody keeps any more may be all the room there is.
    unlinkDeferred()
    // What could not be read before may be readable now.
    compactor.state.withLock { $0.damaged = [] }
    // What an unfinished one has copied may be what is to go.
    if share == .purge { compactor.abandon() }
    try loadIndex()
    // Where it can't be found out what may go, all is kept as before; but then nothing is purged.
    do { try moveHorizon(isPurging: share == .purge) } catch { if share == .purge { throw error } }
    var run = CompactionRun(share: share, budget: budget.untilCancelled)
    defer { tell(run.result) }
    run.result.byteCountBefore = statistics.segments.byteCount
    do { try finishHeadWithDeadBytes(share) } catch {
      // There may be room for it when something has been freed.
      guard error.code == .full else { throw error }
    }
    // What this very compaction makes is not compacted again.
    run.numbers = Set(catalog.segments.all.map(\.number))
    run.plannedByteCount = plan(run).estimate.copiedByteCount
    do { while try step(&run, progress) {} } catch {
      // What was freed is freed; the next call finds more room.
      guard error.code == .full, run.result.removedSegments > 0 else { throw error }
      run.result.isUnfinished = true
    }
    if share == .purge { try purgeCheckpoint() }
    run.result.byteCountAfter = statistics.segments.byteCount
    return run.result
  }

  /// What `compact` would do now. The segment that is being written to is left out of the figures.
  var compactionForecast: CompactionForecast {
    // Without all of the index it is an estimate still.
    try? catalog.index.loadAll()
    try? loadChunks()
    moveHorizonIfDue(unlessKnown: true)
    return plan(CompactionRun(share: .onDemand, budget: .unlimited)).estimate
  }

  /// The bytes that are copied between two looks at the clock.
  private static let pieceByteCount = 1 << 20

  /// Compacts one group, or what the budget allows of it. The caller has entered the compactor.
  ///
  /// - Returns: Whether there may be more to do.
  func step(
    _ run: inout CompactionRun, _ progress: WorkProgress.Report = { _, _ in true }
  ) throws(NotelogError) -> Bool {
    if catalog.checkpointHealth.isWrong { throw Self.wrongIndex(nil) }
    guard var compaction = try nextCompaction(&run) else { return false }
    do throws(Compaction.Obstacle) {
      while true {
        let (byteCount, isDone) = try compaction.advance(min(run.budget.byteCount, Self.pieceByteCount))
        run.spend(byteCount)
        log.state.withLock(waking: .nobody) { $0.counters.bytesCopied += byteCount }
        guard progress(run.result.copiedByteCount, run.plannedByteCount) else {
          compaction.abandon()
          run.result.isUnfinished = true
          return false
        }
        if isDone { break }
        if run.isOver {
          var rest: Compaction? = compaction
          compactor.state.withLock { $0.unfinished = rest.take() }
          run.result.isUnfinished = true
          return false
        }
      }
    } catch {
      compaction.abandon()
      try handle(error, &run)
      return true
    }
    try replace(compaction, &run)
    if run.isOver {
      run.result.isUnfinished = !plan(run).isEmpty
      return false
    }
    return true
  }

  /// The compaction that was left unfinished, or one of the group that is best now.
  private func nextCompaction(_ run: inout CompactionRun) throws(NotelogError) -> Compaction? {
    if let unfinished = compactor.state.withLock({ $0.unfinished.take() }) { return unfinished }
    while let group = plan(run).first {
      let sources = group.map(\.segment)
      do { try promisePublication(of: sources.count) } catch {
        try log.space.free(after: error)
        continue
      }
      let (number, live) = try log.state.withLock { state throws(NotelogError) in
        (try state.allocateNumber(), state.live)
      }
      do throws(Compaction.Obstacle) {
        let needed = try NeededTombstones(
          of: sources, in: catalog, live: live, share: run.share.tombstoneShare)
        return try Compaction(
          sources, of: catalog, needed: needed, in: storage, kind: log.branch.compactedKind, number: number,
          salt: options.random())
      } catch { try handle(error, &run) }
    }
    return nil
  }

  /// Sets a damaged source aside, alone; makes room where the disk is full. What trying again can't help, is
  /// thrown.
  private func handle(_ failure: Compaction.Obstacle, _ run: inout CompactionRun) throws(NotelogError) {
    switch failure {
    case .damaged(let number):
      compactor.state.withLock { _ = $0.damaged.insert(number) }
      run.result.damagedSegments.append(Int(number))
      catalog.damageLog.note(Finding(.footer, segment: number))
    case .wrongIndex(let record):
      // After a failed write or sync there are frames that never became visible, and that no index names.
      try log.state.withLock { state throws(NotelogError) in try state.checkWritable(at: path) }
      // The index, as the checkpoint made it, would have compaction destroy a record. The checkpoint is
      // removed: the next opening builds the index from the segments.
      catalog.checkpointHealth.noteWrongEntries()
      try? storage.unlink(FileName.index)
      throw Self.wrongIndex(record)
    case .storage(let error):
      try log.space.free(after: NotelogError(error))
    }
  }

  private static func wrongIndex(_ record: ID16?) -> NotelogError {
    let error = NotelogError(
      .damaged,
      "the index names records elsewhere than the segments do; nothing was removed, open the store again to have it built anew"
        + (record.map { ": \(RecordID($0))" } ?? ""))
    return record.map { error.of(RecordID($0)) } ?? error
  }

  /// Promises the room that publishing takes before the copy is made, which on a full disk may take all there
  /// is. A head that was opened again is durable then, so that the copy's header may name it as the floor.
  private func promisePublication(of sourceCount: Int) throws(NotelogError) {
    let markByteCount = Layout.frameHeaderByteCount + CommitMark.byteCount
    let changeByteCount = Layout.frameHeaderByteCount + 8 + Layout.liveEntryByteCount + 4 * sourceCount
    let held = log.enterGate()
    defer { log.leaveGate() }
    try log.makeRoom(
      held, byteCount: 2 * (markByteCount + changeByteCount + 16), footerByteCount: 0, takesReserve: true)
  }

  /// Segments worth compacting now, in groups.
  private func plan(_ run: CompactionRun) -> [[CompactionCandidate]] {
    let next = log.state.withLock { $0.nextSequence }
    let (excluded, known) = compactor.state.withLock { state in
      // As long as a file is there, the header that names it as a source must be there too.
      (state.damaged.union(state.deferred.values.map(\.by)), state.lastSequences)
    }
    var candidates: [CompactionCandidate] = []
    var found: [UInt32: UInt64] = [:]
    for segment in catalog.segments.all where segment.isFinished {
      let last = known[segment.number] ?? segment.lastSequence() ?? 0
      found[segment.number] = last
      guard !excluded.contains(segment.number), run.numbers?.contains(segment.number) ?? true else {
        continue
      }
      candidates.append(
        CompactionCandidate(
          segment: segment, byteCount: segment.byteCount,
          remainingByteCount: catalog.remainingByteCount(of: segment), age: next > last ? next - last : 1))
    }
    compactor.state.withLock { $0.lastSequences = found }
    if log.space.isTight { return candidates.single(run.share) }
    return candidates.groups(aim: log.space.affordableAim, run.share)
  }

  /// Makes the head a finished segment if something in it is dead, so that it can be compacted too. Before a
  /// purge each frame of it is looked at: figures count the entries of a footer that is not written yet.
  func finishHeadWithDeadBytes(_ share: CompactionShare = .automatic) throws(NotelogError) {
    var isDead = false
    if share == .purge, let head = catalog.segments.all.first(where: { !$0.isFinished }) {
      _ = try fromStorage(
        head.forEachEntry(upTo: head.visibleEnd) { (entry, _) throws(StorageError) in
          let location = Location(entry, segment: head.number)
          if !isDead { isDead = try !catalog.isCurrent(entry.id, at: location) }
        })
    }
    let held = log.enterGate()
    defer { log.leaveGate() }
    try log.waitUntilQuiet()
    try log.readFooter(held)
    let hasDeadBytes = log.state.withLock { state in
      guard let head = state.head else { return false }
      if isDead { return true }
      if catalog.kept.seconds > 0 { return head.segment.expiredByteCount > 0 }
      return head.footerByteCount > FooterBuilder().byteCount
        && head.end > Layout.firstFrameOffset + head.segment.liveBytes
    }
    guard hasDeadBytes else { return }
    while true {
      do { return try log.switchSegment(held, needing: 0) } catch {
        try log.space.free(after: error)
      }
    }
  }

  /// Publishes a copy in one transaction and deletes the sources.
  private func replace(_ compaction: consuming Compaction, _ run: inout CompactionRun) throws(NotelogError) {
    var sources = compaction.sources
    do { try promisePublication(of: sources.count) } catch {
      compaction.abandon()
      try log.space.free(after: error)
      return
    }
    let number = compaction.number
    let output: Compaction.Output
    let file: any StorageFile
    do {
      // What another process has purged since is said by its segments, which may be the sources.
      let horizon = log.branch.keptSeconds > 0 ? try snapshot().horizon(catalog.kept.horizon) : 0
      output = try compaction.publish(
        storeID: storeID, branch: log.branch, floor: log.state.withLock { $0.floor }, horizon: horizon)
      file = try storage.openFile(FileName.segment(number), .read)
    } catch {
      // Nobody names it: what stays of it is deleted at the next opening.
      try? storage.unlink(FileName.segment(number) + FileName.partialSuffix)
      try? storage.unlink(FileName.segment(number))
      try log.space.free(after: NotelogError(error))
      return
    }
    let segment = Segment(
      number: number, kind: log.branch.compactedKind, salt: SegmentSalt(output.entry.salt), file: file,
      entry: output.entry, figures: Segment.Figures(isNew: true))
    do { try publish(LiveChange(added: [output.entry], removed: sources.map(\.number))) } catch {
      // Where there was no room for it, nothing names the output.
      if error.code == .full { try? storage.unlink(FileName.segment(number)) }
      throw error
    }
    do {
      catalog.arrangement.enter()
      defer { catalog.arrangement.leave() }
      try fromStorage(catalog.adopt(segment, of: sources, output.copies, dropped: output.dropped))
    }
    // A second transaction names a floor above the first: a witness that must survive before anything is
    // deleted.
    try publish(LiveChange(added: [], removed: []))
    let revision = lastSequence
    compactor.state.withLock { state in
      for source in sources { state.deferred[source.number] = (number, revision, source.byteCount) }
    }
    catalog.remove(sources)
    let removedByteCount = sources.reduce(0) { $0 + $1.byteCount }
    let expiredByteCount = sources.reduce(0) { $0 + $1.expiredByteCount }
    let reclaimedByteCount = removedByteCount - segment.byteCount
    log.state.withLock(waking: .nobody) { $0.counters.bytesReclaimed += reclaimedByteCount }
    run.result.reclaimedByteCount += reclaimedByteCount
    run.result.removedSegments += sources.count
    run.result.addedSegments += 1
    // Before their files lose their names: what somebody holds then stays open.
    sources = []
    unlinkDeferred()
    catalog.segments.noteDeleted(removedByteCount, expired: expiredByteCount)
    compactor.noteFreed()
  }

  /// Deletes segments that were replaced before, unless a pin keeps them.
  func deferReplaced(_ examination: Examination) {
    compactor.state.withLock { state in
      for (number, by) in examination.replaced {
        let byteCount = examination.survey.segments[number]?.byteCount ?? 0
        state.deferred[number] = (by, examination.nextSequence - 1, byteCount)
      }
    }
    unlinkDeferred()
  }

  /// Deletes segments that were replaced, unless a pin keeps them.
  func unlinkDeferred() {
    let deferred = compactor.state.withLock { $0.deferred }
    if deferred.isEmpty { return }
    let pins = storage.heldPins()
    let byteCount = deferred.values.reduce(0) { $0 + $1.byteCount }
    for (number, replaced) in deferred
    where !pins.contains(where: { $0.keeps(replaced.revision, of: byteCount) }) {
      // What can't be unlinked now is tried again, and at the next opening: what took its place names it as a
      // source.
      do throws(StorageError) {
        try storage.remove(FileName.segment(number))
      } catch { guard error.isMissing else { continue } }
      compactor.state.withLock { $0.deferred[number] = nil }
    }
  }

  /// Commits a change of the live set durably.
  private func publish(_ change: LiveChange) throws(NotelogError) {
    var batch = Batch()
    batch.publish(change)
    try log.lookUp(&batch)
    try finish(reserveNow(for: &batch, .durable), &batch, .durable)
  }

  /// Counts a run of compaction that replaced something, and tells of it.
  func tell(_ result: CompactionSummary) {
    guard result.removedSegments > 0 else { return }
    log.state.withLock(waking: .nobody) { $0.counters.compactions += 1 }
    guard let tell = options.tell else { return }
    var result = result
    result.byteCountAfter = statistics.segments.byteCount
    result.byteCountBefore = result.byteCountAfter + result.reclaimedByteCount
    tell(.compacted(result))
  }
}

// MARK: - One call of compaction while it lasts.

/// What a call of compaction is about, and what it has done.
struct CompactionRun {
  let share: CompactionShare
  /// The segments it is about, where not all are.
  var numbers: Set<UInt32>?
  private(set) var budget: WorkBudget
  /// How many bytes there were to copy when it began.
  var plannedByteCount = 0
  var result = CompactionSummary()

  /// Whether the budget is spent.
  var isOver: Bool { budget.byteCount <= 0 || budget.isOver() }

  mutating func spend(_ byteCount: Int) {
    if budget.byteCount != .max { budget.byteCount = max(0, budget.byteCount - byteCount) }
    result.copiedByteCount += byteCount
  }
}
