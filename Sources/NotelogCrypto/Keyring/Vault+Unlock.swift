// Unlocking: from a credential to the unlock root, and from there to class keys and names (FORMAT.md 10.3,
// 10.4).

import NotelogBase

extension Vault {
  /// Opens the keyring.
  ///
  /// The work of scrypt is done outside the vault's lock, so that keys open already stay usable meanwhile.
  /// Where the keyring proves to be tampered with and the other copy is not, that one takes its place. So does a copy of the same
  /// generation that the credential opens: whether a slot is the credential's, somebody may have altered.
  ///
  /// - Parameters:
  ///   - credential: A password, raw key or recovery key.
  ///   - slot: The slot to try; nil tries each of the credential's kind.
  ///   - schemas: Stored schemas, which must bear their MACs before any key is usable.
  /// - Returns: The id of the slot that accepted it.
  /// - Throws: ``CryptoError/tamperedSchema(_:)``, ``CryptoError/lockedMeanwhile``, ``CryptoError/wrongPassword``, ``CryptoError/wrongKey``, ``CryptoError/tamperedSlot(_:)``,
  ///   ``CryptoError/tamperedKeyring``, ``CryptoError/missingSlot(_:)``.
  @discardableResult
  package func unlock(
    _ credential: borrowing Credential, slot: UInt32? = nil, checking schemas: [SealedSchema] = []
  ) throws(CryptoError) -> UInt32 {
    guard memory.isOriginalProcess else { throw .forked }
    let (keyring, other, epoch) = state.withLock { ($0.keyring, $0.other, lockEpoch) }
    do throws(CryptoError) {
      return try unlock(keyring, credential, slot: slot, isOther: false, schemas, epoch)
    } catch {
      guard let other, error.permits(other, insteadOf: keyring) else { throw error }
      // The first finding is the one to report: the fallback's would only say that it was no help.
      do throws(CryptoError) {
        return try unlock(other, credential, slot: slot, isOther: true, schemas, epoch)
      } catch _ {
        throw error
      }
    }
  }

  /// The same for one of the copies; `epoch` is that of the moment when unlocking began.
  func unlock(
    _ keyring: Keyring, _ credential: borrowing Credential, slot: UInt32?, isOther: Bool,
    _ schemas: [SealedSchema], _ epoch: UInt64
  ) throws(CryptoError) -> UInt32 {
    let opened = try keyring.openRoot(credential, slot: slot, memory: memory)
    try take(opened.root, of: keyring, isOther: isOther, schemas, epoch)
    return opened.slot
  }

  /// Opens the keyring with the keys that another vault of the store has open: no secret is asked for, and no work done for one.
  ///
  /// - Throws: ``CryptoError/rootLocked`` where the other is locked; what unlocking throws.
  package func unlock(withKeysOf other: Vault, checking schemas: [SealedSchema]) throws(CryptoError) {
    guard memory.isOriginalProcess else { throw .forked }
    let (keyring, epoch) = state.withLock { ($0.keyring, lockEpoch) }
    var copied: Secret?
    try other.state.withLock { state throws(CryptoError) in
      if state.isClosed { throw .closed }
      copied = try state.root?.copy()
    }
    guard let root = copied.take() else { throw .rootLocked }
    try take(root, of: keyring, isOther: false, schemas, epoch)
  }

  /// Takes the unlock root in: what it opens is checked before any key is usable.
  private func take(
    _ root: borrowing Secret, of keyring: Keyring, isOther: Bool, _ schemas: [SealedSchema],
    _ epoch: UInt64
  ) throws(CryptoError) {
    guard try keyring.verifyMAC(root: root, memory: memory) else { throw .tamperedKeyring }
    var classKeys: [AccessClass: ClassSecret] = [:]
    for entry in keyring.classKeys {
      classKeys[entry.accessClass] = ClassSecret(try keyring.open(entry, root: root, memory: memory))
    }
    try keyring.check(schemas, root: root, memory: memory)
    let names = try keyring.openNames(root: root, memory: memory)
    var copy: Secret? = try root.copy()
    try state.withLock { state throws(CryptoError) in
      // Whoever locked the vault while scrypt was at work meant it.
      guard epoch == lockEpoch else { throw .lockedMeanwhile }
      // A change adopted meanwhile was made from the other copy: it is not to be undone.
      guard !isOther || state.other != nil else { throw .tamperedKeyring }
      if isOther {
        state.keyring = keyring
        state.other = nil
        state.servedByOther = true
      }
      // A change adopted while scrypt was at work has the same root and class keys; it may have more names.
      state.names.merge(names) { current, _ in current }
      state.root = copy.take()
      state.classKeys = classKeys
    }
  }
}

/// A stored schema, and what shows that somebody with the unlock root stored it.
package struct SealedSchema: Sendable {
  package let bytes: [UInt8]
  package let mac: [UInt8]

  package init(bytes: [UInt8], mac: [UInt8]) {
    self.bytes = bytes
    self.mac = mac
  }
}

extension Vault {
  /// The slots that a credential opens, as several may have the same password. Costs each slot's work.
  package func slots(openedBy credential: borrowing Credential) throws(CryptoError) -> [UInt32] {
    let keyring = self.keyring
    var found: [UInt32] = []
    for slot in keyring.slots where slot.kind == credential.kind {
      do throws(CryptoError) {
        _ = try keyring.openRoot(credential, slot: slot.id, memory: memory)
        found.append(slot.id)
      } catch { guard error == .wrongPassword || error == .wrongKey else { throw error } }
    }
    guard !found.isEmpty else { throw credential.kind == .password ? .wrongPassword : .wrongKey }
    return found
  }
}

extension CryptoError {
  /// Whether it is a reason to try the other copy. A credential that is refused isn't where that copy is an older one: it may have been
  /// given up.
  fileprivate func permits(_ other: Keyring, insteadOf keyring: Keyring) -> Bool {
    switch self {
    case .tamperedKeyring, .tamperedSlot: true
    case .wrongPassword, .wrongKey: other.generation == keyring.generation
    default: false
    }
  }
}

extension Keyring {
  /// The unlock root, by whichever slot accepts the credential.
  func openRoot(
    _ credential: borrowing Credential, slot id: UInt32?, memory: SecretMemory
  ) throws(CryptoError) -> OpenedRoot {
    try credential.checkSize()
    if let id, !slots.contains(where: { $0.id == id }) { throw .missingSlot(id) }
    for slot in slots where slot.kind == credential.kind && (id == nil || slot.id == id) {
      do throws(CryptoError) {
        return OpenedRoot(root: try slot.open(credential, storeID: storeID, memory: memory), slot: slot.id)
      } catch {
        // The commitment says that this slot is another credential's; anything else is final.
        guard error == .wrongKey else { throw error }
      }
    }
    throw credential.kind == .password ? .wrongPassword : .wrongKey
  }

  /// A key for one purpose, from the unlock root.
  func derive(_ purpose: String, root: borrowing Secret, memory: SecretMemory) throws(CryptoError) -> Secret {
    try Derivation.hkdfSHA256(root.bytes, salt: storeID.array, info: Array(purpose.utf8), in: memory)
  }

  /// HMAC-SHA256 over everything before the MAC.
  func computeMAC(root: borrowing Secret, memory: SecretMemory) throws(CryptoError) -> [UInt8] {
    let key = try derive("NL1/keyring", root: root, memory: memory)
    let message = body
    // SAFETY: bytes of an array of bytes are all initialised.
    return try Derivation.hmacSHA256(key: key.bytes, unsafe message.span.bytes)
  }

  func verifyMAC(root: borrowing Secret, memory: SecretMemory) throws(CryptoError) -> Bool {
    Derivation.areEqual(try computeMAC(root: root, memory: memory), mac)
  }

  /// HMAC-SHA256 of a stored schema, under a key of its own.
  func schemaMAC(_ schema: RawSpan, root: borrowing Secret, memory: SecretMemory) throws(CryptoError)
    -> [UInt8]
  {
    let key = try derive("NL1/schema", root: root, memory: memory)
    return try Derivation.hmacSHA256(key: key.bytes, schema)
  }

  func check(
    _ schemas: [SealedSchema], root: borrowing Secret, memory: SecretMemory
  ) throws(CryptoError) {
    for (index, schema) in schemas.enumerated() {
      // SAFETY: bytes of an array of bytes are all initialised.
      let mac = try schemaMAC(unsafe schema.bytes.span.bytes, root: root, memory: memory)
      guard Derivation.areEqual(mac, schema.mac) else { throw .tamperedSchema(index) }
    }
  }

  /// The wrapping key of an access class.
  private func classWrappingKey(
    _ accessClass: AccessClass, root: borrowing Secret, memory: SecretMemory
  ) throws(CryptoError) -> Secret {
    try Derivation.hkdfSHA256(
      root.bytes, salt: storeID.array, info: Array("NL1/class".utf8) + [accessClass.rawValue], in: memory)
  }

  func open(_ entry: ClassKey, root: borrowing Secret, memory: SecretMemory) throws(CryptoError) -> Secret {
    let key = try classWrappingKey(entry.accessClass, root: root, memory: memory)
    do throws(CryptoError) {
      return try entry.unwrap(under: key, storeID: storeID, memory: memory)
    } catch {
      throw error == .wrongKey || error == .tampered ? .tamperedKeyring : error
    }
  }

  func wrapClassKey(
    _ secret: borrowing Secret, _ accessClass: AccessClass, root: borrowing Secret, memory: SecretMemory
  ) throws(CryptoError) -> ClassKey {
    let key = try classWrappingKey(accessClass, root: root, memory: memory)
    var entry = ClassKey(accessClass: accessClass, rootGeneration: rootGeneration)
    try entry.wrap(secret, under: key, storeID: storeID, memory: memory)
    return entry
  }

  /// The names of all named keys, by number.
  func openNames(root: borrowing Secret, memory: SecretMemory) throws(CryptoError) -> [UInt16: String] {
    guard !namedKeys.isEmpty else { return [:] }
    let key = try derive("NL1/names", root: root, memory: memory)
    let context = try SealingContext(key: key, memory: memory)
    var names: [UInt16: String] = [:]
    for entry in namedKeys {
      let data = NamedKey.additionalData(number: entry.number, entry.accessClass, storeID: storeID)
      do throws(CryptoError) {
        let padded = try context.openWhole(entry.sealedName, additionalData: data)
        let count = try Padding.valueCount(in: padded.bytes)
        names[entry.number] = String(decoding: padded.array(0..<count), as: UTF8.self)
      } catch {
        throw error == .tampered ? .tamperedKeyring : error
      }
    }
    return names
  }

  func sealName(
    _ name: String, number: UInt16, _ accessClass: AccessClass, root: borrowing Secret, memory: SecretMemory
  ) throws(CryptoError) -> [UInt8] {
    let bytes = Array(name.utf8)
    guard !bytes.isEmpty, bytes.count <= Self.keyNameByteCountMax else { throw .limitExceeded(.keyName) }
    let key = try derive("NL1/names", root: root, memory: memory)
    let context = try SealingContext(key: key, memory: memory)
    var padded = try Secret(byteCount: NamedKey.paddedNameSize, in: memory)
    padded.fill(bytes + [Padding.marker])
    return try context.sealWhole(
      padded.bytes, additionalData: NamedKey.additionalData(number: number, accessClass, storeID: storeID),
      nonce: try Random.bytes(SealedValue.nonceSize))
  }
}

/// The unlock root, and the slot that gave it.
struct OpenedRoot: ~Copyable {
  let root: Secret
  let slot: UInt32
}
