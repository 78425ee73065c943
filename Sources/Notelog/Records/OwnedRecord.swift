// A record as it lies in the store, sealed fields and all.

import NotelogFormat
import NotelogBase

/// A record's bytes, its sealed fields still sealed; it pins nothing in the store.
struct OwnedRecord: Sendable {
  let record: StoredRecord
  /// The body, which was checked when this value was made.
  let body: [UInt8]
  /// Its chunks that are not in the journal yet, of a record that the transaction which reads has written.
  var pending: PendingChunks?

  var id: RecordID { RecordID(record.id) }
  var revision: UInt64 { record.revision }

  /// Copies and checks a body.
  init(_ record: StoredRecord, copying body: RawSpan) throws(NotelogError) {
    _ = try RecordBody(checking: body)
    self.record = record
    self.body = body.array()
  }

  /// Copies what was read into a buffer; nil where that is nothing, or no record of the collection.
  init?(
    _ found: StoredRecord?, in collection: UInt16, _ buffer: borrowing ReadBuffer
  ) throws(NotelogError) {
    guard let found, found.collection == collection else { return nil }
    try self.init(found, copying: buffer.body)
  }

  /// Copies a record that a scan has come to.
  init(_ scanned: ScannedRecord) throws(NotelogError) {
    try self.init(scanned.record, copying: scanned.body.bytes)
  }

  /// The directory's entry of a field, or nil.
  func find(_ number: UInt16) throws(NotelogError) -> FieldEntry? {
    try RecordBody(checked: body.rawSpan).find(number)
  }

  /// Calls `use` with the record as a scan would come to it.
  func withScanned<Result>(_ use: (ScannedRecord) throws -> Result) rethrows -> Result {
    try use(ScannedRecord(record, RecordBody(checked: body.rawSpan)))
  }

  /// The whole directory.
  func entries() throws(NotelogError) -> [FieldEntry] { try RecordBody(checked: body.rawSpan).entries() }
}

/// Chunks that a transaction wrote and that are not in the journal yet, so that it can read them.
final class PendingChunks: Sendable {
  /// The sealed chunks of a value, one behind the other.
  private let sealed: [ID16: [UInt8]]

  init?(_ sealed: [ID16: [UInt8]]) {
    if sealed.isEmpty { return nil }
    self.sealed = sealed
  }

  /// A chunk's sealed bytes; nil where the value is not among them.
  func chunk(_ number: Int, of value: ID16) -> [UInt8]? {
    guard let all = sealed[value] else { return nil }
    let start = number * (Limits.chunkBytes + RecordBody.sealOverhead)
    return Array(all[start..<min(all.count, start + Limits.chunkBytes + RecordBody.sealOverhead)])
  }
}
