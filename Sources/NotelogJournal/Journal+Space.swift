// The automatic policy: compaction that is due, by name or by whoever writes. FORMAT.md §13, "Space".

import NotelogConcurrency

extension Journal {
  /// Where the store stands with its space contract.
  var spaceContract: SpaceContract {
    let (damaged, unfinished) = compactor.state.withLock { state in
      (state.damaged, state.unfinished?.byteCount ?? 0)
    }
    let headByteCount = log.state.withLock { $0.head?.allocatedEnd ?? 0 }
    var byteCount = unfinished + headByteCount
    for segment in catalog.segments.all where !damaged.contains(segment.number) {
      byteCount += segment.entry?.byteCount ?? 0
    }
    return SpaceContract(byteCount: byteCount, liveByteCount: catalog.liveByteCount, aim: log.aim)
  }

  /// Compacts if the space contract asks for it, until it no longer does or the budget is spent.
  ///
  /// For whoever wants compaction off the writers' path: a thread of the application's own that calls this now and
  /// then. The journal has no thread of its own; where nobody calls it, writers do their share
  /// (`JournalOptions.compactsAutomatically`).
  ///
  /// - Returns: Whether there is more to do.
  @discardableResult
  package func compactIfDue(_ budget: CompactionBudget = .unlimited) throws(JournalError) -> Bool {
    try checkWritable()
    guard spaceContract.isDue else { return false }
    compactor.enter()
    defer { compactor.leave() }
    return try compactWhileDue(budget)
  }

  /// Compacts until it is no longer due. The caller holds compaction's gate.
  private func compactWhileDue(_ budget: CompactionBudget) throws(JournalError) -> Bool {
    defer { if compactor.state.withLock({ $0.isTight }) { endTightness() } }
    var budget = budget
    var result = CompactionResult()
    var progress = CompactionProgress()
    unlinkDeferred()
    while spaceContract.isDue {
      let isMore = try step(among: nil, share: .automatic, &budget, &progress, { _ in true }, &result)
      if !isMore { return result.isUnfinished }
    }
    return false
  }

  /// A writer's share of compaction, before it writes that many bytes: a slice in proportion to them if compaction is
  /// due, all of it near the bound. What goes wrong in it is not the writer's: its own write will say what it must.
  func keepSpaceContract(writing byteCount: Int) {
    let interval = max(log.aim / 64, 1 << 14)
    guard compactor.note(byteCount, every: interval), options.compactsAutomatically else { return }
    let contract = spaceContract
    guard contract.isDue else { return }
    if contract.isNearBound {
      compactor.enter()
    } else if !compactor.enterIfFree() {
      // Somebody is at it.
      return
    }
    defer { compactor.leave() }
    _ = try? compactWhileDue(
      contract.isNearBound ? .unlimited : CompactionBudget(byteCount: 8 * max(interval, byteCount)))
  }
}
