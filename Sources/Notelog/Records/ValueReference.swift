// What stands in a record for a value that left it (FORMAT.md 8).

import NotelogBase
import NotelogCrypto

/// A reference to a large value: its id and its length, in clear, and a seal that binds both to the field.
///
/// In clear, so that whoever has no key can carry it over, check it against the envelope, and say how long
/// the value is.
struct ValueReference: Hashable, Sendable {
  /// Id and length.
  private static let clearByteCount = 24
  /// The same with the seal, of nothing.
  static let storedByteCount = clearByteCount + RecordBody.sealOverhead

  let value: ID16
  /// The length of the plaintext.
  let byteCount: Int

  /// How many chunks the plaintext is cut into.
  var chunkCount: Int { (byteCount + Limits.chunkBytes - 1) / Limits.chunkBytes }

  /// How many bytes reference and chunks take, their seals included.
  var sealedByteCount: Int { Self.storedByteCount + byteCount + chunkCount * RecordBody.sealOverhead }

  init(_ value: ID16, byteCount: Int) {
    self.value = value
    self.byteCount = byteCount
  }

  /// What a reference says; nil where nobody could have written it. Its seal is still to be opened.
  init?(_ bytes: RawSpan) {
    guard bytes.byteCount == Self.storedByteCount,
      let byteCount = Int(exactly: bytes.load(UInt64.self, at: 16)), byteCount > Limits.chunkBytes,
      byteCount <= Limits.largeValueBytes
    else { return nil }
    value = Self.value(in: bytes)
    self.byteCount = byteCount
    if value == .zero { return nil }
  }

  /// The value's id, whatever else the reference says.
  static func value(in bytes: RawSpan) -> ID16 {
    ID16(low: bytes.load(UInt64.self, at: 0), high: bytes.load(UInt64.self, at: 8))
  }

  /// Writes what stands in clear, and the seal behind it: of nothing, bound to what stands before it.
  ///
  /// - Parameters:
  ///   - data: What the value's chunks are bound to.
  ///   - key: The field's key.
  ///   - nonces: The transaction's nonces.
  ///   - bytes: The reference's place.
  /// - Throws: What sealing throws.
  func write(
    _ data: AdditionalData, under key: SealingKey, nonces: inout NonceRun, into bytes: inout MutableRawSpan
  ) throws(CryptoError) {
    bytes.store(value.low, at: 0)
    bytes.store(value.high, at: 8)
    bytes.store(UInt64(byteCount), at: 16)
    var data = data
    data.setReference(byteCount: UInt64(byteCount))
    var target = bytes.part(from: Self.clearByteCount)
    try key.seal(RawSpan(), additionalData: data.bytes, nonces: &nonces, into: &target)
  }

  /// Opens the seal of a reference that says this.
  ///
  /// - Throws: `tampered` where it was sealed for another reference, or another field's.
  func check(_ bytes: RawSpan, _ data: AdditionalData, under key: SealingKey) throws(CryptoError) {
    var data = data
    data.setReference(byteCount: UInt64(byteCount))
    var nothing = MutableRawSpan()
    try key.open(
      bytes.extracting(droppingFirst: Self.clearByteCount), additionalData: data.bytes, into: &nothing)
  }

  /// Which bytes of the plaintext a chunk holds.
  func range(of chunk: Int) -> Range<Int> {
    chunk * Limits.chunkBytes..<min((chunk + 1) * Limits.chunkBytes, byteCount)
  }
}

extension ID16 {
  /// An id for a value that is about to be written.
  static var randomValue: ID16 { RecordID().bytes }
}
