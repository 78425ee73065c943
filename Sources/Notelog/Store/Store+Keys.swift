// Keys: unlocking and locking, named keys, slots.

import NotelogConcurrency
import NotelogCrypto
import NotelogJournal

/// When a named key may be used.
public enum KeyClass: Sendable, Hashable {
  /// Between `unlock` and ``Store/lock(_:)``.
  case whenUnlocked
  /// From the first unlock until the process ends, or ``Store/lock(_:)`` locks everything.
  case afterFirstUnlock

  var accessClass: AccessClass { self == .whenUnlocked ? .whenUnlocked : .afterFirstUnlock }
}

/// What ``Store/lock(_:)`` closes.
public enum LockScope: Sendable {
  /// The keys of the class ``KeyClass/whenUnlocked``.
  case whenUnlocked
  /// All keys.
  case everything
}

extension Store {
  /// Whether the store is unlocked.
  public var isUnlocked: Bool { vault.isUnlocked }

  /// Unlocks the keys, and checks that no stored schema was altered.
  ///
  /// - Throws: `wrongPassword`; `tampered` where a slot, the keyring or a schema was altered: then the store stays locked.
  public func unlock(_ credential: Credential) throws(NotelogError) {
    _ = try unlockFindingSlot(credential, "unlocking the store")
  }

  /// Unlocks, and says which slot it was that opened.
  private func unlockFindingSlot(_ credential: Credential, _ place: String) throws(NotelogError) -> UInt32 {
    let slot = try credential.withSecret(place) { secret throws(CryptoError) in try vault.unlock(secret) }
    do { try verifySchemas() } catch {
      vault.lock(.everything)
      throw error
    }
    return slot
  }

  /// Locks keys: their memory is wiped, and reading what they seal throws `locked`.
  public func lock(_ scope: LockScope = .whenUnlocked) {
    vault.lock(scope == .everything ? .everything : .whenUnlocked)
  }

  /// Creates a named key. A key that a schema names and nobody created is made with the class `whenUnlocked`.
  ///
  /// - Throws: `locked`; `alreadyExists`; `limitExceeded` where the name has more than 63 bytes.
  public func createKey(_ name: String, _ keyClass: KeyClass) throws(NotelogError) {
    try changeKeyring("creating a key") { () throws(CryptoError) in
      try vault.addingKey(named: name, class: keyClass.accessClass)
    }
  }

  /// Adds a slot: another password or key that unlocks the same store.
  public func addCredential(_ credential: Credential, work: UInt8 = 17) throws(NotelogError) {
    try changeKeyring("adding \(credential)", credential) { secret throws(CryptoError) in
      try vault.addingSlot(secret, work: WorkFactor(logN: work))
    }
  }

  /// Replaces the password that is in force by another: one slot is written again, and no data.
  ///
  /// - Parameters:
  ///   - old: The password in force, which finds its slot.
  ///   - new: What takes its place.
  ///   - work: For a password, the exponent of scrypt's *N*.
  /// - Throws: `wrongPassword`, `tampered`, `full`, `inputOutput`.
  public func changeCredential(
    _ old: Credential, to new: Credential, work: UInt8 = 17
  ) throws(NotelogError) {
    let slot = try unlockFindingSlot(old, "finding the slot of \(old)")
    try changeKeyring("changing \(old)", new) { secret throws(CryptoError) in
      try vault.changingSlot(slot, to: secret, work: WorkFactor(logN: work))
    }
  }

  /// Removes the slot that a credential opens: it unlocks the store no longer. No data is written again.
  ///
  /// Afterwards the store is unlocked. Whoever knew the credential may have kept a copy of the keyring as it was: where
  /// that matters, new data belong under a new key.
  ///
  /// - Parameter credential: The one to give up; it finds its slot.
  /// - Throws: `wrongPassword`; `invalidArgument` where it is the last way to unlock the store; `full`, `inputOutput`.
  public func removeCredential(_ credential: Credential) throws(NotelogError) {
    let slot = try unlockFindingSlot(credential, "finding the slot of \(credential)")
    try removeSlot(slot)
  }

  /// Removes a slot by its number in ``StoreInfo/slots``: for a password that nobody knows any more.
  ///
  /// - Parameter number: The slot's number.
  /// - Throws: `locked` where the store is not unlocked; `notFound`; `invalidArgument` where it is the last slot.
  public func removeSlot(_ number: UInt32) throws(NotelogError) {
    try changeKeyring("removing slot \(number)") { () throws(CryptoError) in try vault.removingSlot(number) }
  }

  /// The reference of a named key's current generation; the key is made where there is none.
  func keyReference(creating name: String) throws(NotelogError) -> UInt32 {
    if let known = try keyReference(name) { return known }
    guard isUnlocked else {
      throw NotelogError(.locked, "the key that a field names can't be looked up: unlock the store")
    }
    try createKey(name, .whenUnlocked)
    guard let made = try keyReference(name) else {
      throw NotelogError(.missingKey, "the key just made is gone")
    }
    return made
  }

  /// The reference of a named key's current generation; nil where there is none, or names are locked.
  func keyReference(_ name: String) throws(NotelogError) -> UInt32? {
    do throws(CryptoError) {
      return try vault.currentReference(ofKeyNamed: name).rawValue
    } catch {
      if error == .unknownKeyName || error == .rootLocked { return nil }
      throw NotelogError(crypto: error, "looking up a key")
    }
  }

  /// Changes the keyring: on disk first, then in memory.
  private func changeKeyring(
    _ place: String, _ change: () throws(CryptoError) -> Vault.Change
  ) throws(NotelogError) {
    try keyringChange.withLock { _ throws(NotelogError) in
      let change = try naming(place, change)
      try keyringFiles.replace(with: change.bytes)
      vault.adopt(change)
    }
  }

  private func changeKeyring(
    _ place: String, _ credential: Credential,
    _ change: (borrowing NotelogCrypto.Credential) throws(CryptoError) -> Vault.Change
  ) throws(NotelogError) {
    try keyringChange.withLock { _ throws(NotelogError) in
      let change = try credential.withSecret(place, change)
      try keyringFiles.replace(with: change.bytes)
      vault.adopt(change)
    }
  }
}
