// A large value on its way back, chunk by chunk (FORMAT.md 8).

import NotelogBase
import NotelogFormat
import NotelogCrypto

/// Opens the chunks of one field's value.
struct ChunkOpener: Sendable {
  let opener: FieldOpener
  let plan: CollectionPlan
  let index: Int
  let id: RecordID
  let entry: FieldEntry
  let reference: ValueReference

  /// Opens the value's reference: from then on its length is certain.
  ///
  /// - Throws: `locked`, `missingKey`; `tampered` where the reference isn't as it was sealed.
  init(
    _ opener: FieldOpener, _ entry: FieldEntry, in body: RawSpan, of id: RecordID, _ index: Int,
    _ plan: CollectionPlan
  ) throws(NotelogError) {
    let bytes = body.extracting(entry.range)
    do throws(CryptoError) {
      let key = try opener.vault.sealingKey(KeyReference(rawValue: entry.keyReference))
      guard let reference = ValueReference(bytes) else { throw .tampered }
      let data = plan.chunkData(entry, index, id, reference.value)
      try reference.check(bytes, data, under: key)
      self.reference = reference
    } catch { throw NotelogError(crypto: error, "\(plan.place(index, id)), the reference to its value") }
    self.opener = opener
    self.plan = plan
    self.index = index
    self.id = id
    self.entry = entry
  }

  /// Calls `body` with the parts of a range, in order, and where in the plaintext each begins.
  func open(
    _ range: Range<Int>, _ body: (RawSpan, Int) throws(NotelogError) -> Void
  ) throws(NotelogError) {
    guard !range.isEmpty else { return }
    let key: SealingKey
    do { key = try opener.vault.sealingKey(KeyReference(rawValue: entry.keyReference)) } catch {
      throw opener.refusal(error, plan.place(index, id)).of(id)
    }
    var data = plan.chunkData(entry, index, id, reference.value)
    var buffer = ReadBuffer()
    var plaintext = [UInt8](repeating: 0, count: min(Limits.chunkBytes, reference.byteCount))
    defer { plaintext.wipe() }
    for number in range.lowerBound / Limits.chunkBytes...(range.upperBound - 1) / Limits.chunkBytes {
      let chunk = reference.range(of: number)
      data.setChunk(UInt64(number), isLast: number == reference.chunkCount - 1)
      do throws(NotelogError) {
        try open(number, chunk.count, key, data, &buffer, into: &plaintext)
      } catch {
        if error.code == .damaged || error.code == .tampered {
          opener.journal.noteDamage(error, .chunks, of: id)
        }
        throw error
      }
      opener.metrics.count(chunk.count, fields: 0)
      let wanted = range.clamped(to: chunk)
      let part = wanted.lowerBound - chunk.lowerBound..<wanted.upperBound - chunk.lowerBound
      try body(plaintext.rawSpan.extracting(part), wanted.lowerBound)
    }
  }

  private func open(
    _ number: Int, _ count: Int, _ key: SealingKey, _ data: AdditionalData, _ buffer: inout ReadBuffer,
    into plaintext: inout [UInt8]
  ) throws(NotelogError) {
    if let pending = opener.pendingChunk(number, of: reference.value) {
      return try open(pending.rawSpan, number, count, key, data, into: &plaintext)
    }
    let found = try opener.journal.readChunk(UInt32(number), of: reference.value, into: &buffer)
    guard found != nil else { throw try missing(number) }
    try open(buffer.body, number, count, key, data, into: &plaintext)
  }

  private func open(
    _ sealed: RawSpan, _ number: Int, _ count: Int, _ key: SealingKey, _ data: AdditionalData,
    into plaintext: inout [UInt8]
  ) throws(NotelogError) {
    guard sealed.byteCount == count + RecordBody.sealOverhead else {
      throw NotelogError(
        .tampered,
        "\(plan.place(index, id)): chunk \(number) of its value has another length than it must have"
      ).of(id)
    }
    do {
      try plaintext.withBytes(in: 0..<count) { (bytes: inout MutableRawSpan) throws(CryptoError) in
        try key.open(sealed, additionalData: data.bytes, into: &bytes)
      }
    } catch { throw NotelogError(crypto: error, "\(plan.place(index, id)), chunk \(number)").of(id) }
  }

  /// Why a chunk isn't there: it is lost, or the record has another value by now and compaction has been.
  private func missing(_ number: Int) throws(NotelogError) -> NotelogError {
    var buffer = ReadBuffer()
    let current = try opener.journal.records.read(id.bytes, into: &buffer)
    if current != nil, Envelope.values(buffer.envelope, orIn: buffer.body).contains(reference.value) {
      return NotelogError(
        .damaged, "\(plan.place(index, id)): chunk \(number) of its value is missing; verify the store"
      ).of(id)
    }
    return NotelogError(
      .snapshotExpired,
      "\(plan.place(index, id)) was replaced since the record was read, or the record was removed, and the old value is gone: a snapshot would have kept it"
    ).of(id)
  }
}

extension CollectionPlan {
  /// What the parts of a field's large value are bound to; which part is still to be set.
  func chunkData(_ entry: FieldEntry, _ index: Int, _ id: RecordID, _ value: ID16) -> AdditionalData {
    AdditionalData(additionalData(entry, index, id), of: value)
  }
}
