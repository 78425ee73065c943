// How a changed keyring is made: slots, grants, wrapping keys and generations that are added to it (docs/format-keyring.md 10.3 to 10.7).

import NotelogBase

/// A keyring in the making, from that of one moment and what is open of it, so that scrypt runs outside the vault's lock.
struct Draft {
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
    return Change(
      keyring: draft.keyring, root: draft.root, wrappingKeys: draft.wrappingKeys, names: draft.names)
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

  /// Adds a random data key under its class's key, and under those of the grants that the generation before is under.
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
