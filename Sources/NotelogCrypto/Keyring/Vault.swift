// A keyring together with what of it is unlocked (FORMAT.md 10.4).

import NotelogBase
import Synchronization

/// Holds a store's keyring, and the keys that are open now.
///
/// Data keys are unwrapped when first asked for. ``lock(_:)`` wipes by access class; a ``SealingKey`` that
/// somebody still holds then throws `locked`, and is asked for anew after the next `unlock`.
package final class Vault: Sendable {
  /// What ``lock(_:)`` closes.
  package enum LockScope: Sendable {
    /// The unlock root and the keys of the class `whenUnlocked`.
    case whenUnlocked
    /// All keys.
    case everything
  }

  /// What is open. The root is there exactly while the vault is unlocked.
  struct State: ~Copyable {
    var keyring: Keyring
    var other: Keyring?
    var root: Secret?
    var classKeys: [AccessClass: ClassSecret] = [:]
    var names: [UInt16: String] = [:]
    var sealingKeys: [KeyReference: SealingKey] = [:]
    var servedByOther = false
    var isClosed = false
  }

  let state: Lock<State>
  let memory: SecretMemory
  /// The data keys that are open, once more: for threads that look them up millions of times a second.
  private let openKeys = ReadMostly<[KeyReference: SealingKey]>([:])
  let epoch = Atomic<UInt64>(0)

  /// A locked vault.
  ///
  /// - Parameters:
  ///   - choice: The keyring that counts, and the one to fall back on.
  ///   - memory: Where secrets are kept.
  package convenience init(_ choice: Keyring.Choice, memory: SecretMemory = .shared) {
    self.init(choice.keyring, other: choice.other, memory: memory)
  }

  init(_ keyring: Keyring, other: Keyring? = nil, memory: SecretMemory = .shared) {
    state = Lock(State(keyring: keyring, other: other))
    self.memory = memory
  }

  /// An unlocked vault, just created.
  init(
    _ keyring: Keyring, root: consuming Secret, classKeys: [AccessClass: ClassSecret], memory: SecretMemory
  ) {
    state = Lock(State(keyring: keyring, root: root, classKeys: classKeys))
    self.memory = memory
  }

  /// The keyring in force, without any secret.
  package var keyring: Keyring { state.withLock { $0.keyring } }

  /// Whether the unlock root is open.
  package var isUnlocked: Bool { state.withLock { $0.root != nil } }

  /// Whether the chosen keyring was tampered with, and the other copy unlocked instead.
  package var isServedByOtherCopy: Bool { state.withLock { $0.servedByOther } }

  /// Counts the locks, so that what was opened can be told to belong to an earlier time.
  package var lockEpoch: UInt64 { epoch.load(ordering: .acquiring) }

  /// Wipes keys. Waits for calls under way on other threads.
  package func lock(_ scope: LockScope = .whenUnlocked) {
    // In a forked child all of it is zero already, and another thread may have held the mutex.
    guard memory.isOriginalProcess else { return }
    state.withLock { state in
      epoch.add(1, ordering: .acquiringAndReleasing)
      state.root = nil
      state.classKeys = scope == .everything ? [:] : state.classKeys.filter { $0.key != .whenUnlocked }
      for (reference, key) in state.sealingKeys where scope == .everything || key.accessClass == .whenUnlocked
      {
        key.wipe()
        state.sealingKeys[reference] = nil
      }
      let left = state.sealingKeys
      openKeys.change { $0 = left }
      let open = state.keyring.namedKeys.filter {
        scope != .everything && $0.accessClass == .afterFirstUnlock
      }
      let numbers = Set(open.map(\.number))
      state.names = state.names.filter { numbers.contains($0.key) }
    }
  }

  /// Wipes all keys for good: asking for one throws ``CryptoError/closed`` from now on.
  package func close() {
    guard memory.isOriginalProcess else { return }
    state.withLock { $0.isClosed = true }
    lock(.everything)
  }

  /// A data key, ready to use.
  ///
  /// - Throws: ``CryptoError/missingKey(_:)``, ``CryptoError/locked(_:)`` or ``CryptoError/closed``, before any cryptography.
  package func sealingKey(_ reference: KeyReference) throws(CryptoError) -> SealingKey {
    guard memory.isOriginalProcess else { throw .forked }
    if let key = openKeys.read({ $0[reference] }) { return key }
    return try state.withLock { state throws(CryptoError) in
      if let key = state.sealingKeys[reference] { return key }
      guard let entry = state.keyring.dataKey(reference) else { throw .missingKey(reference) }
      let secret = try Self.unwrap(entry, state, memory)
      let key = SealingKey(
        reference: reference, accessClass: entry.accessClass, key: secret, memory: memory)
      state.sealingKeys[reference] = key
      openKeys.change { $0[reference] = key }
      return key
    }
  }

  /// The generation of a named key that new values are sealed under.
  ///
  /// - Throws: ``CryptoError/rootLocked`` while names can't be read, ``CryptoError/unknownKeyName`` where
  ///   there is no such name.
  package func currentReference(ofKeyNamed name: String) throws(CryptoError) -> KeyReference {
    try state.withLock { state throws(CryptoError) in
      let number = state.names.first { $0.value == name }?.key
      if let key = state.keyring.namedKeys.first(where: { $0.number == number }) { return key.current }
      if state.isClosed { throw .closed }
      throw state.root == nil ? .rootLocked : .unknownKeyName
    }
  }

  /// A named key's name; nil while its class is locked, or where there is no such key.
  package func name(of reference: KeyReference) -> String? {
    state.withLock { state in
      guard let entry = state.keyring.dataKey(reference) else { return nil }
      return state.names[entry.number]
    }
  }

  private static func unwrap(
    _ entry: Keyring.DataKey, _ state: borrowing State, _ memory: SecretMemory
  ) throws(CryptoError) -> Secret {
    if state.isClosed { throw .closed }
    guard let key = state.classKeys[entry.accessClass] else { throw .locked(entry.accessClass) }
    do throws(CryptoError) {
      return try entry.unwrap(under: key.secret, storeID: state.keyring.storeID, memory: memory)
    } catch {
      // Under a class key that is the right one, a wrap that does not open was altered.
      throw error == .wrongKey || error == .tampered ? .tamperedKeyring : error
    }
  }
}

/// The key of a class, which is wiped when the vault lets go of it.
final class ClassSecret: Sendable {
  let secret: Secret

  init(_ secret: consuming Secret) { self.secret = secret }
}
