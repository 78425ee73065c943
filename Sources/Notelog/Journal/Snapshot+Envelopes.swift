// Going through the envelopes of a snapshot's records, most of which footers hold: a tenth of the bytes of the records.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Snapshot {
  /// Calls `body` with the id and the envelope of every record of a collection, until it returns false. The envelope is empty
  /// where a record has none.
  ///
  /// - Returns: Whether it went through all of them: not where frames are lost.
  func forEachEnvelope(
    in collection: UInt16, _ body: (ID16, RawSpan) -> Bool
  ) throws(NotelogError) -> Bool {
    var goesOn = true
    var lastFrames = LastFrames()
    do throws(StorageError) {
      // All of the index will be asked for; a piece at a time, it would be read from the checkpoint many times over.
      try journal.catalog.index.loadAll()
      for segment in segments where goesOn {
        let isWhole = try segment.forEachEntry(upTo: scanEnd(of: segment)) {
          (entry, envelope) throws(StorageError) in
          guard goesOn, entry.kind == .record, entry.collection == collection,
            try isVisible(entry, in: segment, &lastFrames)
          else { return }
          goesOn = body(entry.id, envelope)
        }
        if !isWhole { return false }
      }
    } catch { throw NotelogError(error) }
    return goesOn
  }

  /// Calls `body` with the id and the envelope of every frame of a collection's records that came after an order, until it
  /// returns false: of records as they are, as they were, and of copies.
  ///
  /// - Returns: Whether it went through all of them: not where frames are lost.
  func forEachEnvelope(
    in collection: UInt16, behind order: StoredOrder, _ body: (ID16, RawSpan) -> Bool
  ) throws(NotelogError) -> Bool {
    let checkpoint = order.checkpoint
    var goesOn = true
    do throws(StorageError) {
      for segment in segments where goesOn {
        let figures = checkpoint.figures(of: segment.number)
        if figures?.salt == segment.salt.value, checkpoint.covers(figures) { continue }
        let isCut =
          segment.number == checkpoint.covered.segment && segment.salt.value == checkpoint.coveredSalt
        let start = isCut ? checkpoint.covered.offset : 0
        let isWhole = try segment.forEachEntry(from: start, upTo: scanEnd(of: segment)) {
          (entry, envelope) throws(StorageError) in
          guard goesOn, entry.kind == .record, entry.collection == collection else { return }
          goesOn = body(entry.id, envelope)
        }
        if !isWhole { return false }
      }
    } catch { throw NotelogError(error) }
    return goesOn
  }
}
