// The digests of sealed values that no two records share (FORMAT.md 11.3).

import NotelogBase

extension RecordEncoder {
  /// Gathers the digests of the values that were gathered, in the place of those that were carried over. A value that is carried over keeps its
  /// digest, unopened.
  mutating func addDigests(_ plan: CollectionPlan, _ keys: inout SealingKeys) throws(NotelogError) {
    for pair in plan.digests {
      guard let field = fields.first(where: { $0.index == pair.source }) else {
        // A record without the value has no digest of one.
        remove(pair.digest)
        continue
      }
      switch field.source {
      case .carried: break
      case .uploaded(let upload): if let digest = uploads[upload].digest { put(digest, pair.digest, plan) }
      case .fresh:
        guard let range = unpackedRanges.last(where: { $0.index == pair.source })?.range else { continue }
        let key = try keys.key(pair.source, field.entry.keyReference, of: plan).key
        let digest = try unpacked.withBytes(in: range) { value throws(NotelogError) in
          try plan.storedDigest(value, pair.source, under: key)
        }
        put(digest, pair.digest, plan)
      }
    }
  }

  private mutating func remove(_ index: Int) {
    guard let place = fields.firstIndex(where: { $0.index == index }) else { return }
    bodyByteCount -= RecordBody.entryByteCount + fields[place].entry.range.count
    fields.remove(at: place)
  }

  /// Gathers a digest, where its field's number belongs.
  private mutating func put(_ digest: [UInt8], _ index: Int, _ plan: CollectionPlan) {
    remove(index)
    let number = plan.fields[index].number
    let entry = FieldEntry(
      number: number, type: plan.fields[index].type, flags: plan.fields[index].flags, keyReference: 0,
      range: 0..<digest.count)
    let place = fields.firstIndex { $0.entry.number > number } ?? fields.count
    fields.insert(Field(entry: entry, index: index, source: .fresh(appendPlain(digest))), at: place)
    bodyByteCount += RecordBody.entryByteCount + digest.count
  }
}
