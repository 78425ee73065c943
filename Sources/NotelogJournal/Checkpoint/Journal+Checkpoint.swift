// Writing a checkpoint: FORMAT.md §14.

import NotelogConcurrency

extension Journal {
  /// Writes a checkpoint of the index, so that the next opening need not go through what was written since the last.
  ///
  /// Writers wait while the index is handed to the system, not while it gets to the medium.
  package func checkpoint() throws(JournalError) {
    try checkWritable()
    compactor.enter()
    defer { compactor.leave() }
    if knowsWhatIsCurrent { try writeCheckpoint() }
  }

  /// Not where frames were lost that may have superseded others: each opening has to find that out, and a checkpoint would
  /// keep it from doing so.
  private var knowsWhatIsCurrent: Bool { staleBelow == 0 }

  /// Whether opening the store would have to go through more than a quarter of it again.
  package var isCheckpointDue: Bool {
    knowsWhatIsCurrent && catalog.changeCount > max(Self.smallestTail, catalog.index.recordCount / 4)
  }

  /// So few records are gone through at opening without anybody noticing.
  private static let smallestTail = 256

  /// A writer's share: the checkpoint, where it is due and nobody else is at it. What goes wrong in it is not the
  /// writer's: the checkpoint is disposable, and a log that fails says so itself.
  func checkpointIfDue() {
    let changeCount = catalog.changeCount
    guard knowsWhatIsCurrent, changeCount > options.checkpointTail,
      changeCount > catalog.index.recordCount / 4,
      compactor.enterIfFree()
    else { return }
    defer { compactor.leave() }
    try? writeCheckpoint()
  }

  private func writeCheckpoint() throws(JournalError) {
    // Before writers are held up.
    try journaling { () throws(StorageError) in try catalog.index.loadAll() }
    let draft: CheckpointDraft
    do {
      log.gate.enter()
      defer { log.gate.leave() }
      try log.waitUntilQuiet()
      draft = try draftCheckpoint()
    }
    try publish(draft)
  }

  /// Writes a checkpoint at closing, unless the one that is there is nearly as good. The caller holds the gate, and
  /// everything is durable.
  func writeCheckpointAtClose() {
    guard knowsWhatIsCurrent, catalog.changeCount > max(Self.smallestTail, catalog.index.recordCount / 1024)
    else { return }
    // It is disposable: closing in order does not depend on it.
    if let draft = try? draftCheckpoint() { try? publish(draft) }
  }

  /// A checkpoint that is written, and neither durable nor named.
  private struct CheckpointDraft {
    let file: any StorageFile
    /// The sequence number below which everything is in it.
    let nextSequence: UInt64
    let changeCount: Int
  }

  /// Writes the index to a file. The caller holds the gate and all that was reserved is visible.
  private func draftCheckpoint() throws(JournalError) -> CheckpointDraft {
    let (covered, next) = log.state.withLock { (max($0.visibleEnd, $0.floor), $0.nextVisible) }
    do throws(StorageError) {
      try catalog.index.loadAll()
      var entryCounts: [UInt32] = []
      var tombstoneCounts: [UInt32] = []
      try catalog.index.forEachShard { table, tombstoneCount in
        entryCounts.append(UInt32(table.count))
        tombstoneCounts.append(UInt32(tombstoneCount))
      }
      let segments = catalog.segments.all
      let head = CheckpointHead(
        storeID: storeID, salt: options.random(), key: catalog.index.key, covered: covered,
        coveredSalt: segments.first { $0.number == covered.segment }?.salt.value ?? 0,
        entryCounts: entryCounts, tombstoneCounts: tombstoneCounts,
        segments: segments.map(CheckpointHead.SegmentFigures.init),
        listed: catalog.listing.entries)
      do throws(StorageError) {
        return CheckpointDraft(
          file: try CheckpointFile.write(head, catalog.index, to: storage), nextSequence: next,
          changeCount: catalog.changeCount)
      } catch {
        dropDraft()
        throw error
      }
    } catch { throw JournalError(error) }
  }

  /// Makes a draft the checkpoint.
  private func publish(_ draft: CheckpointDraft) throws(JournalError) {
    defer { draft.file.close() }
    do {
      // Its head is a witness of the floor: what it covers must be durable before it gets its name.
      if draft.nextSequence > 1 { try log.awaitDurable(draft.nextSequence - 1) }
      try journaling { () throws(StorageError) in try CheckpointFile.publish(draft.file, in: storage) }
    } catch {
      dropDraft()
      throw error
    }
    catalog.noteCheckpoint(of: draft.changeCount)
  }

  private func dropDraft() { try? storage.unlink(FileName.index + FileName.partialSuffix) }
}

extension Journal {
  /// Whether a part of the checkpoint that was read since the opening did not check; it was built from the segments.
  package var isCheckpointDamaged: Bool { catalog.source?.isDamaged ?? false }
}
