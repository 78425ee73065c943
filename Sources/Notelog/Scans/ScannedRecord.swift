// A record that a scan has come to, before anything is known of its type.

import NotelogJournal

/// A record as it lies in the memory that a scan reads into.
///
/// Nothing in it depends on the record type, so that going from one to the next asks the runtime for nothing.
@usableFromInline
struct ScannedRecord: ~Escapable {
  let id: RecordID
  let revision: UInt64
  /// The record's bytes, checked.
  let body: RecordBody
  let scanner: Scanner

  @_lifetime(copy body)
  init(_ id: RecordID, _ revision: UInt64, _ body: RecordBody, _ scanner: Scanner) {
    self.id = id
    self.revision = revision
    self.body = body
    self.scanner = scanner
  }

  /// Opens a field, which was looked up.
  @usableFromInline
  func open(_ field: FieldHandle, _ use: (RawSpan) -> Void) throws { try scanner.open(field, body, id, use) }
}
