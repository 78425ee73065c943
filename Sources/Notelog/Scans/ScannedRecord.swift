// A record that a scan has come to, before anything is known of its type.

import NotelogJournal

/// A record as it lies in the memory that a scan reads into.
///
/// Nothing in it depends on the record type, so that going from one to the next asks the runtime for nothing.
@usableFromInline
struct ScannedRecord: ~Escapable {
  let id: RecordID
  let revision: UInt64
  let isPossiblyStale: Bool
  /// The record's bytes, checked.
  let body: RecordBody

  @_lifetime(copy body)
  init(_ record: StoredRecord, _ body: RecordBody) {
    id = RecordID(record.id)
    revision = record.revision
    isPossiblyStale = record.isPossiblyStale
    self.body = body
  }
}
