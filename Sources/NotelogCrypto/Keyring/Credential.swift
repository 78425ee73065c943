// What unlocks a keyring (FORMAT.md 10.3).

/// A secret that a slot accepts.
package enum Credential: ~Copyable, Sendable {
  /// The UTF-8 bytes of a password, in Unicode normalisation form C (the caller's business).
  case password(Secret)
  /// Thirty-two random bytes kept by the app, in a keychain for instance.
  case rawKey(Secret)
  /// The thirty-two bytes behind a recovery key that somebody wrote down.
  case recoveryKey(Secret)

  /// The kind of slot that takes it.
  package var kind: Keyring.Slot.Kind {
    switch self {
    case .password: .password
    case .rawKey: .rawKey
    case .recoveryKey: .recoveryKey
    }
  }

  static let keySize = 32
  static let passwordByteCountMax = 4096

  /// The key that wraps the unlock root in a slot: HKDF over the key itself, or over scrypt of the password.
  borrowing func slotKey(
    salt: [UInt8], logN: UInt8, storeID: Bytes16, memory: SecretMemory
  ) throws(CryptoError) -> Secret {
    let info = Array("NL1/kek".utf8) + [kind.rawValue]
    switch self {
    case .password(let password):
      guard password.byteCount <= Self.passwordByteCountMax else { throw .limitExceeded(.secret) }
      let stretched = try Derivation.scrypt(
        password: password.bytes, salt: Array("NL1/pw".utf8) + salt, n: 1 << UInt64(logN),
        r: UInt64(Keyring.Slot.blockSize), p: UInt64(Keyring.Slot.parallelism), in: memory)
      return try Derivation.hkdfSHA256(stretched.bytes, salt: storeID.array, info: info, in: memory)
    case .rawKey(let key):
      guard key.byteCount == Self.keySize else { throw .limitExceeded(.secret) }
      return try Derivation.hkdfSHA256(key.bytes, salt: storeID.array, info: info, in: memory)
    case .recoveryKey(let key):
      guard key.byteCount == Self.keySize else { throw .limitExceeded(.secret) }
      return try Derivation.hkdfSHA256(key.bytes, salt: storeID.array, info: info, in: memory)
    }
  }
}
