// A large value on its way to the disk, chunk by chunk, and what refers to it (FORMAT.md 8).

import NotelogBase
import NotelogCrypto
import NotelogFormat

/// Seals the chunks of one field's value, and its reference.
struct ChunkSealer {
  private let plan: CollectionPlan
  private let index: Int
  let id: RecordID
  let entry: FieldEntry
  private let key: SealingKey
  /// The value's id.
  let value: ID16
  private let data: AdditionalData

  init(
    _ key: SealingKey, _ entry: FieldEntry, as value: ID16, of id: RecordID, _ index: Int,
    _ plan: CollectionPlan
  ) {
    (self.plan, self.index, self.id, self.entry, self.key) = (plan, index, id, entry, key)
    self.value = value
    data = plan.chunkData(entry, index, id, value)
  }

  /// Seals a chunk into a batch.
  func put(
    _ plaintext: RawSpan, _ number: Int, isLast: Bool, _ nonces: inout NonceRun, into batch: inout Batch
  ) throws(NotelogError) {
    var data = data
    data.setChunk(UInt64(number), isLast: isLast)
    do {
      try batch.putChunk(
        ChunkMark(UInt32(number), isLast: isLast), of: value,
        sealedByteCount: plaintext.byteCount + RecordBody.sealOverhead
      ) { (target: inout MutableRawSpan) throws(CryptoError) in
        try key.seal(plaintext, additionalData: data.bytes, nonces: &nonces, into: &target)
      }
    } catch { throw refusal(error) }
  }

  /// Seals all chunks of a value into a batch.
  func putAll(
    _ plaintext: RawSpan, _ nonces: inout NonceRun, into batch: inout Batch
  ) throws(NotelogError) -> SealedContent {
    let reference = ValueReference(value, byteCount: plaintext.byteCount)
    for number in 0..<reference.chunkCount {
      let chunk = plaintext.extracting(reference.range(of: number))
      try put(chunk, number, isLast: number == reference.chunkCount - 1, &nonces, into: &batch)
    }
    return try content(byteCount: plaintext.byteCount, &nonces)
  }

  /// What stands in the record for a value whose chunks have been put.
  func content(byteCount: Int, _ nonces: inout NonceRun) throws(NotelogError) -> SealedContent {
    var bytes = [UInt8](repeating: 0, count: ValueReference.storedByteCount)
    do {
      try bytes.withBytes(in: 0..<bytes.count) { (target: inout MutableRawSpan) throws(CryptoError) in
        try ValueReference(value, byteCount: byteCount).write(
          data, under: key, nonces: &nonces, into: &target)
      }
    } catch { throw refusal(error) }
    return SealedContent(entry, bytes)
  }

  /// What stands in the record for a value so short that it stands there itself.
  func contentInRecord(
    _ plaintext: RawSpan, _ nonces: inout NonceRun
  ) throws(NotelogError) -> SealedContent {
    var entry = entry
    entry.flags.remove(.chunked)
    do {
      return try SealedContent(
        sealing: plaintext, entry, under: key, plan.additionalData(entry, index, id), &nonces)
    } catch { throw refusal(error) }
  }

  /// The field and the record, for messages.
  var place: String { plan.place(index, id) }

  private func refusal(_ error: CryptoError) -> NotelogError {
    NotelogError(crypto: error, "sealing \(place)").of(id)
  }
}

/// A field's value as it will stand in the record: sealed, or a reference to its chunks.
struct SealedContent: Sendable {
  /// What the directory is to say of it: of the range its length alone.
  private(set) var entry: FieldEntry
  let bytes: [UInt8]
  /// What stands in the field of its digests, where that has one.
  var digest: [UInt8]?

  init(_ entry: FieldEntry, _ bytes: [UInt8]) {
    self.entry = entry
    self.entry.range = 0..<bytes.count
    self.bytes = bytes
  }

  /// Seals a value that stands in the record itself.
  init(
    sealing plaintext: RawSpan, _ entry: FieldEntry, under key: SealingKey, _ data: AdditionalData,
    _ nonces: inout NonceRun
  ) throws(CryptoError) {
    var bytes = [UInt8](repeating: 0, count: plaintext.byteCount + RecordBody.sealOverhead)
    try bytes.withBytes(in: 0..<bytes.count) { (target: inout MutableRawSpan) throws(CryptoError) in
      try key.seal(plaintext, additionalData: data.bytes, nonces: &nonces, into: &target)
    }
    self.init(entry, bytes)
  }

  /// The large value that it refers to.
  var value: ID16? { entry.flags.contains(.chunked) ? ValueReference.value(in: bytes.rawSpan) : nil }
}
