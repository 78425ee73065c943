// A record as it lies in the store, sealed fields and all.

import NotelogBase

/// A record's bytes, its sealed fields still sealed; it pins nothing in the store.
struct OwnedRecord: Sendable {
  let record: StoredRecord
  /// The body, which was checked when this value was made.
  let body: [UInt8]

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
  init(_ scanned: ScannedRecord) {
    record = scanned.record
    body = scanned.body.bytes.array()
  }

  /// The record as a scan would come to it.
  var scanned: ScannedRecord {
    @_lifetime(borrow self)
    borrowing get { ScannedRecord(record, RecordBody(checked: body.rawSpan)) }
  }

  /// The directory's entry of a field, or nil.
  func find(_ number: UInt16) throws(NotelogError) -> FieldEntry? { try scanned.body.find(number) }

  /// The whole directory.
  func entries() throws(NotelogError) -> [FieldEntry] { try scanned.body.entries() }
}
