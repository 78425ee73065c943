// Values sealed anew under another key, without being unpacked.

import NotelogBase
import NotelogCrypto
import NotelogFormat

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
    var output = [UInt8](repeating: 0, count: sealed.byteCount)
    var new = entry
    new.keyReference = reference
    do throws(CryptoError) {
      var target = plaintext.mutableBytes
      let key = try vault.sealingKey(KeyReference(rawValue: entry.keyReference))
      let oldData = plan.additionalData(entry, index, id)
      try key.open(sealed, additionalData: oldData.bytes, into: &target)
      let data = plan.additionalData(new, index, id)
      let newKey = try vault.sealingKey(KeyReference(rawValue: reference))
      try output.withBytes(in: 0..<output.count) { (bytes: inout MutableRawSpan) throws(CryptoError) in
        try newKey.seal(plaintext.bytes, additionalData: data.bytes, nonces: &nonces, into: &bytes)
      }
    } catch {
      plaintext.wipe()
      throw NotelogError(crypto: error, plan.place(index, id))
    }
    plaintext.wipe()
    return SealedContent(type: entry.type, flags: entry.flags, keyReference: reference, bytes: output)
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
    var data = plan.chunkData(new, index, id, value)
    try open(0..<resealed.byteCount) { (part, offset) throws(NotelogError) in
      let number = offset / Limits.chunkBytes
      let isLast = number == resealed.chunkCount - 1
      data.setChunk(UInt64(number), isLast: isLast)
      var nonces = NonceRun()
      var plaintext = part.array()
      defer { plaintext.wipe() }
      do throws(CryptoError) {
        try batch.putChunk(
          ChunkMark(UInt32(number), isLast: isLast), of: value,
          sealedByteCount: plaintext.count + RecordBody.sealOverhead
        ) { (target: inout MutableRawSpan) throws(CryptoError) in
          try key.seal(plaintext.rawSpan, additionalData: data.bytes, nonces: &nonces, into: &target)
        }
      } catch { throw NotelogError(crypto: error, plan.place(index, id)) }
      try chunkIsPut(&batch, isLast)
    }
    var bytes = [UInt8](repeating: 0, count: ValueReference.storedByteCount)
    var nonces = NonceRun()
    do {
      try bytes.withBytes(in: 0..<bytes.count) { (target: inout MutableRawSpan) throws(CryptoError) in
        try resealed.write(data, under: key, nonces: &nonces, into: &target)
      }
    } catch { throw NotelogError(crypto: error, plan.place(index, id)) }
    return SealedContent(type: entry.type, flags: entry.flags, keyReference: reference, bytes: bytes)
  }
}
