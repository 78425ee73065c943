// The store as it was at one moment.

/// A moment of a store: what is written, deleted or compacted later doesn't show in it.
///
/// It holds the files that were there: what compaction frees meanwhile takes up space until the snapshot goes. Keys are
/// not part of it: what is locked later can't be opened through it either.
public final class StoreSnapshot: Sendable {
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
    let found = try moment.read(id.bytes, into: &buffer)
    return try OwnedRecord(found, in: reader.plan.collection.number, buffer).map {
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
}
