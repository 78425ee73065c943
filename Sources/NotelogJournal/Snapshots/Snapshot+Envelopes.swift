// Going through the envelopes of a snapshot's records, most of which footers hold: a tenth of the bytes of the records.

extension Snapshot {
  /// Calls `body` with the id and the envelope of every record of a collection, until it returns false. The envelope is empty
  /// where a record has none.
  ///
  /// - Returns: Whether it went through all of them: not where a footer does not check, or frames are lost.
  package func forEachEnvelope(
    in collection: UInt16, _ body: (RecordKey, RawSpan) -> Bool
  ) throws(JournalError) -> Bool {
    var goesOn = true
    var lastFrames = LastFrames()
    do throws(StorageError) {
      // All of the index will be asked for; a piece at a time, it would be read from the checkpoint many times over.
      try journal.catalog.index.loadAll()
      for segment in segments where goesOn {
        let isWhole = try forEachListed(in: segment) { (entry, envelope) throws(StorageError) in
          guard goesOn, entry.kind == .record, entry.collection == collection,
            try isVisible(entry, in: segment, &lastFrames)
          else { return }
          goesOn = body(entry.id, envelope)
        }
        if !isWhole { return false }
      }
    } catch { throw JournalError(error) }
    return goesOn
  }

  /// Calls `body` with what a segment's footer lists, or with its frames as long as it is appended to.
  private func forEachListed(
    in segment: Segment, _ body: (FooterEntry, RawSpan) throws(StorageError) -> Void
  ) throws(StorageError) -> Bool {
    let limit = try scanEnd(of: segment)
    var reader = SegmentReader(segment.file, salt: segment.salt, end: limit)
    if let entry = segment.entry {
      guard limit == entry.byteCount,
        let trailer = Trailer(try reader.bytes(limit - Layout.trailerByteCount..<limit), at: 0)
      else { return false }
      return try reader.forEachFooterEntry(trailer, body)
    }
    var isWhole = true
    try reader.forEachContentFrame(from: Layout.firstFrameOffset, to: limit, checkingPayloads: false) {
      (finding, envelope) throws(StorageError) in
      switch finding {
      case .content(let entry, _): try body(entry, envelope)
      case .lost: isWhole = false
      }
    }
    return isWhole
  }
}
