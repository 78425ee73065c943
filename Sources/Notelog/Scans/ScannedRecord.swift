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

  @_lifetime(copy body)
  init(_ id: RecordID, _ revision: UInt64, _ body: RecordBody) {
    self.id = id
    self.revision = revision
    self.body = body
  }
}
