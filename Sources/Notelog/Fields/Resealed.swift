// Values sealed anew under another key, without being unpacked.

import NotelogBase
import NotelogCrypto

extension FieldOpener {
  /// A value as it is when it is sealed under another key: opened and sealed, padding and all.
  func resealed(
    _ entry: FieldEntry, in body: RawSpan, of id: RecordID, _ index: Int, _ plan: CollectionPlan,
    under reference: UInt32, _ nonces: inout NonceRun
  ) throws(NotelogError) -> SealedContent {
    try plan.check(entry, index, id, in: body)
    let sealed = body.extracting(entry.range)
    var plaintext = Buffer(capacity: sealed.byteCount, isSecret: true)
    plaintext.resizeForReading(to: sealed.byteCount - RecordBody.sealOverhead)
    var new = entry
    new.keyReference = reference
    defer { plaintext.wipe() }
    do throws(CryptoError) {
      var target = plaintext.mutableBytes
      let key = try vault.sealingKey(KeyReference(rawValue: entry.keyReference))
      let oldData = plan.additionalData(entry, index, id)
      try key.open(sealed, additionalData: oldData.bytes, into: &target)
      let newKey = try vault.sealingKey(KeyReference(rawValue: reference))
      return try SealedContent(
        sealing: plaintext.bytes, new, under: newKey, plan.additionalData(new, index, id), &nonces)
    } catch { throw NotelogError(crypto: error, plan.place(index, id)) }
  }
}

extension ChunkOpener {
  /// A large value sealed under another key, as a value of another id.
  ///
  /// - Parameters:
  ///   - reference: The key's reference.
  ///   - value: The new id.
  ///   - batch: What the chunks are put into.
  ///   - chunkIsPut: Called behind each chunk, with whether it was the last.
  /// - Returns: What refers to it.
  /// - Throws: What opening or sealing a chunk throws, and what `chunkIsPut` does.
  func resealed(
    under reference: UInt32, as value: ID16, into batch: inout Batch,
    _ chunkIsPut: (inout Batch, Bool) throws(NotelogError) -> Void = { (_, _) throws(NotelogError) in }
  ) throws(NotelogError) -> SealedContent {
    let resealed = ValueReference(value, byteCount: self.reference.byteCount)
    var new = entry
    new.keyReference = reference
    let key = try opener.vault.sealingKey(reference, for: plan.place(index, id))
    let sealer = ChunkSealer(key, new, as: value, of: id, index, plan)
    try open(0..<resealed.byteCount) { (part, offset) throws(NotelogError) in
      let number = offset / Limits.chunkBytes
      let isLast = number == resealed.chunkCount - 1
      var nonces = NonceRun()
      try sealer.put(part, number, isLast: isLast, &nonces, into: &batch)
      try chunkIsPut(&batch, isLast)
    }
    var nonces = NonceRun()
    return try sealer.content(byteCount: resealed.byteCount, &nonces)
  }
}
