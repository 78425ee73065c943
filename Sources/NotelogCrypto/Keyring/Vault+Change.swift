// How a changed keyring is made: slots, grants, wrapping keys and generations that are added to it
// (docs/format-keyring.md 10.3 to 10.7).

package import NotelogBase

extension Vault {
  /// A keyring that is being changed, from that of one moment and what is open of it, so that scrypt runs
  /// outside the vault's lock.
  ///
  /// Write its bytes to both files, safely, then ``Vault/adopt(_:)`` it. A change that is never adopted is as
  /// if it had not been made. One change at a time: the next is made from what was adopted last.
  package struct Change: Sendable {
    package internal(set) var keyring: Keyring
    var root: SharedSecret
    var wrappingKeys: [UInt32: SharedSecret]
    var names: [UInt16: String]
    let outside: (any OutsideSecrets)?
  }

  /// What is open now.
  func draft() throws(CryptoError) -> Change {
    guard SecretMemory.shared.isOriginalProcess else { throw .forked }
    return try state.withLock { state throws(CryptoError) in
      guard let root = state.root else { throw state.isClosed ? .closed : .rootLocked }
      return Change(
        keyring: state.keyring, root: root, wrappingKeys: state.wrappingKeys, names: state.names,
        outside: outside)
    }
  }

  /// A changed keyring, of the next generation, not yet in force.
  ///
  /// - Throws: ``CryptoError/rootLocked``, ``CryptoError/closed``; what the closure throws.
  package func changing(_ body: (inout Change) throws(CryptoError) -> Void) throws(CryptoError) -> Change {
    var change = try draft()
    try body(&change)
    try change.seal()
    return change
  }
}

// MARK: - What may be changed: slots, grants, named keys, generations, the root (docs/format-keyring.md 10.7, FORMAT.md 21.4).

extension Vault.Change {
  /// Adds a further way to unlock the store, or to open some of its keys, by a slot whose id is new.
  ///
  /// - Parameters:
  ///   - credential: What the new slot accepts.
  ///   - work: What a guess of a password costs.
  ///   - names: The named keys that it opens, in all their generations; empty for the unlock root, which
  ///     opens all.
  /// - Throws: ``CryptoError/limitExceeded(_:)``, ``CryptoError/unknownKeyName``; ``CryptoError/boundToDevice``
  ///   for a key that is to be used on this device only.
  package mutating func addSlot(
    _ credential: borrowing Credential, work: UInt8 = Keyring.Slot.workStandard, opening names: [String] = []
  ) throws(CryptoError) {
    try addSlot(credential, names.isEmpty ? 0 : try addGrant(names), work)
  }

  /// Puts another password or key in the place of the present one of a slot, or of several. Nothing else is
  /// rewritten.
  package mutating func replaceSlots(
    _ slots: [UInt32], by credential: borrowing Credential, work: UInt8 = Keyring.Slot.workStandard
  ) throws(CryptoError) {
    for grant in try keyring.removeSlots(slots) { try addSlot(credential, grant, work) }
  }

  /// Removes ways to unlock the store. A grant goes with the last slot that opens it.
  package mutating func removeSlots(_ slots: [UInt32]) throws(CryptoError) {
    let grants = try keyring.removeSlots(slots).subtracting(keyring.slots.map(\.grant))
    keyring.wrappingKeys.removeAll { grants.contains($0.number) }
    keyring.dataKeys.removeAll { grants.contains($0.wrappingKey) }
    guard keyring.slots.contains(where: { $0.kind != nil && $0.grant == 0 }) else { throw .lastSlot }
  }

  /// Adds a named key, with its first generation.
  ///
  /// - Parameters:
  ///   - name: One to sixty-three bytes of UTF-8.
  ///   - accessClass: When it may be used; for good.
  ///   - isEffaceable: Whether it can be shredded; its effaceable secret must be there.
  ///   - isEvidence: Whether the store's evidence is made with it.
  /// - Throws: ``CryptoError/duplicateKeyName``, ``CryptoError/limitExceeded(_:)``.
  package mutating func addKey(
    named name: String, class accessClass: AccessClass, isEffaceable: Bool = false, isEvidence: Bool = false
  ) throws(CryptoError) {
    guard !names.values.contains(name) else { throw .duplicateKeyName }
    guard keyring.namedKeys.count < Keyring.namedKeysMax else { throw .limitExceeded(.namedKeys) }
    let number = keyring.nextKeyNumber
    let sealedName = try keyring.sealName(name, number: number, accessClass, root: root.secret)
    names[number] = name
    try addGeneration(
      of: Keyring.NamedKey(
        number: number, accessClass: accessClass, isEffaceable: isEffaceable, isEvidence: isEvidence,
        current: KeyReference(rawValue: 0), sealedName: sealedName))
  }

  /// Adds another generation of a named key, which new values are sealed under from then on; old ones are
  /// opened still.
  package mutating func rotate(_ key: Keyring.NamedKey) throws(CryptoError) {
    guard !key.isShredded else { throw .shredded }
    try addGeneration(of: key)
  }

  /// Removes a generation that is not in force, for good.
  package mutating func retire(_ reference: KeyReference) {
    precondition(!keyring.namedKeys.contains { $0.current == reference }, "the one in force stays")
    keyring.dataKeys.removeAll { $0.reference == reference }
  }

  /// Removes the wraps of all generations of a named key, for good.
  package mutating func shred(_ key: Keyring.NamedKey) {
    var key = key
    (key.isShredded, key.current) = (true, KeyReference(rawValue: 0))
    keyring.put(key)
    // The rows stay, without their keys: values that were sealed under them are told to be shredded.
    keyring.dataKeys = keyring.dataKeys.compactMap { row in
      if row.number != key.number { return row }
      return keyring.isGrant(row.wrappingKey) ? nil : row.withoutKey(row.wrappingKey)
    }
  }

  /// Makes a new unlock root, which one credential opens; new wrapping keys, and data keys wrapped anew; and
  /// for each named key a generation that nobody knows who had the old root. Other slots, and grants, go. The
  /// schemas as they are are accepted, and no others with MACs of before, until ``finishRootChange()``.
  ///
  /// - Parameters:
  ///   - credential: What opens the new root.
  ///   - work: What a guess of a password costs.
  ///   - schemas: All schemas, checked, in order of their collections.
  /// - Throws: ``CryptoError/elsewhere(_:)`` where a key can't be opened on this device.
  package mutating func changeRoot(
    to credential: borrowing Credential, work: UInt8, schemas: [SealedSchema]
  ) throws(CryptoError) {
    let old = self
    guard keyring.rootGeneration < .max else { throw .limitExceeded(.keyGenerations) }
    root = SharedSecret(try Secret.random(byteCount: Credential.keySize))
    keyring.rootGeneration += 1
    (keyring.slots, keyring.wrappingKeys, keyring.dataKeys) = ([], [], [])
    wrappingKeys = [:]
    let digest = try Keyring.digest(of: schemas)
    let former = try Secret(copying: digest.rawSpan)
    try keyring.wrap(
      former, number: try keyring.allocateWrappingNumber(), role: Keyring.WrappingKey.formerSchemasRole,
      parent: KeyParent.root, under: root.secret)
    try addSlot(credential, 0, work)
    for (index, key) in keyring.namedKeys.enumerated() {
      keyring.namedKeys[index].sealedName = try keyring.sealName(
        names[key.number] ?? "", number: key.number, key.accessClass, root: root.secret)
    }
    for row in old.keyring.dataKeys where !old.keyring.isGrant(row.wrappingKey) {
      guard let wrappingKey = old.wrappingKeys[row.wrappingKey] else { throw .elsewhere(row.reference) }
      let number = try self.wrappingKey(of: row.accessClass)
      if old.keyring.isShredded(row) {
        keyring.dataKeys.append(row.withoutKey(number))
      } else {
        let secret = try old.keyring.open(row, under: wrappingKey.secret, outside)
        keyring.dataKeys.append(try wrap(secret, row, under: number))
      }
    }
    for key in keyring.namedKeys where !key.isShredded { try addGeneration(of: key) }
  }

  /// No longer accepts the schemas of before a change of the root: all were stored anew.
  package mutating func finishRootChange() {
    keyring.wrappingKeys.removeAll { $0.role == Keyring.WrappingKey.formerSchemasRole }
  }

  /// Counts the schemas' revisions anew.
  package mutating func countSchemas(_ revisions: UInt64) { keyring.schemaRevisions = revisions }

  // MARK: parts of a change

  fileprivate mutating func seal() throws(CryptoError) {
    guard keyring.generation < .max else { throw .limitExceeded(.keyGenerations) }
    keyring.generation += 1
    try keyring.seal(root: root.secret)
  }

  private mutating func addSlot(_ credential: borrowing Credential, _ grant: UInt32, _ work: UInt8)
    throws(CryptoError)
  {
    let passwords = keyring.slots.count { $0.kind == .password }
    guard keyring.slots.count < Keyring.slotsMax, keyring.nextSlotID < .max,
      credential.kind != .password || passwords < Keyring.passwordSlotsMax
    else { throw .limitExceeded(.slots) }
    guard let key = grant == 0 ? root : wrappingKeys[grant] else { throw .rootLocked }
    keyring.slots.append(
      try Keyring.Slot(
        id: keyring.nextSlotID, grant: grant, in: keyring, credential, work: work, around: key.secret))
    keyring.nextSlotID += 1
  }

  /// Adds a key that wraps all generations of some named keys once more.
  private mutating func addGrant(_ granted: [String]) throws(CryptoError) -> UInt32 {
    let number = try addWrappingKey(
      Keyring.WrappingKey.grantRole, under: [(parent: KeyParent.root, secret: root)])
    var rows = keyring.dataKeys
    for name in Set(granted) {
      guard let found = names.first(where: { $0.value == name }), let named = keyring.namedKey(found.key)
      else { throw .unknownKeyName }
      if named.isShredded { throw .shredded }
      guard !named.accessClass.isThisDeviceOnly else { throw .boundToDevice }
      for row in keyring.dataKeys where row.number == named.number && !keyring.isGrant(row.wrappingKey) {
        guard let wrapping = wrappingKeys[row.wrappingKey] else { continue }
        rows.append(try wrap(keyring.open(row, under: wrapping.secret, outside), row, under: number))
      }
    }
    keyring.dataKeys = rows.sorted { $0.order < $1.order }
    return number
  }

  /// Adds a random data key under its class's key, and under those of the grants that the generation before
  /// is under.
  private mutating func addGeneration(of key: Keyring.NamedKey) throws(CryptoError) {
    guard keyring.nextKeyReference < .max, keyring.dataKeys.count < Keyring.dataKeysMax else {
      throw .limitExceeded(.keyGenerations)
    }
    let before = keyring.rows(of: key.current)
    let grants = before.map(\.wrappingKey).filter { keyring.isGrant($0) }
    let generation = (before.first?.generation ?? 0) + 1
    var key = key
    key.current = KeyReference(rawValue: keyring.nextKeyReference)
    keyring.nextKeyReference += 1
    let secret = try Secret.random(byteCount: Credential.keySize)
    let own = try wrappingKey(of: key.accessClass)
    for number in (grants + [own]).sorted() {
      let row = Keyring.DataKey(
        reference: key.current, accessClass: key.accessClass, number: key.number, generation: generation,
        wrappingKey: number, isEffaceable: key.isEffaceable)
      keyring.dataKeys.append(try wrap(secret, row, under: number))
    }
    keyring.put(key)
  }

  /// A data key's row, wrapped under a wrapping key.
  private func wrap(_ secret: borrowing Secret, _ row: Keyring.DataKey, under number: UInt32)
    throws(CryptoError) -> Keyring.DataKey
  {
    guard let wrappingKey = wrappingKeys[number] else { throw .rootLocked }
    var row = row
    row.wrappingKey = number
    let own = try keyring.keyWrapping(row, wrappingKey.secret, outside)
    try row.wrap(secret, under: own, storeID: keyring.storeID)
    return row
  }

  /// The number of the key that wraps a class's data keys on this device; made, where there is none.
  fileprivate mutating func wrappingKey(of accessClass: AccessClass) throws(CryptoError) -> UInt32 {
    let entries = keyring.wrappingKeys.filter { $0.accessClass == accessClass }
    // One that opens here with the root alone, and without it on another device, would not do.
    let opened =
      accessClass.isAlways
      ? try keyring.open(entries.filter { $0.parent == KeyParent.device }, root: nil, outside) : wrappingKeys
    if let known = entries.last(where: { opened[$0.number] != nil }) { return known.number }
    let device = accessClass.parents == [KeyParent.root] ? nil : try outside?.sharedDeviceSecret(making: true)
    return try addWrappingKey(
      accessClass.rawValue,
      under: accessClass.parents.map { parent throws(CryptoError) in
        guard let secret = try parentSecret(parent, root, device) else { throw .noDeviceSecret }
        return (parent, secret)
      })
  }

  /// Adds a random wrapping key, under each of some parents.
  private mutating func addWrappingKey(_ role: UInt8, under parents: [(parent: UInt8, secret: SharedSecret)])
    throws(CryptoError) -> UInt32
  {
    let number = try keyring.allocateWrappingNumber()
    let key = SharedSecret(try Secret.random(byteCount: Credential.keySize))
    for (parent, secret) in parents {
      try keyring.wrap(key.secret, number: number, role: role, parent: parent, under: secret.secret)
    }
    wrappingKeys[number] = key
    return number
  }
}

extension AccessClass {
  /// The secrets that wrap the class's key, each on its own.
  fileprivate var parents: [UInt8] {
    switch self {
    case .whenUnlocked, .afterFirstUnlock: return [KeyParent.root]
    case .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly: return [KeyParent.both]
    case .always: return [KeyParent.root, KeyParent.device]
    case .alwaysThisDeviceOnly: return [KeyParent.device]
    }
  }
}

// MARK: - Putting a change into force; and the MACs of schemas.

extension Vault {
  /// Whether the schemas of before a change of the root are accepted still.
  package var isRootChangeUnfinished: Bool {
    keyring.wrappingKeys.contains { $0.role == Keyring.WrappingKey.formerSchemasRole }
  }

  /// Puts a change into force, once its bytes are safe.
  package func adopt(_ change: Change) {
    state.withLock { state in
      precondition(
        change.keyring.generation > state.keyring.generation, "changes are adopted one by one, in their order"
      )
      install(change.keyring, other: nil, change, &state)
    }
  }

  /// Another keyring in the place of the one before, with what of it is open; what it no longer has is wiped.
  private func install(_ keyring: Keyring, other: Keyring?, _ open: Change?, _ state: inout State) {
    (state.keyring, state.other, state.servedByOther) = (keyring, other, false)
    let numbers = Set(keyring.wrappingKeys.map(\.number))
    state.wrappingKeys = state.wrappingKeys.filter { numbers.contains($0.key) }
    wipe { keyring.dataKey($0.reference).map(keyring.isShredded) ?? true }
    guard let open, state.root != nil else { return }
    (state.root, state.wrappingKeys, state.names) = (open.root, open.wrappingKeys, open.names)
  }

  /// Takes in a keyring that another process has put into force. What is open stays open: the unlock root,
  /// which the keyring's MAC is made with, and the keys. A keyring that this root did not make locks
  /// everything.
  ///
  /// - Returns: Whether it is another one than before.
  package func follow(_ keyring: Keyring, other: Keyring?) -> Bool {
    // In a forked child nothing is open, and locking does nothing.
    guard SecretMemory.shared.isOriginalProcess, keyring.generation > self.keyring.generation else {
      return false
    }
    while true {
      var open: Change?
      if isUnlocked {
        do throws(CryptoError) {
          var now = try draft()
          guard try keyring.verifyMAC(root: now.root.secret) else { throw .tamperedKeyring }
          now.names = try keyring.openNames(root: now.root.secret)
          now.wrappingKeys = try keyring.open(keyring.wrappingKeys, root: now.root, outside)
          open = now
        } catch { lock(everything: true) }
      }
      let isFollowed = state.withLock { state in
        // Whoever has unlocked meanwhile did it by the keyring before: this one is looked at with their root.
        if state.root != nil, open == nil { return false }
        // Whoever is unlocking has checked the one before.
        if state.root == nil { state.lockCount += 1 }
        install(keyring, other: other, open, &state)
        return true
      }
      if isFollowed { return true }
    }
  }

  /// Checks the MACs of stored schemas, as far as that can be done: with the unlock root. One that was
  /// altered locks everything.
  ///
  /// - Throws: ``CryptoError/tamperedSchema(_:)``.
  package func check(_ schemas: [SealedSchema]) throws(CryptoError) {
    guard isUnlocked else { return }
    let now = try draft()
    try check(schemas, of: now.keyring, root: now.root.secret)
  }

  func check(
    _ schemas: [SealedSchema], of keyring: Keyring, root: borrowing Secret
  ) throws(CryptoError) {
    do throws(CryptoError) { try keyring.check(schemas, root: root) } catch {
      lock(everything: true)
      throw error
    }
  }

  /// HMAC-SHA256 of the stored schema, under a key from the unlock root.
  package func schemaMAC(_ schema: RawSpan) throws(CryptoError) -> [UInt8] {
    let now = try draft()
    return try now.keyring.schemaMAC(schema, root: now.root.secret)
  }
}

extension Keyring {
  /// A new keyring with one slot and the keys of the two classes that need no device's secret, unlocked.
  ///
  /// - Parameters:
  ///   - storeID: The store's id: random, and bound into every wrap.
  ///   - credential: What the first slot accepts.
  ///   - work: What a guess of a password costs.
  ///   - outside: Where the secrets are that no keyring has.
  /// - Returns: The vault that holds it; its keyring's bytes are still to be written.
  /// - Throws: ``CryptoError/limitExceeded(_:)``, and what the system refuses.
  package static func create(
    storeID: ID16, credential: borrowing Credential, work: UInt8 = Keyring.Slot.workStandard,
    outside: (any OutsideSecrets)? = nil
  ) throws(CryptoError) -> Vault {
    let vault = Vault(Keyring(storeID: storeID, rootGeneration: 1, nextSlotID: 0), outside: outside)
    let root = SharedSecret(try Secret.random(byteCount: Credential.keySize))
    vault.state.withLock { $0.root = root }
    vault.adopt(
      try vault.changing { change throws(CryptoError) in
        try change.addSlot(credential, work: work)
        for accessClass in [AccessClass.whenUnlocked, .afterFirstUnlock] {
          _ = try change.wrappingKey(of: accessClass)
        }
      })
    return vault
  }

  /// The number that the next named key gets. Named keys are never removed, so their numbers are 0, 1, 2, …
  package var nextKeyNumber: UInt16 { UInt16(clamping: namedKeys.count) }

  func isGrant(_ number: UInt32) -> Bool {
    wrappingKeys.first { $0.number == number }?.role == WrappingKey.grantRole
  }

  mutating func allocateWrappingNumber() throws(CryptoError) -> UInt32 {
    guard wrappingKeys.count + 2 <= Self.wrappingKeysMax, nextWrappingNumber < .max else {
      throw .limitExceeded(.keyGenerations)
    }
    nextWrappingNumber += 1
    return UInt32(nextWrappingNumber - 1)
  }

  /// Removes slots.
  ///
  /// - Returns: What they opened.
  fileprivate mutating func removeSlots(_ ids: [UInt32]) throws(CryptoError) -> Set<UInt32> {
    var grants: Set<UInt32> = []
    for id in ids {
      guard let index = slots.firstIndex(where: { $0.id == id }) else { throw .missingSlot(id) }
      grants.insert(slots.remove(at: index).grant)
    }
    return grants
  }
}
