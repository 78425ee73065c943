// A keyring together with what of it is unlocked (docs/format-keyring.md 10.4).

import NotelogBase

/// Secrets that lie outside of the keyring, and mostly outside of the store.
package protocol OutsideSecrets: Sendable {
  /// This device's secret; nil where it has none, and none is to be made.
  func deviceSecret(making: Bool) throws(CryptoError) -> Secret?
  /// The secret without which a named key's wraps don't open; nil where it is not there.
  func effaceableSecret(ofKey number: UInt16) throws(CryptoError) -> Secret?
}

/// Holds a store's keyring, and the keys that are open now.
///
/// Data keys are unwrapped when first asked for. ``lock(_:)`` wipes by access class; a ``SealingKey`` that
/// somebody still holds then throws `locked`, and is asked for anew after the next `unlock`.
package final class Vault: Sendable {
  /// What is open. The root is there exactly while the vault is unlocked.
  struct State: ~Copyable {
    var keyring: Keyring
    var other: Keyring?
    var root: SharedSecret?
    /// The keys that wrap data keys, by number.
    var wrappingKeys: [UInt32: SharedSecret] = [:]
    var names: [UInt16: String] = [:]
    var servedByOther = false
    var isClosed = false
    /// Counts the locks, so that what was opened can be told to belong to an earlier time.
    var lockCount = 0
  }

  let state: Lock<State>
  let outside: (any OutsideSecrets)?
  /// The data keys that are open. Threads look them up millions of times a second; who changes them has the
  /// state's lock.
  private let openKeys = ReadMostly<[KeyReference: SealingKey]>([:])

  /// A locked vault.
  ///
  /// - Parameters:
  ///   - keyring: The keyring that counts.
  ///   - other: The one to fall back on where that one turns out, at unlocking, to be tampered with.
  ///   - outside: Where the secrets are that no keyring has.
  package init(_ keyring: Keyring, other: Keyring? = nil, outside: (any OutsideSecrets)? = nil) {
    state = Lock(State(keyring: keyring, other: other))
    self.outside = outside
  }

  /// The keyring in force, without any secret.
  package var keyring: Keyring { state.withLock { $0.keyring } }

  /// What evidence says of the keyring, and is made with: 0 where none is kept.
  package var evidence: (reference: UInt32, generation: UInt64, digest: UInt64) {
    state.withLock {
      ($0.keyring.evidenceKey?.current.rawValue ?? 0, $0.keyring.generation, $0.keyring.start(ofDigest: 5))
    }
  }

  /// Whether the unlock root is open.
  package var isUnlocked: Bool { state.withLock { $0.root != nil } }

  /// Whether the chosen keyring was tampered with, and the other copy unlocked instead.
  package var isServedByOtherCopy: Bool { state.withLock { $0.servedByOther } }

  /// Wipes the unlock root, grants, and the keys of the classes `whenUnlocked`; or all keys: those of the
  /// classes `always` are open again as soon as they are asked for. Waits for calls under way on other
  /// threads.
  package func lock(everything: Bool = false) {
    // In a forked child all of it is zero already, and another thread may have held the mutex.
    guard SecretMemory.shared.isOriginalProcess else { return }
    state.withLock { state in
      state.lockCount += 1
      let keyring = state.keyring
      func staysOpen(_ accessClass: AccessClass?) -> Bool { !everything && accessClass?.isLasting == true }
      state.root = nil
      let lasting = Set(keyring.wrappingKeys.filter { staysOpen($0.accessClass) }.map(\.number))
      state.wrappingKeys = state.wrappingKeys.filter { lasting.contains($0.key) }
      wipe { !staysOpen($0.accessClass) }
      state.names = state.names.filter { staysOpen(keyring.namedKey($0.key)?.accessClass) }
    }
  }

  /// Wipes data keys. The caller has the state's lock.
  func wipe(where isDoomed: (SealingKey) -> Bool) {
    let doomed = openKeys.read { $0.filter { isDoomed($0.value) } }
    for key in doomed.values { key.wipe() }
    openKeys.change { keys in for reference in doomed.keys { keys[reference] = nil } }
  }

  /// Wipes all keys for good: asking for one throws ``CryptoError/closed`` from now on.
  package func close() {
    guard SecretMemory.shared.isOriginalProcess else { return }
    state.withLock { $0.isClosed = true }
    lock(everything: true)
  }

  /// A data key, ready to use.
  ///
  /// - Throws: ``CryptoError/missingKey(_:)``, ``CryptoError/locked(_:)``, ``CryptoError/elsewhere(_:)``,
  ///   ``CryptoError/effaced(_:)`` or ``CryptoError/closed``, before any cryptography.
  package func sealingKey(_ reference: KeyReference) throws(CryptoError) -> SealingKey {
    guard SecretMemory.shared.isOriginalProcess else { throw .forked }
    if let key = openKeys.read({ $0[reference] }) { return key }
    return try state.withLock { state throws(CryptoError) in
      if let key = openKeys.read({ $0[reference] }) { return key }
      let rows = state.keyring.rows(of: reference)
      guard let first = rows.first else { throw .missingKey(reference) }
      if state.isClosed { throw .closed }
      if state.keyring.isShredded(first) { throw .shredded }
      let accessClass = first.accessClass
      if accessClass.isAlways { try openAlways(&state) }
      let open = state.wrappingKeys
      guard let row = rows.first(where: { open[$0.wrappingKey] != nil }),
        let wrappingKey = open[row.wrappingKey]
      else { throw state.root == nil ? .locked(accessClass) : .elsewhere(reference) }
      let secret = try state.keyring.open(row, under: wrappingKey.secret, outside)
      let key = SealingKey(reference: reference, accessClass: row.accessClass, key: secret)
      openKeys.change { $0[reference] = key }
      return key
    }
  }

  /// The named key of a name.
  ///
  /// - Throws: ``CryptoError/rootLocked`` while names can't be read, ``CryptoError/unknownKeyName`` where
  ///   there is no such name, ``CryptoError/closed``.
  package func namedKey(_ name: String) throws(CryptoError) -> Keyring.NamedKey {
    try state.withLock { state throws(CryptoError) in
      let number = state.names.first { $0.value == name }?.key
      let keyring = state.keyring
      if let key = number.flatMap({ keyring.namedKey($0) }) { return key }
      if state.isClosed { throw .closed }
      throw state.root == nil ? .rootLocked : .unknownKeyName
    }
  }

  /// A named key's name; nil while its class is locked.
  package func name(ofKey number: UInt16) -> String? { state.withLock { $0.names[number] } }

  /// A named key's name; nil while its class is locked, or where there is no such key.
  package func name(of reference: KeyReference) -> String? {
    keyring.dataKey(reference).flatMap { name(ofKey: $0.number) }
  }

  /// Why a data key can't be opened now, without opening it: it is locked, or elsewhere; nil where it can.
  package func refusal(of reference: KeyReference) -> CryptoError? {
    state.withLock { state in
      let rows = state.keyring.rows(of: reference)
      guard let accessClass = rows.first?.accessClass else { return .missingKey(reference) }
      if accessClass.isAlways { try? openAlways(&state) }
      let open = state.wrappingKeys
      if rows.contains(where: { open[$0.wrappingKey] != nil }) { return nil }
      return state.root == nil ? .locked(accessClass) : .elsewhere(reference)
    }
  }

  /// Opens the keys that need nothing but this device's secret.
  private func openAlways(_ state: inout State) throws(CryptoError) {
    let entries = state.keyring.wrappingKeys.filter { $0.parent == KeyParent.device }
    let open = state.wrappingKeys
    guard entries.contains(where: { open[$0.number] == nil }) else { return }
    state.wrappingKeys.merge(try state.keyring.open(entries, root: nil, outside)) { known, _ in known }
  }
}

/// A secret that several hold; it is wiped when the last of them lets go of it.
final class SharedSecret: Sendable {
  let secret: Secret

  init(_ secret: consuming Secret) { self.secret = secret }
}

// MARK: - The unlock root itself, for whoever keeps it between two processes (docs/format-keyring.md 10.4).

extension Vault {
  /// A copy of the unlock root, which ``unlock(root:checking:)`` takes without the work that a password
  /// costs.
  ///
  /// - Throws: ``CryptoError/rootLocked``, ``CryptoError/closed``.
  package func rootCopy() throws(CryptoError) -> Secret {
    try draft().root.secret.copy()
  }

  /// Opens the keyring with its unlock root. Whether it is the keyring's, the keyring's MAC says: one that is
  /// not may be of an earlier keyring, so the other copy is tried only where it is of the same generation.
  ///
  /// - Throws: ``CryptoError/wrongKey``, also where the keyring was altered: a credential tells which;
  ///   ``CryptoError/tamperedSchema(_:)``, ``CryptoError/tamperedKeyring``, ``CryptoError/lockedMeanwhile``.
  package func unlock(root: borrowing Secret, checking schemas: [SealedSchema] = []) throws(CryptoError) {
    try unlockEither(checking: schemas) { keyring throws(CryptoError) in
      guard try keyring.verifyMAC(root: root) else { throw .wrongKey }
      return (SharedSecret(try root.copy()), 0)
    }
  }
}
