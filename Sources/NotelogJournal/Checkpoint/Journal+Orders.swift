// Ordered indexes in the checkpoint's file: FORMAT.md §14, "Orders".

import NotelogConcurrency

/// Who keeps ordered indexes over a journal's records, which knows nothing of fields itself.
package protocol OrderKeeper: AnyObject, Sendable {
  /// Whether it keeps indexes that the checkpoint lacks.
  var hasUnstored: Bool { get }

  /// Writes the indexes that it keeps, or just those that the checkpoint lacks.
  ///
  /// - Parameters:
  ///   - journal: Whose they are.
  ///   - carried: Orders of the checkpoint before, where there is a new one: what is of use in them is written again. Nothing
  ///     where only what the checkpoint lacks is asked for.
  func store(of journal: Journal, carrying carried: [StoredOrder]?)
}

extension Journal {
  /// So many checkpoints carry an order that no query asked for; the next does not.
  private static let carriedCount = 8

  /// Has somebody's ordered indexes stored with the checkpoint.
  package func keepOrders(of keeper: any OrderKeeper) { orderKeeper.withLock { $0 = keeper } }

  /// The order of a field that lies in the checkpoint's file.
  package func storedOrder(_ name: OrderName) -> StoredOrder? { storedOrders.first { $0.name == name } }

  /// The orders that lie in the checkpoint's file.
  var storedOrders: [StoredOrder] {
    catalog.checkpointHealth.head.map { StoredOrder.all(of: $0, in: storage) } ?? []
  }

  var hasUnstoredOrders: Bool {
    catalog.checkpointHealth.isUsable && orderKeeper.withLock { $0 }?.hasUnstored ?? false
  }

  /// Has the orders written that the checkpoint lacks: all of them where it is new, and of those of the one before what is of
  /// use. The caller has entered the compactor: no checkpoint takes the place of this one meanwhile.
  func storeOrders(carrying carried: [StoredOrder]? = nil) {
    guard let keeper = orderKeeper.withLock({ $0 }) else { return }
    keeper.store(of: self, carrying: carried?.filter { $0.head.unusedCount < Self.carriedCount })
  }

  /// Writes an order behind those that lie in the checkpoint's file. Neither it nor the file's length is synced: what a crash
  /// leaves of it, its blocks tell.
  ///
  /// - Parameters:
  ///   - name: The field that it is of.
  ///   - predecessor: The order that it takes the place of without having been asked for.
  ///   - body: Called to write the keys: all that records have now, ascending, and perhaps others. Where it returns false,
  ///     there is no such order.
  /// - Throws: What stood in the way; then there is no such order either.
  package func storeOrder(
    _ name: OrderName, carrying predecessor: StoredOrder? = nil,
    _ body: (inout StoredOrderWriter) throws(StorageError) -> Bool
  ) throws(JournalError) {
    guard let checkpoint = catalog.checkpointHealth.head else { return }
    try journaling { () throws(StorageError) in
      let file = try retryingInterruptions { () throws(StorageError) in
        try storage.open(FileName.index, .update)
      }
      defer { file.close() }
      let end = try StoredOrder.heads(behind: checkpoint, in: file).endBlock
      var writer = StoredOrderWriter(file, salt: checkpoint.salt, firstBlock: end)
      guard try body(&writer) else { return }
      try writer.finish(name, unusedCount: predecessor.map { $0.head.unusedCount + 1 } ?? 0)
    }
  }
}
