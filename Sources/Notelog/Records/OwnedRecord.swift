// A record as it lies in the store, sealed fields and all.

import NotelogFormat
import NotelogBase

/// A record's bytes, its sealed fields still sealed; it pins nothing in the store.
struct OwnedRecord: Sendable {
  let id: RecordID
  let revision: UInt64
  let collection: UInt16
  /// The body, which was checked when this value was made.
  let body: [UInt8]
  /// Whether it may be older than it was, as something is lost that nobody can name.
  let isPossiblyStale: Bool
  /// Its chunks that are not in the journal yet, of a record that the transaction which reads has written.
  var pending: PendingChunks?

  /// Copies and checks a body.
  init(
    id: RecordID, revision: UInt64, collection: UInt16, isPossiblyStale: Bool = false, copying body: RawSpan
  ) throws(NotelogError) {
    _ = try RecordBody(checking: body)
    self.isPossiblyStale = isPossiblyStale
    self.id = id
    self.revision = revision
    self.collection = collection
    self.body = body.array()
  }

  /// The directory's entry of a field, or nil.
  func find(_ number: UInt16) throws(NotelogError) -> FieldEntry? {
    try RecordBody(checked: body.rawSpan).find(number)
  }

  /// Calls `use` with the record as a scan would come to it.
  func withScanned<Result>(_ use: (ScannedRecord) throws -> Result) rethrows -> Result {
    let record = StoredRecord(
      id: id.bytes, collection: collection, revision: revision, isPossiblyStale: isPossiblyStale)
    return try use(ScannedRecord(record, RecordBody(checked: body.rawSpan)))
  }

  /// The whole directory.
  func entries() throws(NotelogError) -> [FieldEntry] { try RecordBody(checked: body.rawSpan).entries() }
}

extension OwnedRecord {
  init(_ record: ScannedRecord, in collection: UInt16) throws(NotelogError) {
    try self.init(
      id: record.id, revision: record.revision, collection: collection,
      isPossiblyStale: record.isPossiblyStale, copying: record.body.bytes)
  }

  /// The record that was read into a buffer.
  /// Copies what was read into a buffer; nil where that is nothing, or no record of the collection.
  init?(
    _ found: StoredRecord?, in collection: UInt16, _ buffer: borrowing ReadBuffer
  ) throws(NotelogError) {
    guard let found, found.collection == collection else { return nil }
    try self.init(
      id: RecordID(found.id), revision: found.revision, collection: collection,
      isPossiblyStale: found.isPossiblyStale, copying: buffer.body)
  }
}

/// Chunks that a transaction wrote and that are not in the journal yet, so that it can read them.
final class PendingChunks: Sendable {
  /// The sealed chunks of a value, one behind the other.
  private let sealed: [ID16: [UInt8]]

  init?(_ sealed: [ID16: [UInt8]]) {
    if sealed.isEmpty { return nil }
    self.sealed = sealed
  }

  /// Copies a chunk's sealed bytes out; false where the value is not among them.
  func read(_ number: Int, of reference: ValueReference, into bytes: inout [UInt8]) -> Bool {
    guard let all = sealed[reference.value] else { return false }
    let start = number * (Limits.chunkBytes + RecordBody.sealOverhead)
    bytes = Array(all[start..<min(all.count, start + Limits.chunkBytes + RecordBody.sealOverhead)])
    return true
  }
}
