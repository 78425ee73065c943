// Writing a checkpoint: FORMAT.md §31.

import NotelogFormat
import NotelogStorage
import NotelogBase
import Synchronization

extension Journal {
  /// Writes a checkpoint of the index, so that the next opening need not go through what was written since the last.
  ///
  /// Writers wait while the index is handed to the system, not while it gets to the medium.
  package func checkpoint() throws(JournalError) {
    try checkWritable()
    try enterCompactor()
    defer { compactor.leave() }
    if mayWriteCheckpoint { try writeCheckpoint() }
  }

  /// Not where frames were lost that may have superseded others: each opening has to find that out, and a checkpoint would
  /// keep it from doing so; nor where the index turned out to be wrong.
  private var mayWriteCheckpoint: Bool { knowsWhatIsCurrent && !catalog.checkpointHealth.isWrong }

  /// So few records are gone through at opening without anybody noticing.
  private static let smallestTail = 256

  /// A writer's share of what keeps the next opening short, where that is due and nobody else is at it: orders that the checkpoint
  /// lacks, and another checkpoint when a quarter of the index has changed.
  ///
  /// What goes wrong in it is not the writer's: both are disposable, and a log that fails says so itself.
  func keepOpeningShort() {
    guard mayWriteCheckpoint, isCheckpointStale || hasUnstoredOrders, hasRoomToSpare, compactor.enterIfFree()
    else { return }
    defer { compactor.leave() }
    // Whoever closes has entered it before, and left it.
    if isClosed || !holdsLock { return }
    if isCheckpointStale || !catalog.checkpointHealth.isUsable || hasUselessOrders() {
      try? writeCheckpoint()
    } else {
      storeOrders()
    }
  }

  /// Whether the disk is not full, or no longer.
  private var hasRoomToSpare: Bool {
    log.reservedFor.load(ordering: .relaxed) > 0 || log.refillReserve() == nil
  }

  /// Whether more than a quarter of the index has changed since the checkpoint.
  private var isCheckpointStale: Bool {
    let changeCount = catalog.changeCount
    // Without one, an opening builds all of the index, which takes ten times as long as going through changes.
    let limit = catalog.checkpointHealth.isUsable ? options.checkpointTail : options.checkpointTail / 4
    return changeCount > limit && changeCount > catalog.index.estimatedRecordCount / 4
  }

  private func writeCheckpoint() throws(JournalError) {
    // Before writers are held up.
    try fromStorage(catalog.index.loadAll())
    let draft: CheckpointDraft?
    do {
      let held = log.enterGate()
      defer { log.leaveGate() }
      try log.waitUntilQuiet()
      draft = try draftCheckpoint(held)
    }
    if let draft { try publish(draft) }
  }

  /// Writes a checkpoint at closing, unless the one that is there is as good or nearly so; then just orders that it lacks.
  /// Everything is durable.
  func writeCheckpointAtClose(_ held: borrowing GateHeld) {
    guard mayWriteCheckpoint else { return }
    let count = catalog.index.estimatedRecordCount
    let tail = count <= options.smallIndex ? 0 : max(Self.smallestTail, count / 1024)
    let isStale = catalog.changeCount > tail
    if isStale || hasUselessOrders() {
      // It is disposable: closing in order does not depend on it, and the last room is not for it.
      guard hasRoomToSpare else { return }
      if let draft = try? draftCheckpoint(held) { try? publish(draft) }
    } else if hasUnstoredOrders, hasRoomToSpare {
      storeOrders()
    }
  }

  /// A checkpoint that is written, and neither durable nor named.
  private struct CheckpointDraft {
    let file: any StorageFile
    let head: CheckpointHead
    /// The sequence number below which everything is in it.
    let nextSequence: UInt64
    let changeCount: Int
  }

  /// Writes the index to a file. All that was reserved is visible.
  ///
  /// - Returns: Nothing where loading the index shows that frames are lost.
  private func draftCheckpoint(_ held: borrowing GateHeld) throws(JournalError) -> CheckpointDraft? {
    // What it covers is a witness of the floor, and a head that another process was creating when it died may be in memory only.
    try log.proveStart(held)
    let (covered, next) = log.state.withLock { (max($0.visibleEnd, $0.floor), $0.nextVisible) }
    do throws(StorageError) {
      try catalog.index.loadAll()
      guard mayWriteCheckpoint else { return nil }
      var entryCounts: [UInt32] = []
      var tombstoneCounts: [UInt32] = []
      try catalog.index.forEachShard { table in
        entryCounts.append(UInt32(table.count))
        tombstoneCounts.append(UInt32(table.tombstoneCount))
      }
      let segments = catalog.segments.all
      let head = CheckpointHead(
        storeID: storeID, salt: options.random(), key: catalog.index.key, covered: covered,
        coveredSalt: segments.first { $0.number == covered.segment }?.salt.value ?? 0, nextSequence: next,
        isOfDamagedStore: isDamaged, entryCounts: entryCounts, tombstoneCounts: tombstoneCounts,
        segments: segments.map(CheckpointHead.SegmentFigures.init),
        listed: catalog.listing.entries)
      do throws(StorageError) {
        return CheckpointDraft(
          file: try CheckpointFile.write(head, catalog.index, leaving: log.aim, to: storage), head: head,
          nextSequence: next,
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
    let orders = ordersToCarry()
    do {
      // Its head is a witness of the floor: what it covers must be durable before it gets its name.
      if draft.nextSequence > 1 { try log.awaitDurable(draft.nextSequence - 1) }
      try fromStorage(CheckpointFile.publish(draft.file, in: storage))
    } catch {
      dropDraft()
      throw error
    }
    catalog.noteCheckpoint(draft.head, of: draft.changeCount)
    storeOrders(carrying: orders)
  }

  private func dropDraft() { try? storage.unlink(FileName.index + FileName.partialSuffix) }
}

extension Journal {
  /// Whether a part of the checkpoint that was read since the opening did not check; it was built from the segments.
  package var isCheckpointDamaged: Bool { catalog.checkpointHealth.isDamaged }
}
