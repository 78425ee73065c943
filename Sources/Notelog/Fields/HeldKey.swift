// A key that one thread keeps at hand.

import NotelogCrypto

/// A data key, held by an object of one thread's own: using it counts nothing up and down that other threads use too.
final class HeldKey {
  let key: SealingKey
  let vault: Vault

  init(_ key: SealingKey, _ vault: Vault) {
    self.key = key
    self.vault = vault
  }
}
