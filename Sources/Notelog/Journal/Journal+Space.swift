// The automatic policy: compaction that is due, by name or by whoever writes. FORMAT.md §24, "Space".

import NotelogFormat
import NotelogBase
import Synchronization

extension Journal {
  /// Compacts if the space contract asks for it, until it no longer does or the budget is spent.
  ///
  /// For whoever wants compaction off the writers' path: a thread of the application's own that calls this
  /// now and then. The journal has no thread of its own; where nobody calls it, writers do their share
  /// (`JournalOptions.compactsAutomatically`).
  ///
  /// - Returns: Whether there is more to do.
  @discardableResult
  func compactIfDue(_ budget: WorkBudget = .unlimited) throws(NotelogError) -> Bool {
    try checkWritable()
    moveHorizonIfDue()
    guard log.space.isDue else { return false }
    try enterCompactor()
    defer { compactor.leave() }
    return try compact(budget.untilCancelled) { log.space.isDue }
  }

  /// How much a transaction of so many bytes, its part of the footer included, may make the files longer, at
  /// most.
  func growth(by byteCount: Int) -> Int {
    byteCount + Layout.firstFrameOffset + 2 * FooterBuilder().byteCount
      + catalog.segments.count * Layout.liveEntryByteCount
  }

  /// Waits until the files may grow by so much within the space contract, and compacts for it where nobody
  /// else does. The caller may have the turn to write, but not the log's gate: compaction needs that.
  ///
  /// What goes wrong in compaction is not the writer's: its own write will say what it must.
  ///
  /// - Parameters:
  ///   - growth: By how much the files may grow.
  ///   - leavesPromised: Whether what another writer was promised has to fit too.
  func waitForRoom(_ growth: Int, leavesPromised: Bool = false) {
    guard options.compactsAutomatically, !options.isReadOnly else { return }
    moveHorizonIfDue()
    let needed = { [log] in growth + (leavesPromised ? log.space.promisedGrowth : 0) }
    guard log.space.room() < needed(), isWorthCompacting(toWhoWaits: true) else { return }
    let longest = max(catalog.segments.all.map(\.byteCount).max() ?? 0, growth)
    let hasRoom = { [log] in log.space.room(longest: longest) >= needed() }
    guard !hasRoom(), compactor.enter(unless: hasRoom) else { return }
    defer { compactor.leave() }
    guard holdsLock else { return }
    _ = try? compact(.unlimited, withHead: true) { !hasRoom() }
    if !hasRoom() { noteUseless(includesHead: true) }
  }

  /// A writer's share of compaction after it has written so many bytes: if compaction is due, a slice in
  /// proportion to them; where what it deleted leaves the store above its bound, or another writer without
  /// the room that it was promised, all that takes.
  func keepSpaceContract(written byteCount: Int) {
    let interval = min(max(log.space.aim / 64, 1 << 14), 1 << 18)
    let isTime = compactor.note(byteCount, every: interval)
    let isKept = compactor.keeperCount.load(ordering: .relaxed) > 0
    if isTime, !isKept { keepOpeningShort() }
    guard options.compactsAutomatically else { return }
    let promised = log.space.promisedGrowth
    if log.space.room() < promised { waitForRoom(growth(by: 0), leavesPromised: true) }
    guard isTime, !isKept, log.space.isDue, isWorthCompacting(), compactor.enterIfFree() else { return }
    defer { compactor.leave() }
    guard holdsLock else { return }
    let budget = WorkBudget(byteCount: Self.compactedPerWritten * max(interval, byteCount))
    _ = try? compact(budget) { log.space.isDue }
  }

  /// Takes compaction and checkpoints off those who write, as long as `body` runs: it calls `keepSpace` after
  /// each of its transactions.
  ///
  /// For whoever writes much and can wait. Where that is not fast enough, writers still wait for room.
  func keepingSpace<Result>(_ body: () throws -> Result) rethrows -> Result {
    compactor.keeperCount.add(1, ordering: .relaxed)
    defer { compactor.keeperCount.subtract(1, ordering: .relaxed) }
    return try body()
  }

  /// Does everything that writers otherwise do a share of, as far as the budget allows.
  func keepSpace(_ budget: WorkBudget) {
    keepOpeningShort()
    guard options.compactsAutomatically, isWorthCompacting() else { return }
    // What goes wrong in it says the next write, if it has to.
    _ = try? compactIfDue(budget)
  }

  /// Compacts for a writer that found no room.
  ///
  /// - Returns: Whether anything was freed.
  func compactOnFullDisk() -> Bool {
    guard isWorthCompacting(toWhoWaits: true) else { return false }
    if let result = try? compact(), result.removedSegments > 0 { return true }
    noteUseless(includesHead: true)
    return false
  }

  /// How many bytes writers copy for each that they write while compaction is due: what it takes where four
  /// fifths of the segments that are chosen live, and as much again.
  private static let compactedPerWritten = 8

  /// Compacts as long as that is needed, and what is dead in the head too where it counts. The caller has
  /// entered the compactor.
  ///
  /// - Returns: Whether there is more to do.
  private func compact(
    _ budget: WorkBudget, withHead: Bool = false, while isNeeded: () -> Bool
  ) throws(NotelogError) -> Bool {
    try loadIndex()
    if !catalog.kept.isKnown { try? moveHorizon() }
    var run = CompactionRun(share: .automatic, budget: budget)
    defer { tell(run.result) }
    unlinkDeferred()
    defer { if log.space.isTight { log.space.endTightness() } }
    while isNeeded(), try step(&run) {}
    if withHead, isNeeded() {
      try finishHeadWithDeadBytes()
      while isNeeded(), try step(&run) {}
    }
    if isNeeded(), !run.isOver { noteUseless(includesHead: withHead) }
    return run.result.isUnfinished
  }

  /// How much is live in each segment is known only when all of the index is, and where the chunks are.
  func loadIndex() throws(NotelogError) {
    log.space.fill()
    try fromStorage(catalog.index.loadAll())
    // Where it can't be found out which chunks live, all of them are taken to.
    try? loadChunks()
  }

  /// Whether more has been written, or has died, than when compaction found nothing left that was worth it.
  /// Who waits for room asks for more than a share does: what was under way then may be dead now, and the
  /// store no larger.
  private func isWorthCompacting(toWhoWaits isWaiting: Bool = false) -> Bool {
    let slack = log.space.aim / 64
    return compactor.uselessAt.withLock { known in
      guard let known, known.includesHead || !isWaiting else { return true }
      return log.space.wastedByteCount >= known.wastedByteCount + slack
        || catalog.segments.diedByteCount >= known.diedByteCount + slack
    }
  }

  private func noteUseless(includesHead: Bool) {
    compactor.uselessAt.withLock {
      $0 = (log.space.wastedByteCount, catalog.segments.diedByteCount, includesHead)
    }
  }
}
