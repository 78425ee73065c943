// A record that a scan has come to, before anything is known of its type.

import NotelogBase

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

extension Snapshot {
  /// Calls `body` with each record of a collection, its bytes checked, until it returns false. They come in the order
  /// in which they lie on the disk.
  ///
  /// What can't be read is left out, and `damaged` is told of it; the rest follows, unless it throws.
  func scan(
    _ collection: UInt16, part: Int = 0, of partCount: Int = 1,
    damaged: (Finding) throws -> Void, _ body: (ScannedRecord) throws -> Bool
  ) throws {
    let stop = Cancellation.flag
    var failure: (any Error)?
    func leaveOut(_ finding: Finding) -> Bool {
      do { try damaged(finding) } catch { failure = error }
      return failure == nil
    }
    try forEach(
      in: collection, part: part, of: partCount, onDamage: { leaveOut($0) },
      { record, _, bytes throws(NotelogError) in
        let scanned: ScannedRecord
        do throws(NotelogError) {
          scanned = ScannedRecord(record, try RecordBody(checking: bytes))
        } catch {
          return leaveOut(Finding(error, RecordID(record.id)))
        }
        do {
          if stop?.isSet == true { throw CancellationError() }
          return try body(scanned)
        } catch {
          failure = error
          return false
        }
      })
    if let failure { throw failure }
  }
}
