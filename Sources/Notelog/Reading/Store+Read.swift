// Reading single records, and all of a collection.

extension Store {
  /// The record with an id, its sealed fields unopened; nil where there is none.
  ///
  /// - Throws: `damaged`, `closed`, `inputOutput`, `schemaConflict`.
  public func get<R: Record>(_ type: R.Type, _ id: RecordID) throws -> Entry<R>? {
    let reader = try reader(for: type)
    var buffer = ReadBuffer()
    guard let stored = try read(id, in: reader.plan.collection.number, &buffer) else { return nil }
    return Entry(stored: stored, reader: reader)
  }

  /// The records with these ids, in the same order; nil in the place of one that doesn't exist.
  public func getMany<R: Record>(_ type: R.Type, _ ids: [RecordID]) throws -> [Entry<R>?] {
    let reader = try reader(for: type)
    var buffer = ReadBuffer()
    var entries: [Entry<R>?] = []
    entries.reserveCapacity(ids.count)
    for id in ids {
      let stored = try read(id, in: reader.plan.collection.number, &buffer)
      entries.append(stored.map { Entry(stored: $0, reader: reader) })
    }
    return entries
  }

  /// A record of a collection, copied out.
  func read(
    _ id: RecordID, in collection: UInt16, _ buffer: inout ReadBuffer
  ) throws(NotelogError) -> OwnedRecord? {
    let found = try journal.read(id.bytes, into: &buffer)
    return try OwnedRecord(found, in: collection, buffer)
  }
}
