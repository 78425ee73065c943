// What opens fields: the keys, and a count of what was opened.

import NotelogCrypto
import NotelogJournal

/// Opens fields of a store's records.
struct FieldOpener: Sendable {
  let vault: Vault
  let metrics: FieldMetrics
  let journal: Journal
  /// Chunks that the transaction which reads has written itself.
  var pending: PendingChunks?

  /// The same for a record, which may be one that the transaction has just written.
  func reading(_ stored: OwnedRecord) -> FieldOpener {
    guard stored.pending != nil else { return self }
    var opener = self
    opener.pending = stored.pending
    return opener
  }

  /// Calls `body` with the value's bytes: a presence byte if the plan says optional, then the value.
  ///
  /// For single values; whoever opens many keeps an ``Opening``.
  func open<Result>(
    _ entry: FieldEntry, in body: RawSpan, of id: RecordID, _ index: Int, _ plan: CollectionPlan,
    _ use: (RawSpan) throws(NotelogError) -> Result
  ) throws(NotelogError) -> Result {
    var opening = Opening()
    return try opening.open(entry, in: body, of: id, index, plan, self, use)
  }
}

extension CollectionPlan {
  /// A field's place, for messages.
  func place(_ index: Int, _ id: RecordID) -> String {
    "\(schema.name).\(fields[index].field.name) of record \(id)"
  }
}

extension [UInt8] {
  /// Overwrites the bytes.
  mutating func wipe() {
    for index in indices { self[index] = 0 }
  }
}
