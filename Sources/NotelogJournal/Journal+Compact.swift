// Compaction, on demand and in steps: FORMAT.md §13.

import NotelogConcurrency
import Synchronization

extension Journal {
  /// What a compaction did.
  package struct CompactionResult: Sendable {
    /// Segments that were replaced, and those that took their place.
    package var removedSegments = 0
    package var addedSegments = 0
    /// Segments that are damaged and were left as they are.
    package var damagedSegments: [UInt32] = []
    /// The bytes of the files before and after.
    package var byteCountBefore = 0
    package var byteCountAfter = 0
    /// The bytes of live frames that were copied.
    package var copiedByteCount = 0
    /// Whether the budget was spent, or the caller said stop, before everything was done.
    package var isUnfinished = false
  }

  /// Copies what is live in segments that hold dead bytes, and deletes them.
  ///
  /// Writers and readers go on meanwhile: copying holds none of their locks.
  ///
  /// - Parameters:
  ///   - budget: What it may spend. What is not done then, the next call goes on with.
  ///   - progress: Called after each piece; what it began is given up when it returns false.
  /// - Returns: What was done.
  /// - Throws: `full` where even the reserve is not enough; `poisoned` and `closed` as writing does.
  package func compact(
    _ budget: CompactionBudget = .unlimited, progress: (CompactionProgress) -> Bool = { _ in true }
  ) throws(JournalError) -> CompactionResult {
    try checkWritable()
    compactor.enter()
    defer { compactor.leave() }
    var result = CompactionResult()
    result.byteCountBefore = statistics.byteCount
    defer { endTightness() }
    do { try finishHeadWithDeadBytes() } catch {
      // There may be room for it when something has been freed.
      guard error.code == .full else { throw error }
    }
    // What this very compaction makes is not compacted again.
    let numbers = Set(catalog.segments.all.map(\.number))
    var progressSoFar = CompactionProgress()
    progressSoFar.plannedByteCount = plan(among: numbers, .onDemand).estimate.copiedByteCount
    var budget = budget
    do {
      while try step(among: numbers, share: .onDemand, &budget, &progressSoFar, progress, &result) {}
    } catch {
      // What was freed is freed; the next call finds more room.
      guard error.code == .full, result.removedSegments > 0 else { throw error }
      result.isUnfinished = true
    }
    unlinkDeferred()
    result.byteCountAfter = statistics.byteCount
    return result
  }

  /// What `compact` would do now. The segment that is being written to is left out of the figures.
  package var compactionEstimate: CompactionEstimate { plan(among: nil, .onDemand).estimate }

  /// The bytes that are copied between two looks at the clock.
  private static let pieceByteCount = 1 << 20

  /// Compacts one group, or what the budget allows of it.
  ///
  /// - Returns: Whether there may be more to do.
  func step(
    among numbers: Set<UInt32>?, share: CompactionShare, _ budget: inout CompactionBudget,
    _ soFar: inout CompactionProgress,
    _ progress: (CompactionProgress) -> Bool, _ result: inout CompactionResult
  ) throws(JournalError) -> Bool {
    guard var compaction = try nextCompaction(among: numbers, share, &result) else { return false }
    do throws(Compaction.Failure) {
      while true {
        let before = compaction.byteCount
        let isDone = try compaction.advance(min(budget.byteCount, Self.pieceByteCount))
        let copied = compaction.byteCount - before
        budget.byteCount -= budget.byteCount == .max ? 0 : copied
        soFar.copiedByteCount += copied
        result.copiedByteCount += copied
        compactor.writtenByteCount.add(copied, ordering: .relaxed)
        guard progress(soFar) else {
          compaction.abandon()
          result.isUnfinished = true
          return false
        }
        if isDone { break }
        if budget.byteCount <= 0 || budget.isOver() {
          var rest: Compaction? = compaction
          compactor.state.withLock { $0.unfinished = rest.take() }
          result.isUnfinished = true
          return false
        }
      }
    } catch {
      compaction.abandon()
      return try settle(error, &result)
    }
    try replace(compaction, &result)
    if budget.byteCount <= 0 || budget.isOver() {
      result.isUnfinished = !plan(among: numbers, share).groups.isEmpty
      return false
    }
    return true
  }

  /// The compaction that was left unfinished, or one of the group that is best now.
  private func nextCompaction(
    among numbers: Set<UInt32>?, _ share: CompactionShare, _ result: inout CompactionResult
  ) throws(JournalError) -> Compaction? {
    if let unfinished = compactor.state.withLock({ $0.unfinished.take() }) { return unfinished }
    while let group = plan(among: numbers, share).groups.first {
      let number = log.state.withLock { $0.takeNumber() }
      do throws(Compaction.Failure) {
        return try Compaction(
          group.map(\.segment), of: catalog, in: storage, number: number, salt: options.random())
      } catch {
        guard try settle(error, &result) else { return nil }
      }
    }
    return nil
  }

  /// Sets a damaged source aside, alone; gives the reserve up where the disk is full.
  ///
  /// - Returns: Whether it is worth trying again; what is not, is thrown.
  private func settle(
    _ failure: Compaction.Failure, _ result: inout CompactionResult
  ) throws(JournalError) -> Bool {
    switch failure {
    case .damaged(let number):
      compactor.state.withLock { _ = $0.damaged.insert(number) }
      result.damagedSegments.append(number)
      return true
    case .storage(let error):
      try makeRoom(after: JournalError(error))
      return true
    }
  }

  /// Where the disk is full: gives the reserve up, or goes on segment by segment, those with the least to copy first.
  /// Each leaves more room for the next.
  private func makeRoom(after error: JournalError) throws(JournalError) {
    guard error.code == .full else { throw error }
    if log.releaseReserve() { return }
    let wasTight = compactor.state.withLock { state in
      defer { state.isTight = true }
      return state.isTight
    }
    if wasTight { throw error }
  }

  /// Promises the room that publishing takes before the copy is made, which on a full disk may take all there is.
  private func promisePublication(of sourceCount: Int) throws(JournalError) {
    let markByteCount = Layout.frameHeaderByteCount + CommitMark.byteCount
    let changeByteCount = Layout.frameHeaderByteCount + 8 + Layout.liveEntryByteCount + 4 * sourceCount
    log.gate.enter()
    defer { log.gate.leave() }
    try log.makeRoom(
      byteCount: 2 * (markByteCount + changeByteCount + 16), footerByteCount: 0, onlyFrees: true)
  }

  /// Segments worth compacting now, among those with the numbers.
  private func plan(among numbers: Set<UInt32>?, _ share: CompactionShare) -> CompactionPlan {
    let next = log.state.withLock { $0.nextSequence }
    let (excluded, known) = compactor.state.withLock { state in
      // As long as a file is there, the header that names it as a source must be there too.
      (state.damaged.union(state.deferred.values), state.lastSequences)
    }
    var candidates: [CompactionCandidate] = []
    var found: [UInt32: UInt64] = [:]
    for segment in catalog.segments.all {
      guard let byteCount = segment.entry?.byteCount, !excluded.contains(segment.number),
        numbers?.contains(segment.number) ?? true
      else { continue }
      let last = known[segment.number] ?? segment.lastSequence() ?? 0
      found[segment.number] = last
      candidates.append(
        CompactionCandidate(
          segment: segment, byteCount: byteCount, liveByteCount: segment.liveBytes,
          age: next > last ? next - last : 1))
    }
    compactor.state.withLock { $0.lastSequences = found }
    if compactor.state.withLock({ $0.isTight }) { return CompactionPlan(singly: candidates, share: share) }
    return CompactionPlan(candidates, aim: log.aim, share: share)
  }

  /// Makes the head a finished segment if something in it is dead, so that it can be compacted too.
  private func finishHeadWithDeadBytes() throws(JournalError) {
    log.gate.enter()
    defer { log.gate.leave() }
    try log.waitUntilQuiet()
    let hasDeadBytes = log.state.withLock { state in
      guard let segment = state.head?.segment, let footer = state.head?.footerByteCount,
        let end = state.head?.end
      else { return false }
      return footer > FooterBuilder().byteCount && end > Layout.firstFrameOffset + segment.liveBytes
    }
    guard hasDeadBytes else { return }
    try log.switchSegment(aim: log.aim, needing: 0)
  }

  /// Publishes a copy in one transaction and deletes the sources.
  private func replace(
    _ compaction: consuming Compaction, _ result: inout CompactionResult
  ) throws(JournalError) {
    let sources = compaction.sources
    do { try promisePublication(of: sources.count) } catch {
      compaction.abandon()
      try makeRoom(after: error)
      return
    }
    let number = compaction.number
    let output: Compaction.Output
    let file: any StorageFile
    do {
      output = try compaction.publish(storeID: storeID, floor: log.state.withLock { $0.floor })
      file = try retryingInterruptions { () throws(StorageError) in
        try storage.open(FileName.segment(number), .read)
      }
    } catch {
      // Nobody names it: what stays of it is deleted at the next opening.
      try? storage.unlink(FileName.segment(number) + FileName.partialSuffix)
      try? storage.unlink(FileName.segment(number))
      try makeRoom(after: JournalError(error))
      return
    }
    let segment = Segment(
      number: number, kind: .compacted, salt: SegmentSalt(output.entry.salt), file: file, entry: output.entry)
    do { try publish(LiveChange(added: [output.entry], removed: sources.map(\.number))) } catch {
      // Where there was no room for it, nothing names the output.
      if error.code == .full { try? storage.unlink(FileName.segment(number)) }
      throw error
    }
    try journaling { () throws(StorageError) in
      try catalog.adopt(segment, output.copies, dropped: output.dropped)
    }
    // A second transaction names a floor above the first: a witness that must survive before anything is deleted.
    try publish(LiveChange(added: [], removed: []))
    for source in sources { catalog.segments.remove(source.number) }
    compactor.state.withLock { state in
      for source in sources { state.deferred[source.number] = number }
    }
    unlinkDeferred()
    result.removedSegments += sources.count
    result.addedSegments += 1
  }

  /// Deletes segments that were replaced, unless somebody holds a pin.
  func unlinkDeferred() {
    let numbers = compactor.state.withLock { $0.deferred.keys.sorted() }
    guard !numbers.isEmpty, !Pins(storage).isAnyHeld() else { return }
    for number in numbers {
      // What can't be unlinked now is deleted at the next opening: what took its place names it as a source.
      try? storage.unlink(FileName.segment(number))
      compactor.state.withLock { $0.deferred[number] = nil }
    }
  }

  /// Commits a change of the live set durably.
  private func publish(_ change: LiveChange) throws(JournalError) {
    var batch = Batch()
    batch.publish(change)
    _ = try commitNow(&batch, .durable)
  }

  /// Sets the reserve aside again, if it was given up and there is room now.
  func endTightness() {
    log.refillReserve()
    compactor.state.withLock { $0.isTight = false }
  }
}
