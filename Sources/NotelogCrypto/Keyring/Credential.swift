// What unlocks a keyring (FORMAT.md 10.3).

import NotelogBase

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

  package static let keySize = 32
  package static let passwordByteCountMax = 4096

  /// Refuses a password too long and a key that is no key, before any work.
  borrowing func checkSize() throws(CryptoError) {
    let isFit =
      switch self {
      case .password(let password): password.byteCount <= Self.passwordByteCountMax
      case .rawKey(let key): key.byteCount == Self.keySize
      case .recoveryKey(let key): key.byteCount == Self.keySize
      }
    guard isFit else { throw .limitExceeded(.secret) }
  }

  /// The key that wraps the unlock root in a slot: HKDF over the key itself, or over scrypt of the password.
  borrowing func slotKey(
    salt: [UInt8], logN: UInt8, storeID: ID16, memory: SecretMemory
  ) throws(CryptoError) -> Secret {
    try checkSize()
    let info = Array("NL1/kek".utf8) + [kind.rawValue]
    switch self {
    case .password(let password):
      let stretched = try Derivation.scrypt(
        password: password.bytes, salt: Array("NL1/pw".utf8) + salt, n: 1 << UInt64(logN),
        r: UInt64(Keyring.Slot.blockSize), p: UInt64(Keyring.Slot.parallelism), in: memory)
      return try Derivation.hkdfSHA256(stretched.bytes, salt: storeID.array, info: info, in: memory)
    case .rawKey(let key):
      return try Derivation.hkdfSHA256(key.bytes, salt: storeID.array, info: info, in: memory)
    case .recoveryKey(let key):
      return try Derivation.hkdfSHA256(key.bytes, salt: storeID.array, info: info, in: memory)
    }
  }
}
