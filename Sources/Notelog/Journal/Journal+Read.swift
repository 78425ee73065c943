// Reading one record: FORMAT.md §5.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Journal {
  /// Reads a record's newest version.
  ///
  /// - Returns: Nothing where there is no such record.
  /// - Throws: `damaged`, with the place, where its frame does not check.
  func read(_ id: ID16, into buffer: inout ReadBuffer) throws(NotelogError) -> StoredRecord? {
    try records.read(id, into: &buffer)
  }

  /// Whether there is such a record, and which revision it has.
  func revision(of id: ID16) throws(NotelogError) -> UInt64? {
    try fromStorage { () throws(StorageError) in
      try catalog.location(of: id).flatMap { $0.isTombstone ? nil : $0.sequence }
    }
  }
}
