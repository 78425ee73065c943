// Writing a checkpoint: docs/format-derived.md §31.

import NotelogFormat
import NotelogStorage
import NotelogBase
import Synchronization

extension Journal {
  /// Writes a checkpoint of the index, so that the next opening need not go through what was written since the last.
  ///
  /// Writers go on meanwhile: who changes a part of the index first may have to copy it, a 256th of the whole.
  func checkpoint() throws(NotelogError) {
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

  private func writeCheckpoint() throws(NotelogError) {
    // Before writers are held up.
    try fromStorage(catalog.index.loadAll())
    let content: CheckpointContent?
    do {
      let held = log.enterGate()
      defer { log.leaveGate() }
      try log.waitUntilQuiet()
      content = try checkpointContent(held, othersGoOn: true)
    }
    if let content { try makeCheckpoint(of: content) }
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
      if let content = try? checkpointContent(held, othersGoOn: false) { try? makeCheckpoint(of: content) }
    } else if hasUnstoredOrders, hasRoomToSpare {
      storeOrders()
    }
  }

  /// What a checkpoint is to hold: everything as it was at one moment.
  private struct CheckpointContent: ~Copyable {
    let head: CheckpointHead
    let index: IndexCopy
    /// How many changes the index has seen.
    let changeCount: Int
  }

  /// What is in a checkpoint of this moment; nothing where loading the index shows that frames are lost. All that was reserved is visible.
  /// `othersGoOn` says whether the index may be changed before the checkpoint is written.
  private func checkpointContent(
    _ held: borrowing GateHeld, othersGoOn: Bool
  ) throws(NotelogError) -> CheckpointContent? {
    // What it covers is a witness of the floor, and a head that another process was creating when it died may be in memory only.
    try log.proveStart(held)
    let (covered, next) = log.state.withLock { (max($0.visibleEnd, $0.floor), $0.nextVisible) }
    try fromStorage(catalog.index.loadAll())
    guard mayWriteCheckpoint else { return nil }
    let index = IndexCopy(of: catalog.index, othersGoOn: othersGoOn)
    let segments = catalog.segments.all
    let head = CheckpointHead(
      storeID: storeID, salt: options.random(), key: catalog.index.key, covered: covered,
      coveredSalt: segments.first { $0.number == covered.segment }?.salt.value ?? 0, nextSequence: next,
      isOfDamagedStore: isDamaged, entryCounts: index.entryCounts, tombstoneCounts: index.tombstoneCounts,
      segments: segments.map(CheckpointHead.SegmentFigures.init), listed: catalog.listed.entries)
    return CheckpointContent(head: head, index: index, changeCount: catalog.changeCount)
  }

  /// Writes what a checkpoint is to hold, and makes that the checkpoint.
  private func makeCheckpoint(of content: consuming CheckpointContent) throws(NotelogError) {
    let (head, changeCount) = (content.head, content.changeCount)
    let file = try draft(of: content)
    defer { file.close() }
    let orders = ordersToCarry()
    do {
      // Its head is a witness of the floor: what it covers must be durable before it gets its name.
      if head.nextSequence > 1 { try log.awaitDurable(head.nextSequence - 1) }
      try fromStorage(CheckpointFile.publish(file, in: storage))
    } catch {
      dropDraft()
      throw error
    }
    catalog.noteCheckpoint(head, of: changeCount)
    storeOrders(carrying: orders)
  }

  /// Writes what a checkpoint is to hold to a file, which is neither durable nor named yet.
  private func draft(of content: consuming CheckpointContent) throws(NotelogError) -> any StorageFile {
    do { return try CheckpointFile.write(content.head, content.index, leaving: log.aim, to: storage) } catch {
      dropDraft()
      throw NotelogError(error)
    }
  }

  private func dropDraft() { try? storage.unlink(FileName.index + FileName.partialSuffix) }
}
