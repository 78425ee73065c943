// Whether each large value has all its chunks: FORMAT.md §8, INV-V3.

extension Journal.Verification {
  /// Every large value that a live record refers to must have all its chunks.
  mutating func verifyChunks(_ catalog: Catalog, _ examination: Examination) throws(StorageError) {
    var scan = ChunkScan()
    for segment in catalog.segments.all {
      guard let found = examination.survey.segments[segment.number] else { continue }
      let limit = min(examination.verifiedEnd(of: found), found.byteCount)
      try segment.forEachEntry(upTo: limit) { (entry, envelope) throws(StorageError) in
        try scan.take(entry, envelope, in: segment.number) { () throws(StorageError) in
          try catalog.isCurrent(entry.id, at: Location(entry, segment: segment.number))
        }
      }
    }
    let owners = Dictionary(scan.owners.flatMap { owner in owner.values.map { ($0, owner.record) } }) { $1 }
    for index in report.damages.indices {
      // What a chunk's frame bears is its value's id; whose it is, the record says.
      if let value = report.damages[index].record, let owner = owners[value] {
        report.damages[index].record = owner
      }
    }
    for owner in scan.owners {
      for value in owner.values where scan.values[value]?.isComplete != true {
        report.damages.append(
          Damage(.chunks, segment: owner.place.segment, offset: owner.place.offset, record: owner.record))
      }
    }
  }
}
