// What unlocks a keyring (docs/format-keyring.md 10.3).

import NotelogBase

/// A secret that a slot accepts.
package struct Credential: ~Copyable, Sendable {
  package static let keySize = 32
  package static let passwordByteCountMax = 4096

  /// The kind of slot that takes it.
  package let kind: Keyring.Slot.Kind
  private let secret: Secret

  /// The UTF-8 bytes of a password, in Unicode normalisation form C (the caller's business).
  package static func password(_ secret: consuming Secret) -> Credential {
    Credential(kind: .password, secret: secret)
  }

  /// Thirty-two random bytes kept by the app, in a keychain for instance.
  package static func rawKey(_ secret: consuming Secret) -> Credential {
    Credential(kind: .rawKey, secret: secret)
  }

  /// The thirty-two bytes behind a recovery key that somebody wrote down.
  package static func recoveryKey(_ secret: consuming Secret) -> Credential {
    Credential(kind: .recoveryKey, secret: secret)
  }

  /// Refuses a password too long and a key that is no key, before any work.
  borrowing func checkSize() throws(CryptoError) {
    let count = secret.byteCount
    guard kind == .password ? count <= Self.passwordByteCountMax : count == Self.keySize else {
      throw .limitExceeded(.secret)
    }
  }

  /// The key that wraps the unlock root in a slot: HKDF over the key itself, or over scrypt of the password.
  borrowing func slotKey(salt: [UInt8], logN: UInt8, storeID: ID16) throws(CryptoError) -> Secret {
    try checkSize()
    let info = Array("NL1/kek".utf8) + [kind.rawValue]
    guard kind == .password else {
      return try Crypto.hkdfSHA256(secret.bytes, salt: storeID.array, info: info)
    }
    let stretched = try Crypto.scrypt(
      password: secret.bytes, salt: Array("NL1/pw".utf8) + salt, n: 1 << UInt64(logN),
      r: Keyring.Slot.blockSize, p: Keyring.Slot.parallelism)
    return try Crypto.hkdfSHA256(stretched.bytes, salt: storeID.array, info: info)
  }
}
