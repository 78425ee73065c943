// Going through records segment by segment, in large reads.

import NotelogConcurrency

extension Journal {
  /// The ids of a collection's records, or of all records, in order of id.
  package func records(in collection: UInt16? = nil) throws(JournalError) -> [RecordKey] {
    var ids: [RecordKey] = []
    try journaling { () throws(StorageError) in
      for segment in catalog.segments.all {
        try forEachEntry(of: segment) { entry throws(StorageError) in
          guard entry.kind == .record, collection == nil || entry.collection == collection,
            try catalog.isCurrent(entry.id, at: Location(entry, segment: segment.number))
          else { return }
          ids.append(entry.id)
        }
      }
    }
    ids.sort()
    return ids
  }

  /// Calls `body` with what a segment's footer lists, or what its frames say where there is no footer that checks.
  private func forEachEntry(
    of segment: Segment, _ body: (FooterEntry) throws(StorageError) -> Void
  ) throws(StorageError) {
    if let byteCount = segment.entry?.byteCount {
      var reader = SegmentReader(segment.file, salt: segment.salt.value, end: byteCount)
      let trailerStart = byteCount - Layout.trailerByteCount
      if let trailer = Trailer(try reader.bytes(trailerStart..<byteCount), at: 0),
        try reader.forEachFooterEntry(trailer, { (entry, _) throws(StorageError) in try body(entry) })
      {
        return
      }
    }
    let end = try scanEnd(of: segment)
    var reader = SegmentReader(segment.file, salt: segment.salt.value, end: end)
    try reader.forEachContentFrame(from: Layout.firstFrameOffset, to: end, checkingPayloads: false) {
      (finding, _) throws(StorageError) in
      if case .content(let entry, _) = finding { try body(entry) }
    }
  }

  /// Up to where a segment's frames are looked for; which of them count, the index says.
  private func scanEnd(of segment: Segment) throws(StorageError) -> Int {
    let visibleEnd = log.state.withLock { $0.visibleEnd }
    return visibleEnd.segment == segment.number ? visibleEnd.offset : try segment.file.byteCount()
  }
}
