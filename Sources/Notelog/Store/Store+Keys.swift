// Keys: unlocking and locking, named keys, slots.

import NotelogBase
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
  public func unlock(_ credential: Credential) throws {
    try unlock(credential, "unlocking the store")
  }

  /// Unlocks; every schema's MAC is checked before any key is usable: **INV-M2**.
  func unlock(_ credential: Credential, _ place: String) throws(NotelogError) {
    try unlocking(place) { schemas throws(NotelogError) in
      try credential.withSecret(place) { secret throws(CryptoError) in
        try lockingWhatIsTampered { () throws(CryptoError) in try vault.unlock(secret, checking: schemas) }
      }
    }
  }

  /// Unlocks with the root that another opening of the store has.
  func unlock(withKeysOf other: Store) throws(NotelogError) {
    let place = "unlocking the store with another's keys"
    guard other.storeID == storeID else {
      throw NotelogError(
        .invalidArgument, "\(place): that is open at '\(other.journal.path)', and is another store")
    }
    try unlocking(place) { schemas throws(NotelogError) in
      try naming(place) { () throws(CryptoError) in
        let root = try other.vault.rootCopy()
        try lockingWhatIsTampered { () throws(CryptoError) in try vault.unlock(root: root, checking: schemas)
        }
      }
    }
  }

  /// Runs what unlocks the vault, with the stored schemas to check.
  func unlocking(
    _ place: String, _ unlock: ([SealedSchema]) throws(NotelogError) -> Void
  ) throws(NotelogError) {
    guard !journal.isClosed else { throw NotelogError(.closed, "the store is closed") }
    let stored = registry.withLock { Array($0.byNumber.values) }
    try unlock(stored.map { SealedSchema(bytes: $0.bytes, mac: $0.mac) })
    // What another process has stored since they were listed.
    let now = registry.withLock { Array($0.byNumber.values) }
    do throws(CryptoError) { try vault.check(now.map { SealedSchema(bytes: $0.bytes, mac: $0.mac) }) } catch {
      vault.lock(.everything)
      throw NotelogError(crypto: error, place)
    }
    registry.withLock { $0.isVerified = true }
    // Closed meanwhile: nothing may stay open.
    if journal.isClosed { vault.lock(.everything) }
  }

  /// Runs what unlocks the vault. A schema that was altered locks what is open.
  func lockingWhatIsTampered(_ unlock: () throws(CryptoError) -> Void) throws(CryptoError) {
    do throws(CryptoError) { try unlock() } catch {
      if case .tamperedSchema = error { vault.lock(.everything) }
      throw error
    }
  }

  /// Locks keys: their memory is wiped, and reading what they seal throws `locked`.
  public func lock(_ scope: LockScope = .whenUnlocked) {
    vault.lock(scope == .everything ? .everything : .whenUnlocked)
  }

  /// Creates a named key. A key that a schema names and nobody created is made with the class `whenUnlocked`.
  ///
  /// - Throws: `locked`; `alreadyExists`; `limitExceeded` where the name has more than 63 bytes.
  public func createKey(_ name: String, _ keyClass: KeyClass) throws { try makeKey(name, keyClass) }

  private func makeKey(_ name: String, _ keyClass: KeyClass) throws(NotelogError) {
    try changeKeyring("creating a key") { () throws(CryptoError) in
      try vault.addingKey(named: name, class: keyClass.accessClass)
    }
  }

  /// Adds a slot: another password or key that unlocks the same store.
  ///
  /// - Parameters:
  ///   - credential: What unlocks the store too from now on.
  ///   - work: For a password, the exponent of scrypt's *N*, from 14 to 18. With less than 16 the password is cheap to guess for
  ///     whoever has the files, and nothing warns of that here.
  /// - Throws: `locked`; `invalidArgument` for an empty password; `limitExceeded` where there are too many slots, or the work is out of
  ///   range; `full`, `inputOutput`.
  public func addCredential(_ credential: Credential, work: UInt8 = 17) throws {
    try credential.refuseEmpty("adding \(credential)")
    try changeKeyring("adding \(credential)", credential) { secret throws(CryptoError) in
      try vault.addingSlot(secret, work: WorkFactor(logN: work))
    }
  }

  /// Replaces the password that is in force by another: one slot is written again, and no data.
  ///
  /// Afterwards the store is unlocked, also where it was locked before: finding the slot unlocks it, even if the change then
  /// fails. Whoever kept a copy of the keyring as it was opens it with the old password for ever, and with it keys made since.
  ///
  /// - Parameters:
  ///   - old: The password in force, which finds its slot.
  ///   - new: What takes its place.
  ///   - work: For a password, the exponent of scrypt's *N*, from 14 to 18. With less than 16 the password is cheap to guess for
  ///     whoever has the files, and nothing warns of that here.
  /// - Throws: `wrongPassword`, `tampered`; `invalidArgument` where the new password is empty; `limitExceeded` where there are too many passwords, or the work is out of range;
  ///   `full`, `inputOutput`.
  public func changeCredential(
    _ old: Credential, to new: Credential, work: UInt8 = 17
  ) throws {
    try new.refuseEmpty("changing \(old)")
    // The same password may stand in several slots: none of them may open the store any longer.
    let slots = try slots(openedBy: old)
    try changeKeyring("changing \(old)", new) { secret throws(CryptoError) in
      try vault.changingSlots(slots, to: secret, work: WorkFactor(logN: work))
    }
  }

  /// Removes every slot that a credential opens: it unlocks the store no longer. No data is written again.
  ///
  /// Afterwards the store is unlocked. Whoever kept a copy of the keyring as it was opens it with the credential for ever,
  /// and with it keys made since: where that matters, new data belong in a new store.
  ///
  /// - Parameter credential: The one to give up; it finds its slot.
  /// - Throws: `wrongPassword`; `invalidArgument` where it is the last way to unlock the store; `full`, `inputOutput`.
  public func removeCredential(_ credential: Credential) throws {
    let slots = try slots(openedBy: credential)
    try changeKeyring("removing \(credential)") { () throws(CryptoError) in try vault.removingSlots(slots) }
  }

  /// Removes a slot by its number in ``StoreInfo/slots``: for a password that nobody knows any more.
  ///
  /// - Parameter number: The slot's number.
  /// - Throws: `locked` where the store is not unlocked; `notFound`; `invalidArgument` where it is the last slot.
  public func removeSlot(_ number: UInt32) throws {
    try changeKeyring("removing slot \(number)") { () throws(CryptoError) in try vault.removingSlots([number])
    }
  }

  /// Unlocks the store, and finds every slot that a credential opens.
  private func slots(openedBy credential: Credential) throws(NotelogError) -> [UInt32] {
    let place = "finding the slots of \(credential)"
    try unlock(credential, place)
    return try credential.withSecret(place) { secret throws(CryptoError) in try vault.slots(openedBy: secret)
    }
  }

  /// Whether the class of a key is locked.
  func isLocked(_ key: UInt32) -> Bool {
    do throws(CryptoError) {
      _ = try vault.sealingKey(KeyReference(rawValue: key))
      return false
    } catch {
      if case .locked = error { return true }
      return false
    }
  }

  /// The reference of a named key's current generation; the key is made where there is none.
  func keyReference(creating name: String) throws(NotelogError) -> UInt32 {
    if let known = try keyReference(name) { return known }
    guard isUnlocked else {
      throw NotelogError(.locked, "the key that a field names can't be looked up: unlock the store")
    }
    try makeKey(name, .whenUnlocked)
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
      throw opener.refusal(error, "looking up a key")
    }
  }

  /// Changes the keyring: on disk first, then in memory.
  private func changeKeyring(
    _ place: String, _ change: () throws(CryptoError) -> Vault.Change
  ) throws(NotelogError) {
    try alone { () throws(NotelogError) in try putInForce(try naming(place, change)) }
  }

  private func changeKeyring(
    _ place: String, _ credential: Credential,
    _ change: (borrowing NotelogCrypto.Credential) throws(CryptoError) -> Vault.Change
  ) throws(NotelogError) {
    try alone { () throws(NotelogError) in try putInForce(try credential.withSecret(place, change)) }
  }

  /// Only the writing process changes the keyring: another one's may be older, and would undo what was changed since.
  private func alone(_ change: () throws(NotelogError) -> Void) throws(NotelogError) {
    guard !journal.isClosed else { throw NotelogError(.closed, "the store is closed") }
    let isTaken = try journaling(at: journal.path, journal.beginExclusive())
    defer { if isTaken { journal.endExclusive() } }
    try keyringChange.withLock { _ throws(NotelogError) in try change() }
  }

  /// A change is in force as soon as `keyring` is replaced: from then on it is what the next opening goes by. A copy that
  /// can't be replaced is older, which is reported, and is replaced with the next change.
  private func putInForce(_ change: Vault.Change) throws(NotelogError) {
    do { try keyringFiles.keep(change.bytes, as: KeyringFiles.name) } catch {
      // On a full disk the reserve has room for it; once it has taken the other's place, that room is there again.
      guard error.code == .full, journal.releaseReserve() else { throw error }
      defer { journal.refillReserve() }
      try keyringFiles.keep(change.bytes, as: KeyringFiles.name)
    }
    vault.adopt(change)
    var isCopied = keyringFiles.replaceCopy(with: change.bytes)
    if !isCopied, journal.releaseReserve() {
      isCopied = keyringFiles.replaceCopy(with: change.bytes)
      journal.refillReserve()
    }
    keyringFinding.withLock { $0 = isCopied ? .bothSound : .copyOlder }
  }
}
