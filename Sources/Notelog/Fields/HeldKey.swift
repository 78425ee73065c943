// A key that one thread keeps at hand.

import NotelogCrypto

/// A data key, held by an object of one thread's own: using it counts nothing up and down that other threads use too.
///
/// That holds within its methods. Whoever takes the key out of it to use it, counts.
final class HeldKey {
  let key: SealingKey
  private let vault: Vault

  init(_ key: SealingKey, _ vault: Vault) {
    self.key = key
    self.vault = vault
  }

  /// Whether it is a vault's key of that name.
  func isNamed(_ reference: KeyReference, of vault: Vault) -> Bool {
    // By number: comparing references goes through what the runtime knows of the type.
    key.reference.rawValue == reference.rawValue && self.vault === vault
  }

  /// Seals a value.
  func seal(
    _ plaintext: RawSpan, additionalData: RawSpan, nonces: inout NonceRun, into output: inout MutableRawSpan
  ) throws(CryptoError) {
    try key.seal(plaintext, additionalData: additionalData, nonces: &nonces, into: &output)
  }

  /// Opens a value.
  func open(
    _ sealed: RawSpan, additionalData: RawSpan, into output: inout MutableRawSpan
  ) throws(CryptoError) {
    try key.open(sealed, additionalData: additionalData, into: &output)
  }
}
