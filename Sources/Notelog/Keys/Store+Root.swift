// Unlocking without the password: by the unlock root that somebody keeps.

import NotelogBase
import NotelogCrypto

extension Store {
  /// The store's id: random, the same in every copy of it.
  public var id: RecordID { RecordID(storeID) }

  /// A copy of the unlock root, under which all keys of the store lie: `unlock(root:)` takes it in place of a password, without
  /// a password's work.
  ///
  /// It is for an agent that keeps a store unlocked for a while between processes. Whoever has it opens everything, and goes on to after a change of
  /// passwords: keep it no longer than needed, hand it to nobody, and never write it to a disk.
  ///
  /// - Throws: `locked`, `closed`.
  public func unlockRoot() throws -> SecretBytes { try SecretBytes.root(of: vault) }

  /// Unlocks the keys with the unlock root, and checks that no stored schema was altered.
  ///
  /// - Parameter root: What ``unlockRoot()`` gave, of this store.
  /// - Throws: `wrongPassword` where it is not this store's root (any more), or the keyring was altered; `tampered` where a schema was
  ///   altered: then the store stays locked.
  public func unlock(root: SecretBytes) throws { try unlock(.root(root)) }
}
