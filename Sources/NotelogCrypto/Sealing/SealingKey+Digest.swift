// Digests by which equal values of one field are told, under a data key (FORMAT.md 11.3).

package import NotelogBase

extension SealingKey {
  package static let digestByteCount = 16

  /// The digest of a value: the same for the same value of the same field, under this key only.
  package func digest(of value: RawSpan, field: ID16, store: ID16) throws(CryptoError) -> [UInt8] {
    guard SecretMemory.shared.isOriginalProcess else { throw .forked }
    return try key.withLock { key throws(CryptoError) in
      switch key {
      case .none: throw .locked(accessClass)
      case .some(let key):
        let info = Array("NL1/equality".utf8) + field.array
        let derived = try Crypto.hkdfSHA256(key.bytes, salt: store.array, info: info)
        return Array(try Crypto.hmacSHA256(key: derived.bytes, value).prefix(Self.digestByteCount))
      }
    }
  }
}
