// How a changed keyring is made: slots, grants, wrapping keys and generations that are added to it
// (docs/format-keyring.md 10.3 to 10.7).

package import NotelogBase
import Synchronization

/// A keyring in the making, from that of one moment and what is open of it, so that scrypt runs outside the
/// vault's lock.
struct Draft: Sendable {
  var keyring: Keyring
  var root: SharedSecret
  var wrappingKeys: [UInt32: SharedSecret]
  var names: [UInt16: String]
}

extension Vault {
  func draft() throws(CryptoError) -> Draft {
    guard SecretMemory.shared.isOriginalProcess else { throw .forked }
    return try state.withLock { state throws(CryptoError) in
      guard let root = state.root else { throw state.isClosed ? .closed : .rootLocked }
      return Draft(
        keyring: state.keyring, root: root, wrappingKeys: state.wrappingKeys, names: state.names)
    }
  }

  func finish(_ made: Draft) throws(CryptoError) -> Change {
    var draft = made
    guard draft.keyring.generation < .max else { throw .limitExceeded(.keyGenerations) }
    draft.keyring.generation += 1
    try draft.keyring.seal(root: draft.root.secret)
    return Change(draft: draft)
  }

  func addSlot(_ credential: borrowing Credential, _ grant: UInt32, _ work: WorkFactor, to draft: inout Draft)
    throws(CryptoError)
  {
    let passwords = draft.keyring.slots.count { $0.kind == .password }
    guard draft.keyring.slots.count < Keyring.slotsMax, draft.keyring.nextSlotID < .max,
      credential.kind != .password || passwords < Keyring.passwordSlotsMax
    else { throw .limitExceeded(.slots) }
    guard let key = grant == 0 ? draft.root : draft.wrappingKeys[grant] else { throw .rootLocked }
    draft.keyring.slots.append(
      try Keyring.Slot(
        id: draft.keyring.nextSlotID, grant: grant, in: draft.keyring, credential, work: work,
        around: key.secret))
    draft.keyring.nextSlotID += 1
  }

  /// Adds a key that wraps all generations of some named keys once more.
  func addGrant(_ names: [String], to draft: inout Draft) throws(CryptoError) -> UInt32 {
    let number = try draft.keyring.allocateWrappingNumber()
    let key = SharedSecret(try Secret.random(byteCount: Credential.keySize))
    try draft.keyring.wrap(
      key.secret, number: number, role: Keyring.WrappingKey.grantRole, parent: KeyParent.root,
      under: draft.root.secret)
    draft.wrappingKeys[number] = key
    var granted: [Keyring.DataKey] = []
    for name in Set(names) {
      let named = try namedKey(name)
      if named.isShredded { throw .shredded }
      guard !named.accessClass.isThisDeviceOnly else { throw .boundToDevice }
      for row in draft.keyring.dataKeys where row.number == named.number {
        guard !draft.keyring.isGrant(row.wrappingKey), let wrapping = draft.wrappingKeys[row.wrappingKey]
        else { continue }
        let secret = try open(row, under: wrapping.secret, of: draft.keyring)
        granted.append(try wrap(secret, row, under: number, in: draft))
      }
    }
    draft.keyring.dataKeys = (draft.keyring.dataKeys + granted).sorted { $0.order < $1.order }
    return number
  }

  /// Adds a random data key under its class's key, and under those of the grants that the generation before
  /// is under.
  func addGeneration(of key: Keyring.NamedKey, to draft: inout Draft) throws(CryptoError) {
    guard draft.keyring.nextKeyReference < .max, draft.keyring.dataKeys.count < Keyring.dataKeysMax else {
      throw .limitExceeded(.keyGenerations)
    }
    let before = draft.keyring.rows(of: key.current)
    let grants = before.map(\.wrappingKey).filter { draft.keyring.isGrant($0) }
    let generation = (before.first?.generation ?? 0) + 1
    var key = key
    key.current = KeyReference(rawValue: draft.keyring.nextKeyReference)
    draft.keyring.nextKeyReference += 1
    let secret = try Secret.random(byteCount: Credential.keySize)
    let own = try wrappingKey(of: key.accessClass, in: &draft)
    for number in (grants + [own]).sorted() {
      let row = Keyring.DataKey(
        reference: key.current, accessClass: key.accessClass, number: key.number, generation: generation,
        wrappingKey: number, isEffaceable: key.isEffaceable)
      draft.keyring.dataKeys.append(try wrap(secret, row, under: number, in: draft))
    }
    draft.keyring.put(key)
  }

  /// A data key's row, wrapped under a wrapping key.
  func wrap(_ secret: borrowing Secret, _ row: Keyring.DataKey, under number: UInt32, in draft: Draft)
    throws(CryptoError) -> Keyring.DataKey
  {
    guard let wrappingKey = draft.wrappingKeys[number] else { throw .rootLocked }
    var row = row
    row.wrappingKey = number
    let own = try keyWrapping(row, wrappingKey.secret, draft.keyring)
    try row.wrap(secret, under: own, storeID: draft.keyring.storeID)
    return row
  }

  /// The number of the key that wraps a class's data keys on this device; made, where there is none.
  func wrappingKey(of accessClass: AccessClass, in draft: inout Draft) throws(CryptoError) -> UInt32 {
    let entries = draft.keyring.wrappingKeys.filter { $0.accessClass == accessClass }
    // One that opens here with the root alone, and without it on another device, would not do.
    let opened =
      accessClass.isAlways
      ? try openWrappingKeys(entries.filter { $0.parent == KeyParent.device }, of: draft.keyring, root: nil)
      : draft.wrappingKeys
    if let known = entries.last(where: { opened[$0.number] != nil }) { return known.number }
    let number = try draft.keyring.allocateWrappingNumber()
    let key = SharedSecret(try Secret.random(byteCount: Credential.keySize))
    let device = accessClass.parents == [KeyParent.root] ? nil : try deviceSecret(making: true)
    for parent in accessClass.parents {
      guard let secret = try parentSecret(parent, draft.root, device) else { throw .noDeviceSecret }
      try draft.keyring.wrap(
        key.secret, number: number, role: accessClass.rawValue, parent: parent, under: secret)
    }
    draft.wrappingKeys[number] = key
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

// MARK: - Changing a keyring: slots, grants, named keys, generations, the root; and the MAC of the schema (docs/format-keyring.md 10.7, FORMAT.md 21.4).

extension Vault {
  /// A changed keyring, not yet in force.
  ///
  /// Write its bytes to both files, safely, then ``Vault/adopt(_:)`` it. A change that is never adopted is as
  /// if it had not been made. One change at a time: the next is made from what was adopted last.
  package struct Change: Sendable {
    let draft: Draft

    package var keyring: Keyring { draft.keyring }
    package var bytes: [UInt8] { keyring.bytes }
  }

  /// A further way to unlock the store, or to open some of its keys.
  ///
  /// - Parameters:
  ///   - credential: What the new slot accepts.
  ///   - work: What a guess of a password costs.
  ///   - names: The named keys that it opens, in all their generations; empty for the unlock root, which
  ///     opens all.
  /// - Returns: The change, with a slot whose id is new.
  /// - Throws: ``CryptoError/rootLocked``, ``CryptoError/limitExceeded(_:)``; ``CryptoError/boundToDevice``
  ///   for a key that is to be used on this device only.
  package func addingSlot(
    _ credential: borrowing Credential, work: WorkFactor = .standard, opening names: [String] = []
  ) throws(CryptoError) -> Change {
    var draft = try draft()
    let grant = names.isEmpty ? 0 : try addGrant(names, to: &draft)
    try addSlot(credential, grant, work, to: &draft)
    return try finish(draft)
  }

  /// Another password or key in place of the present one of a slot, or of several. Nothing else is rewritten.
  package func changingSlots(
    _ slots: [UInt32], to credential: borrowing Credential, work: WorkFactor = .standard
  ) throws(CryptoError) -> Change {
    var draft = try draft()
    let grants = try draft.keyring.removeSlots(slots)
    for grant in grants { try addSlot(credential, grant, work, to: &draft) }
    return try finish(draft)
  }

  /// Fewer ways to unlock the store. A grant goes with the last slot that opens it.
  package func removingSlots(_ slots: [UInt32]) throws(CryptoError) -> Change {
    var draft = try draft()
    for grant in try draft.keyring.removeSlots(slots)
    where grant != 0 && !draft.keyring.slots.contains(where: { $0.grant == grant }) {
      draft.keyring.wrappingKeys.removeAll { $0.number == grant }
      draft.keyring.dataKeys.removeAll { $0.wrappingKey == grant }
    }
    guard draft.keyring.slots.contains(where: { $0.kind != nil && $0.grant == 0 }) else { throw .lastSlot }
    return try finish(draft)
  }

  /// The number that the next named key gets. Named keys are never removed, so their numbers are 0, 1, 2, …
  package var nextKeyNumber: UInt16 { UInt16(clamping: keyring.namedKeys.count) }

  /// A new named key, with its first generation.
  ///
  /// - Parameters:
  ///   - name: One to sixty-three bytes of UTF-8.
  ///   - accessClass: When it may be used; for good.
  ///   - isEffaceable: Whether it can be shredded; its effaceable secret must be there.
  /// - Returns: The change.
  /// - Throws: ``CryptoError/rootLocked``, ``CryptoError/duplicateKeyName``,
  ///   ``CryptoError/limitExceeded(_:)``.
  package func addingKey(named name: String, class accessClass: AccessClass, isEffaceable: Bool = false)
    throws(CryptoError) -> Change
  {
    var draft = try draft()
    guard !draft.names.values.contains(name) else { throw .duplicateKeyName }
    guard draft.keyring.namedKeys.count < Keyring.namedKeysMax else { throw .limitExceeded(.namedKeys) }
    let number = UInt16(draft.keyring.namedKeys.count)
    let sealedName = try draft.keyring.sealName(name, number: number, accessClass, root: draft.root.secret)
    draft.names[number] = name
    let key = Keyring.NamedKey(
      number: number, accessClass: accessClass, isEffaceable: isEffaceable,
      current: KeyReference(rawValue: 0), sealedName: sealedName)
    try addGeneration(of: key, to: &draft)
    return try finish(draft)
  }

  /// Another generation of a named key, which new values are sealed under from then on; old ones are opened
  /// still.
  package func rotating(_ key: Keyring.NamedKey) throws(CryptoError) -> Change {
    var draft = try draft()
    guard !key.isShredded else { throw .shredded }
    try addGeneration(of: key, to: &draft)
    return try finish(draft)
  }

  /// Without a generation that is not in force, for good.
  package func retiring(_ reference: KeyReference) throws(CryptoError) -> Change {
    var draft = try draft()
    precondition(!draft.keyring.namedKeys.contains { $0.current == reference }, "the one in force stays")
    draft.keyring.dataKeys.removeAll { $0.reference == reference }
    return try finish(draft)
  }

  /// Without the wraps of any generation of a named key, for good.
  package func shredding(_ key: Keyring.NamedKey) throws(CryptoError) -> Change {
    var draft = try draft()
    var key = key
    (key.isShredded, key.current) = (true, KeyReference(rawValue: 0))
    // What was under it is known by its rows, of which nothing opens any more.
    draft.keyring.dataKeys = draft.keyring.dataKeys.compactMap { row in
      if row.number != key.number { return row }
      return draft.keyring.isGrant(row.wrappingKey) ? nil : row.withoutKey(row.wrappingKey)
    }
    draft.keyring.put(key)
    return try finish(draft)
  }

  /// A new unlock root, which one credential opens; new wrapping keys, and data keys wrapped anew; and for
  /// each named key a generation that nobody knows who had the old root. Other slots, and grants, go. The
  /// schemas as they are are accepted, and no others with MACs of before, until ``finishingRootChange()``.
  ///
  /// - Parameters:
  ///   - credential: What opens the new root.
  ///   - work: What a guess of a password costs.
  ///   - schemas: All schemas, checked, in order of their collections.
  /// - Returns: The change.
  /// - Throws: ``CryptoError/elsewhere(_:)`` where a key can't be opened on this device.
  package func changingRoot(
    to credential: borrowing Credential, work: WorkFactor = .standard, schemas: [SealedSchema] = []
  ) throws(CryptoError) -> Change {
    let old = try draft()
    var new = old
    guard old.keyring.rootGeneration < .max else { throw .limitExceeded(.keyGenerations) }
    new.root = SharedSecret(try Secret.random(byteCount: Credential.keySize))
    new.keyring.rootGeneration += 1
    (new.keyring.slots, new.keyring.wrappingKeys, new.keyring.dataKeys) = ([], [], [])
    new.wrappingKeys = [:]
    let digest = try Keyring.digest(of: schemas)
    let former = try Secret(copying: digest.rawSpan)
    let number = try new.keyring.allocateWrappingNumber()
    try new.keyring.wrap(
      former, number: number, role: Keyring.WrappingKey.formerSchemasRole, parent: KeyParent.root,
      under: new.root.secret)
    try addSlot(credential, 0, work, to: &new)
    for (index, key) in new.keyring.namedKeys.enumerated() {
      new.keyring.namedKeys[index].sealedName = try new.keyring.sealName(
        old.names[key.number] ?? "", number: key.number, key.accessClass, root: new.root.secret)
    }
    for row in old.keyring.dataKeys where !old.keyring.isGrant(row.wrappingKey) {
      guard let wrappingKey = old.wrappingKeys[row.wrappingKey] else { throw .elsewhere(row.reference) }
      let number = try self.wrappingKey(of: row.accessClass, in: &new)
      if old.keyring.isShredded(row) {
        new.keyring.dataKeys.append(row.withoutKey(number))
      } else {
        let secret = try open(row, under: wrappingKey.secret, of: old.keyring)
        new.keyring.dataKeys.append(try wrap(secret, row, under: number, in: new))
      }
    }
    for key in new.keyring.namedKeys where !key.isShredded { try addGeneration(of: key, to: &new) }
    return try finish(new)
  }

  /// Whether the schemas of before a change of the root are accepted still.
  package var isRootChangeUnfinished: Bool {
    keyring.wrappingKeys.contains { $0.role == Keyring.WrappingKey.formerSchemasRole }
  }

  /// No longer accepting the schemas of before a change of the root: all were stored anew.
  package func finishingRootChange() throws(CryptoError) -> Change {
    var draft = try draft()
    draft.keyring.wrappingKeys.removeAll { $0.role == Keyring.WrappingKey.formerSchemasRole }
    return try finish(draft)
  }

  /// Another sum of the schemas' revisions.
  package func countingSchemas(_ revisions: UInt64) throws(CryptoError) -> Change {
    var draft = try draft()
    draft.keyring.schemaRevisions = revisions
    return try finish(draft)
  }

  /// Puts a change into force, once its bytes are safe.
  package func adopt(_ change: Change) {
    state.withLock { state in
      precondition(
        change.keyring.generation > state.keyring.generation, "changes are adopted one by one, in their order"
      )
      install(change.keyring, other: nil, &state)
      guard state.root != nil else { return }
      state.root = change.draft.root
      state.wrappingKeys = change.draft.wrappingKeys
      state.names = change.draft.names
    }
  }

  /// Another keyring in the place of the one before; what it no longer has is wiped.
  private func install(_ keyring: Keyring, other: Keyring?, _ state: inout State) {
    state.keyring = keyring
    state.other = other
    state.servedByOther = false
    let numbers = Set(keyring.wrappingKeys.map(\.number))
    state.wrappingKeys = state.wrappingKeys.filter { numbers.contains($0.key) }
    wipe { keyring.dataKey($0.reference).map(keyring.isShredded) ?? true }
  }

  /// Takes in a keyring that another process has put into force. What is open stays open: the unlock root,
  /// which the keyring's MAC is made with, and the keys. A keyring that this root did not make locks
  /// everything.
  ///
  /// - Returns: Whether it is another one than before.
  package func follow(_ keyring: Keyring, other: Keyring?) -> Bool {
    guard keyring.generation > self.keyring.generation else { return false }
    var names: [UInt16: String] = [:]
    var wrappingKeys: [UInt32: SharedSecret] = [:]
    if isUnlocked {
      do throws(CryptoError) {
        let now = try draft()
        guard try keyring.verifyMAC(root: now.root.secret) else { throw .tamperedKeyring }
        names = try keyring.openNames(root: now.root.secret)
        wrappingKeys = try openWrappingKeys(keyring.wrappingKeys, of: keyring, root: now.root)
      } catch { lock(.everything) }
    }
    state.withLock { state in
      // Whoever is unlocking has checked the one before.
      if state.root == nil { epoch.add(1, ordering: .acquiringAndReleasing) }
      install(keyring, other: other, &state)
      if state.root != nil { (state.names, state.wrappingKeys) = (names, wrappingKeys) }
    }
    return true
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
      lock(.everything)
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
    storeID: ID16, credential: borrowing Credential, work: WorkFactor = .standard,
    outside: any OutsideSecrets = NoOutsideSecrets()
  ) throws(CryptoError) -> Vault {
    let root = SharedSecret(try Secret.random(byteCount: Credential.keySize))
    var empty = Keyring.none(of: storeID)
    (empty.rootGeneration, empty.nextSlotID) = (1, 0)
    let vault = Vault(empty, root: root, outside: outside)
    var draft = try vault.draft()
    try vault.addSlot(credential, 0, work, to: &draft)
    for accessClass in [AccessClass.whenUnlocked, .afterFirstUnlock] {
      _ = try vault.wrappingKey(of: accessClass, in: &draft)
    }
    vault.adopt(try vault.finish(draft))
    return vault
  }

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
