// Unlocking: from a credential to the unlock root, or to a grant's key, and from there to wrapping keys and
// names (docs/format-keyring.md 10.3, 10.4).

import NotelogBase

extension Vault {
  /// Opens the keyring, or what of it a credential may open.
  ///
  /// The work of scrypt is done outside the vault's lock, so that keys open already stay usable meanwhile.
  /// Where the keyring proves to be tampered with and the other copy is not, that one takes its place. So
  /// does a copy of the same generation that the credential opens: whether a slot is the credential's,
  /// somebody may have altered.
  ///
  /// - Parameters:
  ///   - credential: A password, raw key or recovery key.
  ///   - schemas: Stored schemas, which must bear their MACs before any key is usable. A grant can't check
  ///     them.
  /// - Throws: ``CryptoError/tamperedSchema(_:)``, ``CryptoError/lockedMeanwhile``,
  ///   ``CryptoError/wrongPassword``, ``CryptoError/wrongKey``, ``CryptoError/tamperedSlot(_:)``,
  ///   ``CryptoError/tamperedKeyring``.
  package func unlock(_ credential: borrowing Credential, checking schemas: [SealedSchema] = [])
    throws(CryptoError)
  {
    try unlockEither(checking: schemas) { keyring throws(CryptoError) in
      let opened = try keyring.openSlot(credential)
      if opened.grant == 0, try !keyring.verifyMAC(root: opened.key.secret) { throw .tamperedKeyring }
      return opened
    }
  }

  /// Opens the keyring with what `find` finds for it, the unlock root or a grant's key; or the other copy,
  /// where what is wrong with the first permits that.
  func unlockEither(
    checking schemas: [SealedSchema],
    _ find: (Keyring) throws(CryptoError) -> (key: SharedSecret, grant: UInt32)
  ) throws(CryptoError) {
    guard SecretMemory.shared.isOriginalProcess else { throw .forked }
    let (keyring, other, lockCount) = state.withLock { ($0.keyring, $0.other, $0.lockCount) }
    do throws(CryptoError) { try open(keyring, find(keyring), isOther: false, schemas, lockCount) } catch {
      guard let other, error.permits(other, insteadOf: keyring) else { throw error }
      // The first finding is the one to report: the fallback's would only say that it was no help.
      do throws(CryptoError) { try open(other, find(other), isOther: true, schemas, lockCount) } catch _ {
        throw error
      }
    }
  }

  /// Opens what lies under a root that is this keyring's, as its MAC was verified; or under a grant's key.
  private func open(
    _ keyring: Keyring, _ opened: (key: SharedSecret, grant: UInt32), isOther: Bool,
    _ schemas: [SealedSchema], _ lockCount: Int
  ) throws(CryptoError) {
    let (key, grant) = opened
    var names: [UInt16: String] = [:]
    var wrappingKeys = [grant: key]
    if grant == 0 {
      wrappingKeys = try keyring.open(keyring.wrappingKeys, root: key, outside)
      try check(schemas, of: keyring, root: key.secret)
      names = try keyring.openNames(root: key.secret)
    }
    try state.withLock { state throws(CryptoError) in
      // Whoever locked the vault while scrypt was at work meant it; whoever changed the root, too.
      guard lockCount == state.lockCount, isOther || state.keyring.rootGeneration == keyring.rootGeneration
      else { throw .lockedMeanwhile }
      // A change adopted meanwhile was made from the other copy: it is not to be undone.
      guard !isOther || state.other != nil else { throw .tamperedKeyring }
      if isOther {
        state.keyring = keyring
        state.other = nil
        state.servedByOther = true
      }
      // A change adopted while scrypt was at work may have made more names and wrapping keys.
      state.names.merge(names) { current, _ in current }
      state.wrappingKeys.merge(wrappingKeys) { current, _ in current }
      if grant == 0 { state.root = key }
    }
  }
}

extension Keyring {
  /// Opens wrapping keys, as far as this device and the root open them. Where the root is the parent alone,
  /// it must.
  func open(_ entries: [WrappingKey], root: SharedSecret?, _ outside: (any OutsideSecrets)?)
    throws(CryptoError) -> [UInt32: SharedSecret]
  {
    let needsDevice = entries.contains { $0.parent == KeyParent.device || $0.parent == KeyParent.both }
    let device = needsDevice ? try outside?.sharedDeviceSecret(making: false) : nil
    var opened: [UInt32: SharedSecret] = [:]
    for entry in entries where opened[entry.number] == nil {
      guard let parent = try parentSecret(entry.parent, root, device) else { continue }
      do throws(CryptoError) {
        opened[entry.number] = SharedSecret(try open(entry, under: parent.secret))
      } catch {
        // What another device's secret wraps stayed behind there.
        guard entry.parent != KeyParent.root, error == .wrongKey else {
          throw error == .wrongKey || error == .tampered ? .tamperedKeyring : error
        }
      }
    }
    return opened
  }

  /// Opens a data key.
  func open(_ row: DataKey, under key: borrowing Secret, _ outside: (any OutsideSecrets)?)
    throws(CryptoError) -> Secret
  {
    do throws(CryptoError) {
      return try row.unwrap(under: try keyWrapping(row, key, outside), storeID: storeID)
    } catch {
      // Under a key that is the right one, a wrap that does not open was altered; or the effaceable secret is
      // another's.
      guard error == .wrongKey || error == .tampered else { throw error }
      throw row.isEffaceable && error == .wrongKey ? .effaced(row.reference) : .tamperedKeyring
    }
  }

  /// What wraps a data key: a wrapping key, together with the effaceable secret where it has one.
  func keyWrapping(_ row: DataKey, _ key: borrowing Secret, _ outside: (any OutsideSecrets)?)
    throws(CryptoError) -> Secret
  {
    guard row.isEffaceable else { return try key.copy() }
    guard let secret = try outside?.effaceableSecret(ofKey: row.number) else {
      throw .effaced(namedKey(row.number)?.current ?? KeyReference(rawValue: 0))
    }
    let both = try Secret(joining: key, secret)
    return try OpenSSL.hkdfSHA256(both.bytes, salt: storeID.array, info: Array("NL1/effaceable".utf8))
  }
}

extension OutsideSecrets {
  func sharedDeviceSecret(making: Bool) throws(CryptoError) -> SharedSecret? {
    guard let secret = try deviceSecret(making: making) else { return nil }
    return SharedSecret(secret)
  }
}

/// The secret that wraps wrapping keys; nil where a part of it is not there.
func parentSecret(_ parent: UInt8, _ root: SharedSecret?, _ device: SharedSecret?) throws(CryptoError)
  -> SharedSecret?
{
  switch parent {
  case KeyParent.root: return root
  case KeyParent.device: return device
  case KeyParent.both:
    guard let root, let device else { return nil }
    return SharedSecret(try Secret(joining: root.secret, device.secret))
  default: return nil
  }
}

/// A stored schema, and what shows that somebody with the unlock root stored it.
package typealias SealedSchema = (bytes: [UInt8], mac: [UInt8])

extension Vault {
  /// The slots that a credential opens, as several may have the same password. Costs each slot's work.
  package func slots(openedBy credential: borrowing Credential) throws(CryptoError) -> [UInt32] {
    let keyring = self.keyring
    var found: [UInt32] = []
    for slot in keyring.slots where slot.kind == credential.kind {
      do throws(CryptoError) {
        _ = try slot.open(credential, storeID: keyring.storeID)
        found.append(slot.id)
      } catch { guard error == .wrongKey else { throw error } }
    }
    guard !found.isEmpty else { throw credential.refusal }
    return found
  }
}

extension CryptoError {
  /// Whether it is a reason to try the other copy. A credential that is refused isn't where that copy is an
  /// older one: it may have been given up.
  func permits(_ other: Keyring, insteadOf keyring: Keyring) -> Bool {
    switch self {
    case .tamperedKeyring, .tamperedSlot: true
    case .wrongPassword, .wrongKey: other.generation == keyring.generation
    default: false
    }
  }
}

extension Keyring {
  /// What the credential opens, by whichever slot accepts it: the unlock root, or the key of a grant.
  func openSlot(_ credential: borrowing Credential) throws(CryptoError) -> (key: SharedSecret, grant: UInt32)
  {
    try credential.checkSize()
    for slot in slots where slot.kind == credential.kind {
      do throws(CryptoError) {
        return (SharedSecret(try slot.open(credential, storeID: storeID)), slot.grant)
      } catch {
        // The commitment says that this slot is another credential's; anything else is final.
        guard error == .wrongKey else { throw error }
      }
    }
    throw credential.refusal
  }

  /// A key for one purpose, from the unlock root.
  func derive(_ purpose: String, root: borrowing Secret) throws(CryptoError) -> Secret {
    try OpenSSL.hkdfSHA256(root.bytes, salt: storeID.array, info: Array(purpose.utf8))
  }

  /// HMAC-SHA256 of a stored schema, under a key of its own.
  func schemaMAC(_ schema: RawSpan, root: borrowing Secret) throws(CryptoError) -> [UInt8] {
    let key = try derive("NL1/schema", root: root)
    return try OpenSSL.hmacSHA256(key: key.bytes, schema)
  }

  /// SHA-256 over the SHA-256 of each schema and its MAC.
  package static func digest(of schemas: [SealedSchema]) throws(CryptoError) -> [UInt8] {
    var all: [UInt8] = []
    for schema in schemas { all += try OpenSSL.sha256(schema.bytes + schema.mac) }
    return try OpenSSL.sha256(all)
  }

  /// Checks the MACs of all schemas, in order of their collections. Where the root was changed and they have
  /// not been stored anew, they are the schemas of that moment, byte for byte: who has the former root makes
  /// no others.
  func check(_ schemas: [SealedSchema], root: borrowing Secret) throws(CryptoError) {
    let key = try derive("NL1/schema", root: root)
    for (index, schema) in schemas.enumerated() {
      let mac = try OpenSSL.hmacSHA256(key: key.bytes, schema.bytes.rawSpan)
      if OpenSSL.areEqual(mac, schema.mac) { continue }
      guard let former = wrappingKeys.first(where: { $0.role == WrappingKey.formerSchemasRole }) else {
        throw .tamperedSchema(index)
      }
      let digest = try open(former, under: root)
      guard OpenSSL.areEqual(try Self.digest(of: schemas), digest.bytes.array()) else {
        throw .tamperedSchema(index)
      }
      return
    }
  }

  /// What wraps a wrapping key, from its parent.
  private func parentKey(of entry: WrappingKey, _ parent: borrowing Secret) throws(CryptoError) -> Secret {
    let info = Array("NL1/class".utf8) + [entry.role, entry.parent]
    return try OpenSSL.hkdfSHA256(parent.bytes, salt: storeID.array, info: info)
  }

  func open(_ entry: WrappingKey, under parent: borrowing Secret) throws(CryptoError) -> Secret {
    try entry.unwrap(under: parentKey(of: entry, parent), storeID: storeID)
  }

  /// Adds a wrapping key's entry.
  mutating func wrap(
    _ secret: borrowing Secret, number: UInt32, role: UInt8, parent: UInt8,
    under parentSecret: borrowing Secret
  ) throws(CryptoError) {
    var entry = WrappingKey(number: number, role: role, parent: parent, rootGeneration: rootGeneration)
    try entry.wrap(secret, under: parentKey(of: entry, parentSecret), storeID: storeID)
    wrappingKeys.append(entry)
  }

  /// The names of all named keys, by number.
  func openNames(root: borrowing Secret) throws(CryptoError) -> [UInt16: String] {
    guard !namedKeys.isEmpty else { return [:] }
    let key = try derive("NL1/names", root: root)
    let context = try XAES(key: key)
    var names: [UInt16: String] = [:]
    for entry in namedKeys {
      let data = NamedKey.additionalData(number: entry.number, entry.accessClass, storeID: storeID)
      do throws(CryptoError) {
        let padded = try context.openWhole(entry.sealedName, additionalData: data)
        let count = try Padding.valueCount(in: padded.bytes)
        names[entry.number] = String(decoding: padded.array(0..<count), as: UTF8.self)
      } catch { throw error == .tampered ? .tamperedKeyring : error }
    }
    return names
  }

  func sealName(_ name: String, number: UInt16, _ accessClass: AccessClass, root: borrowing Secret)
    throws(CryptoError) -> [UInt8]
  {
    let bytes = Array(name.utf8)
    guard !bytes.isEmpty, bytes.count <= Self.keyNameByteCountMax else { throw .limitExceeded(.keyName) }
    let key = try derive("NL1/names", root: root)
    let context = try XAES(key: key)
    var padded = try Secret(byteCount: NamedKey.paddedNameSize)
    padded.fill(bytes + [Padding.marker])
    return try context.sealWhole(
      padded.bytes, additionalData: NamedKey.additionalData(number: number, accessClass, storeID: storeID),
      nonce: try Secret.randomBytes(SealedValue.nonceSize))
  }
}
