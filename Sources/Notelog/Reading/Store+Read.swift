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

  /// A record of a collection, copied out.
  func read(_ id: RecordID, in collection: UInt16) throws(NotelogError) -> OwnedRecord? {
    var buffer = ReadBuffer()
    let found = try journaling { () throws(JournalError) in try journal.read(id.key, into: &buffer) }
    guard let found, found.collection == collection else { return nil }
    return try OwnedRecord(found, copying: buffer.body)
  }
}
