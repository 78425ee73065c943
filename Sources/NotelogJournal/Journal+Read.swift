// Reading one record: FORMAT.md §5.

/// A record as it is stored. Its bytes are in the buffer it was read into.
package struct StoredRecord: Sendable, BitwiseCopyable {
  package let id: RecordKey
  package let collection: UInt16
  /// The sequence number of the transaction that wrote it; 0 for one that is not committed yet.
  package let revision: UInt64
  /// Whether frames that are lost may have held a newer version.
  package let isPossiblyStale: Bool
}

extension Journal {
  /// Reads a record's newest version.
  ///
  /// - Returns: Nothing where there is no such record.
  /// - Throws: `damaged`, with the place, where its frame does not check.
  package func read(_ id: RecordKey, into buffer: inout ReadBuffer) throws(JournalError) -> StoredRecord? {
    try records.read(id, into: &buffer)
  }

  /// Whether there is such a record, and which revision it has.
  package func revision(of id: RecordKey) throws(JournalError) -> UInt64? {
    try journaling { () throws(StorageError) in
      try catalog.location(of: id).flatMap { $0.isTombstone ? nil : $0.sequence }
    }
  }
}
