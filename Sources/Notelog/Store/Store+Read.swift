// Reading single records, and all of a collection.

import NotelogJournal

extension Store {
  /// The record with an id, its sealed fields unopened; nil where there is none.
  ///
  /// - Throws: `damaged`, `closed`, `inputOutput`, `schemaConflict`.
  public func get<R: Record>(_ type: R.Type, _ id: RecordID) throws(NotelogError) -> Entry<R>? {
    let reader = try reader(for: type)
    guard let stored = try read(id, in: reader.plan.collection.schema.collection) else { return nil }
    return Entry(stored: stored, reader: reader)
  }

  /// The records with these ids, in the same order; nil in the place of one that doesn't exist.
  public func getMany<R: Record>(_ type: R.Type, _ ids: [RecordID]) throws(NotelogError) -> [Entry<R>?] {
    let reader = try reader(for: type)
    var entries: [Entry<R>?] = []
    entries.reserveCapacity(ids.count)
    for id in ids {
      let stored = try read(id, in: reader.plan.collection.schema.collection)
      entries.append(stored.map { Entry(stored: $0, reader: reader) })
    }
    return entries
  }

  /// A query over the records of a type.
  public func query<R: Record>(_ type: R.Type) -> Query<R> { Query(self) }

  /// A record of a collection, copied out.
  func read(_ id: RecordID, in collection: UInt16) throws(NotelogError) -> OwnedRecord? {
    var buffer = ReadBuffer()
    let found = try journaling { () throws(JournalError) in try journal.read(id.key, into: &buffer) }
    guard let found, found.collection == collection else { return nil }
    return try OwnedRecord(id: id, revision: found.revision, collection: collection, copying: buffer.body)
  }

  /// Calls `body` with each record of a collection, its bytes checked, until it returns false.
  func scan(
    _ collection: UInt16, _ body: (RecordID, UInt64, RawSpan) throws -> Bool
  ) throws {
    var buffer = ReadBuffer()
    for key in journal.records(in: collection) {
      // What was deleted or moved to another collection meanwhile is left out.
      let found = try journaling { () throws(JournalError) in try journal.read(key, into: &buffer) }
      guard let found, found.collection == collection else { continue }
      _ = try RecordBody(checking: buffer.body)
      guard try body(RecordID(key), found.revision, buffer.body) else { return }
    }
  }
}
