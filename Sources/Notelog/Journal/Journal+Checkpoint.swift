// Writing a checkpoint: docs/format-derived.md §31.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Journal {
  /// Writes a checkpoint of the index, so that the next opening need not go through what was written since
  /// the last.
  ///
  /// Writers go on meanwhile: who changes a part of the index first may have to copy it, a 256th of the
  /// whole.
  func checkpoint() throws(NotelogError) {
    try checkWritable()
    try enterCompactor()
    defer { compactor.leave() }
    if mayWriteCheckpoint { try writeCheckpoint() }
  }

  /// Not where frames were lost that may have superseded others: each opening has to find that out, and a
  /// checkpoint would keep it from doing so; nor where the index turned out to be wrong.
  private var mayWriteCheckpoint: Bool { knowsWhatIsCurrent && !catalog.checkpointHealth.isWrong }

  /// So few records are gone through at opening without anybody noticing.
  private static let smallestTail = 256

  /// A writer's share of what keeps the next opening short, where that is due and nobody else is at it:
  /// orders that the checkpoint lacks, and another checkpoint when a quarter of the index has changed.
  func keepOpeningShort() {
    guard isCheckpointStale || hasUnstoredOrders, compactor.enterIfFree() else { return }
    defer { compactor.leave() }
    // Whoever closes has entered it before, and left it.
    if isClosed || !holdsLock { return }
    keepOpeningShort(isStale: isCheckpointStale)
  }

  /// The same at closing, unless the checkpoint that is there is as good or nearly so. The caller has entered
  /// the compactor, and everything is durable.
  func writeCheckpointAtClose() {
    let count = catalog.index.estimatedRecordCount
    let tail = count <= options.smallIndex ? 0 : max(Self.smallestTail, count / 1024)
    keepOpeningShort(isStale: catalog.changeCount > tail)
  }

  /// What goes wrong in it is nobody's: both are disposable, the last room is not for them, and a log that
  /// fails says so itself.
  private func keepOpeningShort(isStale: Bool) {
    guard mayWriteCheckpoint, isStale || hasUnstoredOrders, log.space.hasRoomToSpare else { return }
    if isStale || hasUselessOrders() { try? writeCheckpoint() } else { storeOrders() }
  }

  /// Whether more than a quarter of the index has changed since the checkpoint.
  private var isCheckpointStale: Bool {
    let changeCount = catalog.changeCount
    // Without one, an opening builds all of the index, which takes ten times as long as going through
    // changes.
    let limit = catalog.checkpointHealth.isUsable ? options.checkpointTail : options.checkpointTail / 4
    return changeCount > limit && changeCount > catalog.index.estimatedRecordCount / 4
  }

  /// Writes a checkpoint of what is current only: the orders of the one before have keys of records that are
  /// gone. They are made anew when they are asked for. The caller has entered the compactor.
  func purgeCheckpoint() throws(NotelogError) {
    orderKeeper.withLock { $0 }?.distrustAll()
    if mayWriteCheckpoint { try writeCheckpoint(carriesOrders: false) }
  }

  /// Writes what the checkpoint is to hold, everything as it was at one moment, and makes that the checkpoint.
  /// The caller has entered the compactor.
  private func writeCheckpoint(carriesOrders: Bool = true) throws(NotelogError) {
    // Before writers are held up.
    try fromStorage(catalog.index.loadAll())
    let head: CheckpointHead
    let index: IndexCopy
    // How many changes the index has seen.
    let changeCount: Int
    do {
      let held = log.enterGate()
      defer { log.leaveGate() }
      try log.waitUntilQuiet()
      // What it covers is a witness of the floor, and a head that another process was creating when it died
      // may be in memory only.
      try log.proveStart(held)
      try fromStorage(catalog.index.loadAll())
      // Loading the index may show that frames are lost.
      guard mayWriteCheckpoint else { return }
      let (covered, next) = log.state.withLock { (max($0.visibleEnd, $0.floor), $0.nextVisible) }
      index = IndexCopy(of: catalog.index)
      changeCount = catalog.changeCount
      let segments = catalog.segments.all
      head = CheckpointHead(
        storeID: storeID, salt: options.random(), key: catalog.index.key, covered: covered,
        coveredSalt: segments.first { $0.number == covered.segment }?.salt.value ?? 0, nextSequence: next,
        isOfDamagedStore: isDamaged, keptTime: catalog.kept.time, entryCounts: index.entryCounts,
        tombstoneCounts: index.tombstoneCounts,
        segments: segments.map(CheckpointHead.SegmentFigures.init), listed: catalog.listed.entries)
    }
    let orders: [StoredOrder]
    do throws(NotelogError) {
      let file: any StorageFile
      do { file = try CheckpointFile.write(head, index, leaving: log.space.aim, to: storage) } catch {
        throw NotelogError(error)
      }
      orders = carriesOrders ? storedOrders : []
      // Its head is a witness of the floor: what it covers must be durable before it gets its name.
      if head.nextSequence > 1 { try log.awaitDurable(head.nextSequence - 1) }
      try fromStorage(CheckpointFile.publish(file, in: storage))
    } catch {
      try? storage.unlink(FileName.index + FileName.partialSuffix)
      throw error
    }
    catalog.noteCheckpoint(head, of: changeCount)
    storeOrders(carrying: orders)
  }
}

// MARK: - Ordered indexes in the checkpoint's file: docs/format-derived.md §32.

/// Who keeps ordered indexes over a journal's records, which knows nothing of fields itself.
protocol OrderKeeper: AnyObject, Sendable {
  /// The indexes that the checkpoint lacks.
  var unstored: [OrderName] { get }

  /// Writes the indexes that the checkpoint lacks; all of them, and the orders of the one before, where there
  /// is a new one.
  func store(in journal: Journal, carrying: [StoredOrder]?)

  /// Takes in the sort keys of a transaction of another process, before it can be seen.
  ///
  /// - Returns: A ticket for ``end(_:)``, once it can.
  func begin(_ frames: [PendingFrame], _ bytes: RawSpan) -> UInt64

  /// Notes that a transaction can be seen, or can't be taken in.
  func end(_ ticket: UInt64)

  /// Has all indexes made anew, as records have changed that nobody can name.
  func distrustAll()
}

extension Journal {
  /// The orders that lie in the checkpoint's file.
  var storedOrders: [StoredOrder] {
    catalog.checkpointHealth.head.map { StoredOrder.all(behind: $0, in: storage) } ?? []
  }

  /// The one of a field.
  func storedOrder(_ name: OrderName) -> StoredOrder? { storedOrders.first { $0.name == name } }

  private var unstoredOrders: [OrderName] {
    catalog.checkpointHealth.isUsable ? orderKeeper.withLock { $0 }?.unstored ?? [] : []
  }

  var hasUnstoredOrders: Bool { !unstoredOrders.isEmpty }

  /// Whether an index was made anew whose order the checkpoint has: it is damaged, or has too many keys that
  /// are no longer any record's. Only another checkpoint is rid of it.
  func hasUselessOrders() -> Bool {
    let unstored = unstoredOrders
    return !unstored.isEmpty && storedOrders.contains { unstored.contains($0.name) }
  }

  /// Has the orders written that the checkpoint lacks; all of them where there is a new one. The caller has
  /// entered the compactor: no other checkpoint takes the place of this one meanwhile.
  func storeOrders(carrying carried: [StoredOrder]? = nil) {
    orderKeeper.withLock { $0 }?.store(in: self, carrying: carried)
  }

  /// Writes an order behind those that lie in the checkpoint's file. Neither it nor the file's length is
  /// synced: what a crash leaves of it, its blocks tell. What it was made of is durable before it counts: an
  /// opening that knows less would believe an order that lacks what it knows.
  ///
  /// - Parameters:
  ///   - name: The field that it is of.
  ///   - since: The transaction at which it had all keys.
  ///   - body: Called to write the keys: all that records have now, ascending, and perhaps others. Where it
  ///     returns false, there is no such order.
  /// - Throws: What stood in the way; then there is no such order either.
  func storeOrder(
    _ name: OrderName, since: UInt64, _ body: (inout StoredOrderWriter) throws(NotelogError) -> Bool
  ) throws(NotelogError) {
    guard let checkpoint = catalog.checkpointHealth.head else { return }
    let file = try fromStorage(storage.openFile(FileName.index, .update))
    // Whatever else bears the name is left alone.
    guard try fromStorage(CheckpointHead(from: file))?.salt == checkpoint.salt else { return }
    let end = try fromStorage(StoredOrder.heads(behind: checkpoint, in: file)).endBlock
    var writer = StoredOrderWriter(file, salt: checkpoint.salt, orderSalt: options.random(), firstBlock: end)
    guard try body(&writer) else { return }
    try fromStorage(writer.finishBlocks())
    if since > 0 { try log.awaitDurable(since) }
    try fromStorage(writer.finish(name, since: since))
  }
}
