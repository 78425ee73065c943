// Ordered indexes in the checkpoint's file: docs/format-derived.md §32.

import NotelogFormat
import NotelogStorage
import NotelogBase

/// Who keeps ordered indexes over a journal's records, which knows nothing of fields itself.
protocol OrderKeeper: AnyObject, Sendable {
  /// The indexes that the checkpoint lacks.
  var unstored: [OrderName] { get }

  /// Writes the indexes that the checkpoint lacks.
  func storeUnstored(of journal: Journal)

  /// Takes in the sort keys of a transaction of another process, before it can be seen.
  ///
  /// - Returns: A ticket for ``end(_:)``, once it can.
  func begin(_ frames: [PendingFrame], _ bytes: RawSpan) -> UInt64

  /// Notes that a transaction can be seen, or can't be taken in.
  func end(_ ticket: UInt64)

  /// Has all indexes made anew, as records have changed that nobody can name.
  func distrustAll()

  /// Writes all indexes, as there is a new checkpoint, and the orders of the one before.
  func storeAll(of journal: Journal, carrying: [StoredOrder])
}

extension Journal {
  /// Has somebody's ordered indexes stored with the checkpoint.
  func keepOrders(of keeper: any OrderKeeper) { orderKeeper.withLock { $0 = keeper } }

  /// The order of a field that lies in the checkpoint's file.
  func storedOrder(_ name: OrderName) -> StoredOrder? {
    catalog.checkpointHealth.head.flatMap { StoredOrder.find(name, behind: $0, in: storage) }
  }

  /// The orders that a new checkpoint takes over from the one that is there now.
  func ordersToCarry() -> [StoredOrder] { storedOrderHeads().compactMap { storedOrder($0.name) } }

  /// What the orders say of themselves that lie in the checkpoint's file.
  func storedOrderHeads() -> [StoredOrderHead] {
    guard let checkpoint = catalog.checkpointHealth.head,
      let file = try? storage.openFile(FileName.index, .read)
    else { return [] }
    defer { file.close() }
    return (try? StoredOrder.heads(behind: checkpoint, in: file))?.found.map(\.head) ?? []
  }

  private var unstoredOrders: [OrderName] {
    catalog.checkpointHealth.isUsable ? orderKeeper.withLock { $0 }?.unstored ?? [] : []
  }

  var hasUnstoredOrders: Bool { !unstoredOrders.isEmpty }

  /// Whether an index was made anew whose order the checkpoint has: it is damaged, or has too many keys that are no longer any
  /// record's. Only another checkpoint is rid of it.
  func hasUselessOrders() -> Bool {
    let unstored = unstoredOrders
    return !unstored.isEmpty && storedOrderHeads().contains { unstored.contains($0.name) }
  }

  /// Has the orders written that the checkpoint lacks. The caller has entered the compactor: no other checkpoint takes the
  /// place of this one meanwhile.
  func storeOrders() { orderKeeper.withLock { $0 }?.storeUnstored(of: self) }

  /// Has all orders written, as there is a new checkpoint. The caller has entered the compactor.
  func storeOrders(carrying carried: [StoredOrder]) {
    orderKeeper.withLock { $0 }?.storeAll(of: self, carrying: carried)
  }

  /// Writes an order behind those that lie in the checkpoint's file. Neither it nor the file's length is synced: what a crash
  /// leaves of it, its blocks tell. What it was made of is durable before it counts: an opening that knows less would
  /// believe an order that lacks what it knows.
  ///
  /// - Parameters:
  ///   - name: The field that it is of.
  ///   - since: The transaction at which it had all keys.
  ///   - body: Called to write the keys: all that records have now, ascending, and perhaps others. Where it returns false,
  ///     there is no such order.
  /// - Throws: What stood in the way; then there is no such order either.
  func storeOrder(
    _ name: OrderName, since: UInt64, _ body: (inout StoredOrderWriter) throws(NotelogError) -> Bool
  ) throws(NotelogError) {
    guard let checkpoint = catalog.checkpointHealth.head else { return }
    let file = try fromStorage(storage.openFile(FileName.index, .update))
    defer { file.close() }
    let end = try fromStorage { () throws(StorageError) -> Int? in
      // Whatever else bears the name is left alone.
      guard try CheckpointHead(from: file)?.salt == checkpoint.salt else { return nil }
      return try StoredOrder.heads(behind: checkpoint, in: file).endBlock
    }
    guard let end else { return }
    var writer = StoredOrderWriter(file, salt: checkpoint.salt, orderSalt: options.random(), firstBlock: end)
    guard try body(&writer) else { return }
    try fromStorage(writer.finishBlocks())
    if since > 0 { try log.awaitDurable(since) }
    try fromStorage(writer.finish(name, since: since))
  }
}
