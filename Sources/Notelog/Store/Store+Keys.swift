// Keys: unlocking and locking, and putting a changed keyring into force.

import NotelogBase
import NotelogCrypto

/// When a named key may be used, and whether it travels with the store.
///
/// A record can say it of itself, where keys have the names of their classes: as the plain field that
/// ``Sealed/key(from:)`` takes.
public enum KeyClass: String, Sendable, CaseIterable, FieldValue {
  /// Between `unlock` and ``Store/lock(_:)``.
  case whenUnlocked
  /// The same, and on this device only.
  case whenUnlockedThisDeviceOnly
  /// From the first unlock until the process ends, or ``Store/lock(_:)`` locks everything.
  case afterFirstUnlock
  /// The same, and on this device only.
  case afterFirstUnlockThisDeviceOnly
  /// Without being unlocked, on this device; elsewhere between `unlock` and ``Store/lock(_:)`` of everything.
  /// Before the store was unlocked values are opened, and none are sealed: nobody has checked its schemas.
  case always
  /// The same, and on this device only.
  case alwaysThisDeviceOnly

  var accessClass: AccessClass {
    switch self {
    case .whenUnlocked: .whenUnlocked
    case .whenUnlockedThisDeviceOnly: .whenUnlockedThisDeviceOnly
    case .afterFirstUnlock: .afterFirstUnlock
    case .afterFirstUnlockThisDeviceOnly: .afterFirstUnlockThisDeviceOnly
    case .always: .always
    case .alwaysThisDeviceOnly: .alwaysThisDeviceOnly
    }
  }
}

/// What ``Store/lock(_:)`` closes.
public enum LockScope: Sendable {
  /// The keys of the classes ``KeyClass/whenUnlocked`` and ``KeyClass/whenUnlockedThisDeviceOnly``.
  case whenUnlocked
  /// All keys. Those that are open always are opened again when they are asked for.
  case everything
}

extension Store {
  /// Whether the store has a keyring that serves. Without one it opens for reading only, nothing sealed in it
  /// can be opened, and what is plain is there as ever; ``StoreInfo/keyring`` says why.
  public var hasKeyring: Bool { vault.keyring.generation > 0 }

  /// Whether the store is unlocked. A credential that opens some keys only does not unlock it.
  public var isUnlocked: Bool { vault.isUnlocked }

  /// Unlocks; every schema's MAC is checked before any key is usable: **INV-M2**.
  func unlock(_ credential: Credential, _ place: String) throws(NotelogError) {
    try journal.checkOpen()
    if let refusal = keyringFinding.withLock({ $0.refusal }) { throw NotelogError(.damaged, refusal) }
    let schemas = registry.withLock { $0.byNumber.sealed }
    if case .root(let root) = credential {
      try naming(place, vault.unlock(root: root.secret, checking: schemas))
    } else {
      let secret = try credential.secret(place)
      try naming(place, vault.unlock(secret, checking: schemas))
    }
    // What another process has stored since they were listed.
    let known = registry.withLock { $0.byNumber.sealed }
    if !known.elementsEqual(schemas, by: ==) { try naming(place, vault.check(known)) }
    if isUnlocked {
      trustSchemas(true)
      evidence.withLock { $0 }?.check()
    }
    // Closed meanwhile: nothing may stay open.
    if journal.isClosed { vault.lock(everything: true) }
    hub.wake()
  }

  /// Notes whether somebody with the unlock root has checked the schemas: before that nothing is sealed as
  /// they say.
  func trustSchemas(_ isVerified: Bool) { _ = schemasAreVerified.exchange(isVerified) }

  /// Locks keys: their memory is wiped, and reading what they seal throws `locked`.
  public func lock(_ scope: LockScope = .whenUnlocked) { vault.lock(everything: scope == .everything) }

  /// Why values can't be sealed under a key now, and may later, or on another device; nil where they can.
  func lockRefusal(of key: UInt32) -> CryptoError? {
    do throws(CryptoError) {
      _ = try vault.sealingKey(KeyReference(rawValue: key))
      // It may be open all the same: one that is always, or by a grant.
      return schemasAreVerified.isSet ? nil : .rootLocked
    } catch {
      switch error {
      case .locked, .elsewhere: return error
      default: return nil
      }
    }
  }

  /// Changes the keyring: on disk first, then in memory.
  func changeKeyring(
    _ place: String, _ change: (inout Vault.Change) throws(CryptoError) -> Void
  ) throws(NotelogError) {
    try alone { () throws(NotelogError) in try putInForce(place, change) }
    // Where it can't be noted now, the next transaction does it.
    try? touchEvidence()
  }

  func changeKeyring(
    _ place: String, _ credential: Credential,
    _ change: (inout Vault.Change, borrowing NotelogCrypto.Credential) throws(CryptoError) -> Void
  ) throws(NotelogError) {
    let secret = try credential.secret(place)
    try changeKeyring(place) { draft throws(CryptoError) in try change(&draft, secret) }
  }

  /// Only the writing process changes the keyring: another one's may be older, and would undo what was
  /// changed since.
  func alone(_ change: () throws(NotelogError) -> Void) throws(NotelogError) {
    try evidence.withLock { $0 }?.refuseAlarm()
    let isTaken = try journal.beginExclusive()
    defer { if isTaken { journal.endExclusive() } }
    try keyringChange.withLock { _ throws(NotelogError) in try change() }
  }

  /// A change is in force as soon as `keyring` is replaced: from then on it is what the next opening goes by.
  /// A copy that can't be written is older, which is reported, and is replaced with the next change.
  func putInForce(
    _ place: String, _ body: (inout Vault.Change) throws(CryptoError) -> Void
  ) throws(NotelogError) {
    let change = try naming(place, vault.changing(body))
    func keep(_ name: String) throws(NotelogError) {
      try journal.log.space.lendingReserve { () throws(NotelogError) in
        try storage.keepCopy(change.keyring.bytes, as: name)
      }
    }
    do { try keep(KeyringFiles.name) } catch {
      // It has its name, and is what others go by.
      if error.outcome == .unknown {
        vault.adopt(change)
        keyringFinding.withLock { $0 = TwinFinding(copy: .older) }
      }
      throw error
    }
    vault.adopt(change)
    let isCopied = (try? keep(KeyringFiles.copyName)) != nil
    keyringFinding.withLock { $0 = TwinFinding(copy: isCopied ? .sound : .older) }
  }
}
