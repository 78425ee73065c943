// Credentials: slots added, changed and removed; recovery keys, grants, and a new unlock root
// (docs/format-keyring.md 10.3, FORMAT.md 21.4).

import NotelogBase
import NotelogCrypto

extension Store {
  /// Unlocks the keys, and checks that no stored schema was altered. With a credential that was granted some
  /// keys, opens those.
  ///
  /// - Throws: `wrongPassword`; `tampered` where a slot, the keyring or a schema was altered: then the store
  ///   stays locked.
  public func unlock(_ credential: Credential) throws {
    try unlock(credential, "unlocking the store")
    finishKeyring()
  }

  /// Adds a slot: another password or key that unlocks the same store.
  ///
  /// - Parameters:
  ///   - credential: What unlocks the store too from now on.
  ///   - work: For a password, the exponent of scrypt's *N*, from 14 to 18. With less than 16 the password is
  ///     cheap to guess for whoever has the files, and nothing warns of that here.
  /// - Throws: `locked`; `invalidArgument` for an empty password; `limitExceeded` where there are too many
  ///   slots, or the work is out of range; `full`, `inputOutput`.
  public func addCredential(_ credential: Credential, work: UInt8 = 17) throws {
    try credential.refuseEmpty("adding \(credential)")
    try changeKeyring("adding \(credential)", credential) { change, secret throws(CryptoError) in
      try change.addSlot(secret, work: work)
    }
  }

  /// Adds a recovery key: a random one, for somebody to write down.
  ///
  /// - Returns: Its text, 60 letters and digits in groups, which ``Credential/recoveryKey(text:)`` reads. It
  ///   is nowhere else: show it once.
  /// - Throws: `locked`; `limitExceeded` where there are too many slots; `full`, `inputOutput`.
  public func addRecoveryKey() throws -> String {
    var generator = SystemRandomNumberGenerator()
    var bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
    defer { bytes.wipe() }
    try addCredential(.recoveryKey(bytes))
    return Credential.recoveryText(bytes)
  }

  /// Adds a slot that opens some named keys, and not the store: for a support person, who may read some
  /// fields and no others.
  ///
  /// Whoever unlocks with it reads what is sealed under these keys, in all of their generations, those to
  /// come included, and plain fields; seals nothing, changes no keys, and can't tell whether a schema was
  /// altered. Taking it away by `removeSlot(_:)` takes away nothing that was read or copied before: rotate
  /// the keys then.
  ///
  /// - Parameters:
  ///   - names: The keys' names.
  ///   - credential: What opens them.
  ///   - work: For a password, the exponent of scrypt's *N*, from 14 to 18.
  /// - Throws: `locked`, `missingKey`; `invalidArgument` where no key is named, or one that is used on this
  ///   device only, or for an empty password; `limitExceeded`, `full`, `inputOutput`.
  public func grant(_ names: [String], to credential: Credential, work: UInt8 = 17) throws {
    let place = "granting keys to \(credential)"
    try credential.refuseEmpty(place)
    guard !names.isEmpty else { throw NotelogError(.invalidArgument, "\(place): no key is named") }
    try changeKeyring(place, credential) { change, secret throws(CryptoError) in
      try change.addSlot(secret, work: work, opening: names)
    }
  }

  /// Replaces the password that is in force by another: one slot is written again, and no data.
  ///
  /// Afterwards the store is unlocked, also where it was locked before: finding the slot unlocks it, even if
  /// the change then fails. Whoever kept a copy of the keyring as it was opens it with the old password for
  /// ever, and with it keys made since: where that matters, use `rekey(_:to:work:)`.
  ///
  /// - Parameters:
  ///   - old: The password in force, which finds its slot.
  ///   - new: What takes its place.
  ///   - work: For a password, the exponent of scrypt's *N*, from 14 to 18. With less than 16 the password is
  ///     cheap to guess for whoever has the files, and nothing warns of that here.
  /// - Throws: `wrongPassword`, `tampered`; `invalidArgument` where the new password is empty;
  ///   `limitExceeded` where there are too many passwords, or the work is out of range; `full`,
  ///   `inputOutput`.
  public func changeCredential(
    _ old: Credential, to new: Credential, work: UInt8 = 17
  ) throws {
    try new.refuseEmpty("changing \(old)")
    // The same password may stand in several slots: none of them may open the store any longer.
    let slots = try slots(openedBy: old)
    try changeKeyring("changing \(old)", new) { change, secret throws(CryptoError) in
      try change.replaceSlots(slots, by: secret, work: work)
    }
  }

  /// Replaces the unlock root, and with it everything that leads to data: for when somebody else may know the
  /// root, or had a password and a copy of the keyring.
  ///
  /// There is a new root, which the new credential alone opens, new keys of the classes, and of each named
  /// key a new generation: whoever had the old root opens nothing that is written from now on. Values that
  /// are there stay under the old generations until each key is rotated (`rotate(_:_:)`). All other
  /// credentials, recovery keys and grants are gone: add them again. A crash leaves the old root or the new
  /// one in force.
  ///
  /// - Parameters:
  ///   - old: A credential in force.
  ///   - new: What opens the store from now on; it may be the same.
  ///   - work: For a password, the exponent of scrypt's *N*, from 14 to 18.
  /// - Throws: `wrongPassword`, `tampered`; `missingKey` where a key can't be opened on this device;
  ///   `invalidArgument`, `limitExceeded`, `full`, `inputOutput`. Where the error's ``NotelogError/outcome``
  ///   is `done`, the new credential is in force all the same.
  public func rekey(_ old: Credential, to new: Credential, work: UInt8 = 17) throws {
    let place = "changing the unlock root"
    try new.refuseEmpty(place)
    try unlock(old, place)
    guard isUnlocked else {
      throw NotelogError(.locked, "\(place): the credential opens some keys only, and not the store")
    }
    try refuseMissingSchemas(place)
    try finishRootChange()
    var isInForce = false
    do {
      // The turn is kept from the new root on until all schemas are in the log again: none is sealed under
      // the old one meanwhile.
      try write { tx in
        try changeKeyring(place, new) { change, secret throws(CryptoError) in
          try change.changeRoot(
            to: secret, work: work, schemas: registry.withLock { $0.byNumber.sealed })
        }
        isInForce = true
        try tx.storeSchemas { schema throws(NotelogError) in try self.followAll(&schema) }
      }
      try changeKeyring(place) { $0.finishRootChange() }
    } catch {
      guard isInForce, var error = error as? NotelogError else { throw error }
      // The new credential opens the store, and the old one doesn't: whoever unlocks it next does what is
      // left.
      error.outcome = .done
      throw error
    }
  }

  /// Does what a process that died left to do in the keyring. What can't be done now is at the next
  /// unlocking; until then both kinds of MACs count.
  func finishKeyring() {
    guard journal.holdsLock, isUnlocked else { return }
    try? finishRootChange()
    countSchemas()
  }

  /// Does what a change of the root left to do, if the process died: schemas get their MACs under the new
  /// root, and those of before count no longer.
  func finishRootChange() throws {
    guard vault.isRootChangeUnfinished else { return }
    try write { tx in try tx.storeSchemas { schema throws(NotelogError) in try self.followAll(&schema) } }
    try changeKeyring("finishing a change of the unlock root") { $0.finishRootChange() }
  }

  /// Removes every slot that a credential opens: it unlocks the store no longer. No data is written again.
  ///
  /// Afterwards the store is unlocked. Whoever kept a copy of the keyring as it was opens it with the
  /// credential for ever, and with it keys made since: where that matters, use `rekey(_:to:work:)`.
  ///
  /// - Parameter credential: The one to give up; it finds its slot.
  /// - Throws: `wrongPassword`; `invalidArgument` where it is the last way to unlock the store; `full`,
  ///   `inputOutput`.
  public func removeCredential(_ credential: Credential) throws {
    let slots = try slots(openedBy: credential)
    try changeKeyring("removing \(credential)") { change throws(CryptoError) in try change.removeSlots(slots)
    }
  }

  /// Removes a slot by its number in ``StoreInfo/slots``: for a password that nobody knows any more.
  ///
  /// - Parameter number: The slot's number.
  /// - Throws: `locked` where the store is not unlocked; `notFound`; `invalidArgument` where it is the last
  ///   slot.
  public func removeSlot(_ number: UInt32) throws {
    try changeKeyring("removing slot \(number)") { change throws(CryptoError) in
      try change.removeSlots([number])
    }
  }

  /// Unlocks the store, and finds every slot that a credential opens.
  private func slots(openedBy credential: Credential) throws(NotelogError) -> [UInt32] {
    let place = "finding the slots of \(credential)"
    try unlock(credential, place)
    let secret = try credential.secret(place)
    return try naming(place, vault.slots(openedBy: secret))
  }
}
