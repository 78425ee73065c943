// Reading single records, and all of a collection.

extension Store {
  /// The record with an id, its sealed fields unopened; nil where there is none.
  ///
  /// - Throws: `damaged`, `closed`, `inputOutput`, `schemaConflict`.
  public func get<R: Record>(_ type: R.Type, _ id: RecordID) throws -> Entry<R>? {
    let reader = try reader(for: type)
    var buffer = ReadBuffer()
    return try read(id, in: reader.plan.collection.number, &buffer).map { Entry(stored: $0, reader: reader) }
  }

  /// The records with these ids, in the same order; nil in the place of one that doesn't exist.
  public func getMany<R: Record>(_ type: R.Type, _ ids: [RecordID]) throws -> [Entry<R>?] {
    let reader = try reader(for: type)
    var buffer = ReadBuffer()
    return try ids.map { id in
      try read(id, in: reader.plan.collection.number, &buffer).map { Entry(stored: $0, reader: reader) }
    }
  }

  /// A record of a collection, copied out.
  func read(
    _ id: RecordID, in collection: UInt16, _ buffer: inout ReadBuffer
  ) throws(NotelogError) -> OwnedRecord? {
    try OwnedRecord(journal.records.read(id.bytes, into: &buffer), in: collection, buffer)
  }
}

// MARK: - The store as it was at one moment.

/// A moment of a store: what is written, deleted or compacted later doesn't show in it.
///
/// It holds the files that were there: what compaction frees meanwhile takes up space until the snapshot
/// goes. Keys are not part of it: what is locked later can't be opened through it either.
public final class StoreSnapshot: Sendable, Opaque {
  let store: Store
  let moment: Snapshot

  init(_ store: Store) {
    self.store = store
    moment = store.journal.snapshot()
  }

  /// The revision of the last transaction that it sees.
  public var revision: UInt64 { moment.sequence }

  /// The record with an id as it was; nil where there was none.
  ///
  /// - Throws: `damaged`, `closed`, `inputOutput`, `schemaConflict`.
  public func get<R: Record>(_ type: R.Type, _ id: RecordID) throws -> Entry<R>? {
    let reader = try store.reader(for: type)
    var buffer = ReadBuffer()
    let number = reader.plan.collection.number
    return try OwnedRecord(moment.read(id.bytes, into: &buffer), in: number, buffer).map {
      Entry(stored: $0, reader: reader)
    }
  }
}

extension Store {
  /// The store as it is now, for as long as it is wanted.
  ///
  /// ```swift
  /// let before = store.snapshot()
  /// try store.write { tx in try tx.delete(Note.self, id) }
  /// try before.get(Note.self, id)    // still there
  /// ```
  public func snapshot() -> StoreSnapshot { StoreSnapshot(self) }

  // MARK: - Observing the records of a store.

  /// The changes of a type's records, commit by commit, in the order of the commits.
  ///
  /// ```swift
  /// for await changes in store.changes(of: Note.self) {
  ///   guard changes.isComplete else { reload(); continue }
  ///   for id in changes.written { show(try await store.get(Note.self, id)) }
  ///   for id in changes.deleted { hide(id) }
  /// }
  /// ```
  ///
  /// What is committed from the moment this returns is in it: ask for it first, then read what is there. What
  /// other processes commit is in it too, where this one doesn't hold the store's lock. A commit shows as soon
  /// as it can be read, which may be a little before it is durable. An observer that falls behind costs no more
  /// than a fixed amount of memory: commits are then put together, and at last the records are no longer named
  /// (``RecordChanges/isComplete``). The sequence ends when the store is closed, and where what others commit
  /// can't be taken in any more: `Store.refresh()` throws why. Its elements are for one observer:
  /// two that iterate over the same sequence share them.
  ///
  /// - Parameters:
  ///   - type: The record type.
  ///   - id: The record; nil for all of the type.
  /// - Returns: The changes.
  public func changes<R: Record>(of type: R.Type, _ id: RecordID? = nil) -> Changes {
    Changes(subscription: observe(ChangeSubscription(R.schema.description.allNames, id)))
  }

  /// The changes of all records, of whatever collection, commit by commit: as `changes(of:_:)`.
  public func changes() -> Changes { Changes(subscription: observe(ChangeSubscription(nil, nil))) }

  /// Has changes delivered from now on.
  @discardableResult
  func observe(_ subscription: ChangeSubscription) -> ChangeSubscription {
    hub.add(subscription, journal.log.watch)
    if journal.options.isLeased || !journal.holdsLock { startCompanion(idle: nil, follows: true) }
    return subscription
  }
}
