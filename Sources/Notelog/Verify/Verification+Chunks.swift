// Whether each large value has all its chunks: FORMAT.md §8, INV-V3.

extension Verification {
  /// Every large value that a live record refers to must have all its chunks.
  mutating func verifyChunks(_ scan: ChunkScan) {
    let owners = Dictionary(scan.owners.flatMap { owner in owner.values.map { ($0, owner.record) } }) { $1 }
    for index in report.damages.indices {
      // What a chunk's frame bears is its value's id; whose it is, the record says.
      if let value = report.damages[index].record, let owner = owners[value.bytes] {
        report.damages[index].record = RecordID(owner)
      }
    }
    for owner in scan.owners {
      for value in owner.values where scan.values[value]?.isComplete != true {
        report.damages.append(
          Finding(.chunks, segment: owner.place.segment, offset: owner.place.offset, record: owner.record))
      }
    }
  }
}
