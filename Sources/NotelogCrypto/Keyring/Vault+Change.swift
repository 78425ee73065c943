// Changing a keyring: slots, named keys, generations; and the MAC of the schema (FORMAT.md 10.7, 10.9).

package import NotelogBase
import Synchronization

extension Vault {
  /// A changed keyring, not yet in force.
  ///
  /// Write ``bytes`` to both files, safely, then ``Vault/adopt(_:)`` it. A change that is never adopted is as
  /// if it had not been made. One change at a time: the next is made from what was adopted last.
  package struct Change: Sendable {
    package let keyring: Keyring
    /// The name of a key that the change adds.
    fileprivate let added: (number: UInt16, name: String)?

    package var bytes: [UInt8] { keyring.bytes }
  }

  /// A further way to unlock the store.
  ///
  /// - Parameters:
  ///   - credential: What the new slot accepts.
  ///   - work: What a guess of a password costs.
  /// - Returns: The change, with a slot whose id is new.
  /// - Throws: ``CryptoError/rootLocked``, ``CryptoError/limitExceeded(_:)``.
  package func addingSlot(
    _ credential: borrowing Credential, work: WorkFactor = .standard
  ) throws(CryptoError) -> Change {
    try changingSlots([], to: credential, work: work)
  }

  /// Another password or key in place of the present one of a slot, or of several. Nothing else is rewritten.
  package func changingSlots(
    _ slots: [UInt32], to credential: borrowing Credential, work: WorkFactor = .standard
  ) throws(CryptoError) -> Change {
    let now = try unlocked()
    var changed = now.keyring
    try changed.removeSlots(slots)
    let passwords = changed.slots.count { $0.kind == .password }
    guard changed.slots.count < Keyring.slotsMax, changed.nextSlotID < .max,
      credential.kind != .password || passwords < Keyring.passwordSlotsMax
    else { throw .limitExceeded(.slots) }
    changed.slots.append(
      try changed.makeSlot(
        credential, id: changed.nextSlotID, work: work, root: now.root, memory: memory))
    changed.nextSlotID += 1
    return try seal(changed, root: now.root)
  }

  /// Fewer ways to unlock the store.
  package func removingSlots(_ slots: [UInt32]) throws(CryptoError) -> Change {
    let now = try unlocked()
    var changed = now.keyring
    try changed.removeSlots(slots)
    guard !changed.slots.isEmpty else { throw .lastSlot }
    return try seal(changed, root: now.root)
  }

  /// A new named key, with its first generation.
  ///
  /// - Parameters:
  ///   - name: One to sixty-three bytes of UTF-8.
  ///   - accessClass: When it may be used; for good.
  /// - Returns: The change.
  /// - Throws: ``CryptoError/rootLocked``, ``CryptoError/duplicateKeyName``,
  ///   ``CryptoError/limitExceeded(_:)``.
  package func addingKey(named name: String, class accessClass: AccessClass) throws(CryptoError) -> Change {
    guard accessClass.isSupported else { throw .unsupported(.accessClass(accessClass.rawValue)) }
    let now = try unlocked()
    guard try !now.keyring.openNames(root: now.root, memory: memory).values.contains(name) else {
      throw .duplicateKeyName
    }
    guard now.keyring.namedKeys.count < Keyring.namedKeysMax else { throw .limitExceeded(.namedKeys) }
    var changed = now.keyring
    // Named keys are never removed, so their numbers are 0, 1, 2, …
    let number = UInt16(now.keyring.namedKeys.count)
    let sealedName = try now.keyring.sealName(
      name, number: number, accessClass, root: now.root, memory: memory)
    let reference = try changed.appendDataKey(of: number, accessClass, root: now.root, memory: memory)
    changed.namedKeys.append(
      Keyring.NamedKey(number: number, accessClass: accessClass, current: reference, sealedName: sealedName))
    return try seal(changed, root: now.root, added: (number, name))
  }

  /// Puts a change into force, once its bytes are safe.
  package func adopt(_ change: Change) {
    state.withLock { state in
      precondition(
        change.keyring.generation > state.keyring.generation, "changes are adopted one by one, in their order"
      )
      state.keyring = change.keyring
      state.other = nil
      state.servedByOther = false
      if let added = change.added, state.root != nil { state.names[added.number] = added.name }
    }
  }

  /// Takes in a keyring that another process has put into force. What is open stays open: the unlock root, which the keyring's MAC is made
  /// with, and the keys. A keyring that this root did not make locks everything.
  ///
  /// - Returns: Whether it is another one than before.
  package func follow(_ choice: Keyring.Choice) -> Bool {
    let keyring = choice.keyring
    guard keyring.generation > self.keyring.generation else { return false }
    var names: [UInt16: String] = [:]
    if isUnlocked {
      do throws(CryptoError) {
        let now = try unlocked()
        guard try keyring.verifyMAC(root: now.root, memory: memory) else { throw .tamperedKeyring }
        names = try keyring.openNames(root: now.root, memory: memory)
      } catch { lock(.everything) }
    }
    state.withLock { state in
      // Whoever is unlocking has checked the one before.
      if state.root == nil { epoch.add(1, ordering: .acquiringAndReleasing) }
      state.keyring = keyring
      state.other = choice.other
      state.servedByOther = false
      if state.root != nil { state.names = names }
    }
    return true
  }

  /// Checks the MACs of stored schemas, as far as that can be done: with the unlock root.
  ///
  /// - Throws: ``CryptoError/tamperedSchema(_:)``.
  package func check(_ schemas: [SealedSchema]) throws(CryptoError) {
    guard isUnlocked else { return }
    let now = try unlocked()
    try now.keyring.check(schemas, root: now.root, memory: memory)
  }

  /// HMAC-SHA256 of the stored schema, under a key from the unlock root.
  package func schemaMAC(_ schema: RawSpan) throws(CryptoError) -> [UInt8] {
    let now = try unlocked()
    return try now.keyring.schemaMAC(schema, root: now.root, memory: memory)
  }

  /// The keyring of one moment and the root that belongs to it, for the length of one call, so that scrypt runs outside the
  /// vault's lock.
  private func unlocked() throws(CryptoError) -> Unlocked {
    guard memory.isOriginalProcess else { throw .forked }
    return try state.withLock { state throws(CryptoError) in
      switch state.root {
      case .some(let root): return Unlocked(keyring: state.keyring, root: try root.copy())
      case .none: throw state.isClosed ? .closed : .rootLocked
      }
    }
  }

  private func seal(
    _ keyring: Keyring, root: borrowing Secret, added: (number: UInt16, name: String)? = nil
  ) throws(CryptoError) -> Change {
    var keyring = keyring
    guard keyring.generation < .max else { throw .limitExceeded(.keyGenerations) }
    keyring.generation += 1
    try keyring.seal(root: root, memory: memory)
    return Change(keyring: keyring, added: added)
  }
}

extension Keyring {
  /// A new keyring with one slot and the two classes of keys, unlocked.
  ///
  /// - Parameters:
  ///   - storeID: The store's id: random, and bound into every wrap.
  ///   - credential: What the first slot accepts.
  ///   - work: What a guess of a password costs.
  ///   - memory: Where secrets are kept.
  /// - Returns: The vault that holds it; its keyring's bytes are still to be written.
  /// - Throws: ``CryptoError/limitExceeded(_:)``, and what the system refuses.
  package static func create(
    storeID: ID16, credential: borrowing Credential, work: WorkFactor = .standard,
    memory: SecretMemory = .shared
  ) throws(CryptoError) -> Vault {
    let root = try Secret.random(byteCount: Credential.keySize, in: memory)
    var keyring = Keyring(
      storeID: storeID, generation: 1, rootGeneration: 1, nextKeyReference: 1, nextSlotID: 1, slots: [],
      classKeys: [], namedKeys: [], dataKeys: [], mac: [], digest: [])
    keyring.slots = [try keyring.makeSlot(credential, id: 0, work: work, root: root, memory: memory)]
    var classKeys: [AccessClass: ClassSecret] = [:]
    for accessClass in AccessClass.allCases where accessClass.isSupported {
      let secret = try Secret.random(byteCount: Credential.keySize, in: memory)
      keyring.classKeys.append(try keyring.wrapClassKey(secret, accessClass, root: root, memory: memory))
      classKeys[accessClass] = ClassSecret(secret)
    }
    try keyring.seal(root: root, memory: memory)
    return Vault(keyring, root: root, classKeys: classKeys, memory: memory)
  }

  fileprivate mutating func removeSlots(_ ids: [UInt32]) throws(CryptoError) {
    for id in ids {
      guard let index = slots.firstIndex(where: { $0.id == id }) else { throw .missingSlot(id) }
      slots.remove(at: index)
    }
  }

  /// Computes MAC and digest, the last step of every change.
  fileprivate mutating func seal(root: borrowing Secret, memory: SecretMemory) throws(CryptoError) {
    mac = try computeMAC(root: root, memory: memory)
    digest = try Derivation.sha256(body + mac)
  }

  fileprivate func makeSlot(
    _ credential: borrowing Credential, id: UInt32, work: WorkFactor, root: borrowing Secret,
    memory: SecretMemory
  ) throws(CryptoError) -> Slot {
    guard work.logN >= WorkFactor.leastRead.logN, work.logN <= WorkFactor.mostRead.logN else {
      throw .limitExceeded(.workFactor)
    }
    return try Slot(
      id: id, rootGeneration: rootGeneration, storeID: storeID, credential: credential, work: work,
      root: root,
      memory: memory)
  }

  /// Adds a named key's first data key, a random one, and says under which reference.
  fileprivate mutating func appendDataKey(
    of number: UInt16, _ accessClass: AccessClass, root: borrowing Secret, memory: SecretMemory
  ) throws(CryptoError) -> KeyReference {
    guard dataKeys.count < Self.dataKeysMax, nextKeyReference < .max else {
      throw .limitExceeded(.keyGenerations)
    }
    guard let entry = classKeys.first(where: { $0.accessClass == accessClass }) else {
      throw .unsupported(.accessClass(accessClass.rawValue))
    }
    let reference = KeyReference(rawValue: nextKeyReference)
    let classKey = try open(entry, root: root, memory: memory)
    let key = try Secret.random(byteCount: Credential.keySize, in: memory)
    var dataKey = DataKey(reference: reference, accessClass: accessClass, number: number, generation: 1)
    try dataKey.wrap(key, under: classKey, storeID: storeID, memory: memory)
    dataKeys.append(dataKey)
    nextKeyReference += 1
    return reference
  }
}

/// A keyring, and its unlock root.
private struct Unlocked: ~Copyable {
  let keyring: Keyring
  let root: Secret
}
