// Reading the fields of a record type's records, wherever their bytes are.

import NotelogJournal

/// A record type's plan and the keys to read its records with.
struct RecordReader<R: Record>: Sendable {
  let plan: RecordPlan<R>
  let opener: FieldOpener

  /// One field of a record, whose body was checked; its initial value where the record lacks it.
  func value<Value>(of path: KeyPath<R, Value>, _ id: RecordID, _ body: RawSpan) throws -> Value {
    var record = plan.prototype
    try load(plan.slots[try plan.slot(of: path)], id, body, into: &record)
    return record[keyPath: path]
  }

  /// All fields of a record.
  func record(_ id: RecordID, _ body: RawSpan) throws -> R {
    var record = plan.prototype
    record.id = id
    for slot in plan.slots { try load(slot, id, body, into: &record) }
    return record
  }

  /// A record to keep.
  func entry(_ id: RecordID, _ revision: UInt64, _ body: RawSpan) throws(NotelogError) -> Entry<R> {
    Entry(
      stored: try OwnedRecord(
        id: id, revision: revision, collection: plan.collection.schema.collection, copying: body),
      reader: self)
  }

  private func load(
    _ slot: RecordPlan<R>.Slot, _ id: RecordID, _ body: RawSpan, into record: inout R
  ) throws {
    let collection = plan.collection
    guard let entry = try RecordBody(checked: body).find(collection.fields[slot.index].field.number) else {
      return
    }
    let result = try opener.open(entry, in: body, of: id, slot.index, collection) { bytes in
      Result { try slot.definition.access.decode(&record, bytes) }
    }
    try result.get()
  }
}
