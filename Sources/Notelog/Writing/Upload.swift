// A value that was written ahead of the record that will refer to it.

import NotelogBase
import NotelogFormat

/// A value written to a store, but not yet part of a record: an update that sets a field to it makes it one.
///
/// It belongs to one field of one record, and opens nowhere else. Where no record refers to it when this object goes, it is
/// dead, and the next compaction frees its space.
public final class Upload<R: Record>: Sendable {
  /// The record's id.
  public let id: RecordID
  /// The value's length.
  public let byteCount: Int
  let store: Store
  /// The field's number.
  let field: UInt16
  let content: SealedContent

  init(_ store: Store, _ id: RecordID, field: UInt16, _ content: SealedContent, byteCount: Int) {
    self.store = store
    self.id = id
    self.field = field
    self.content = content
    self.byteCount = byteCount
  }

  deinit {
    if let value = content.value { store.journal.endUpload(value) }
  }
}
