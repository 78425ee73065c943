// Reading and writing a keyring (docs/format-keyring.md 10.7).

package import NotelogBase

extension Keyring {
  /// Reads a keyring. Whatever is damaged, unknown or beyond a limit is refused here, before any work.
  ///
  /// The digest finds damage without a key; that nobody forged it shows at unlock, by its MAC.
  ///
  /// - Parameter bytes: The whole file.
  /// - Throws: ``CryptoError/damagedKeyring(_:)``, ``CryptoError/unsupported(_:)``,
  ///   ``CryptoError/limitExceeded(_:)``.
  package init(parsing bytes: [UInt8]) throws(CryptoError) {
    guard bytes.count <= Self.byteCountMax else { throw .limitExceeded(.keyringSize) }
    guard bytes.count >= Self.headerSize + Self.digestSize + Self.macSize else {
      throw .damagedKeyring(.length)
    }
    guard bytes.starts(with: Self.magic) else { throw .damagedKeyring(.magic) }
    guard bytes.rawSpan.load(UInt32.self, at: 12) == bytes.count else { throw .damagedKeyring(.length) }
    guard try OpenSSL.sha256(Array(bytes.dropLast(Self.digestSize))) == Array(bytes.suffix(Self.digestSize))
    else { throw .damagedKeyring(.digest) }
    let end = bytes.count - Self.macSize - Self.digestSize
    var reader = KeyringCursor(bytes.rawSpan.extracting(first: end), failure: Self.fault)
    _ = try reader.array(Self.magic.count)
    let version = try reader.integer(as: UInt16.self)
    guard version == Self.version else { throw .unsupported(.keyringVersion(version)) }
    try reader.wrapSuite()
    try reader.reserved(1)
    _ = try reader.array(4)
    storeID = ID16(try reader.array(16))
    generation = try reader.integer()
    rootGeneration = try reader.integer()
    nextKeyReference = try reader.integer()
    let slotCount = try reader.integer(as: UInt16.self)
    let wrappingKeyCount = try reader.integer(as: UInt16.self)
    let namedKeyCount = try reader.integer(as: UInt16.self)
    nextWrappingNumber = try reader.integer()
    let dataKeyCount = try reader.integer(as: UInt32.self)
    nextSlotID = try reader.integer()
    schemaRevisions = try reader.integer()
    guard slotCount <= Self.slotsMax else { throw .limitExceeded(.slots) }
    guard wrappingKeyCount <= Self.wrappingKeysMax else { throw .damagedKeyring(.range) }
    guard dataKeyCount <= Self.dataKeysMax else { throw .limitExceeded(.keyGenerations) }
    for _ in 0..<slotCount { slots.append(try Slot(&reader)) }
    for _ in 0..<wrappingKeyCount { wrappingKeys.append(try WrappingKey(&reader)) }
    for _ in 0..<namedKeyCount { namedKeys.append(try NamedKey(&reader)) }
    for _ in 0..<dataKeyCount { dataKeys.append(try DataKey(&reader)) }
    guard reader.remaining == 0 else { throw .damagedKeyring(.length) }
    self.bytes = bytes
    try checkConsistency()
  }

  private static func fault(_ fault: KeyringCursor.Fault, _: StaticString, _: Int) -> CryptoError {
    .damagedKeyring(fault == .reserved ? .reserved : .length)
  }

  /// Where the generation stands in the file.
  package static let generationOffset = 32

  /// Everything but MAC and digest: what the MAC covers.
  private var body: [UInt8] {
    var bytes = Self.magic
    bytes.reserveCapacity(self.bytes.count + 4096)
    bytes.append(littleEndian: Self.version, SealedValue.wrapSuite)
    bytes.append(zeros: 5)
    bytes += storeID.array
    bytes.append(littleEndian: generation, rootGeneration, nextKeyReference, UInt16(slots.count))
    bytes.append(littleEndian: UInt16(wrappingKeys.count), UInt16(namedKeys.count), nextWrappingNumber)
    bytes.append(littleEndian: UInt32(dataKeys.count), nextSlotID, schemaRevisions)
    for slot in slots { slot.append(to: &bytes) }
    for key in wrappingKeys { key.append(to: &bytes) }
    for key in namedKeys { key.append(to: &bytes) }
    for key in dataKeys { key.append(to: &bytes) }
    let byteCount = UInt32(bytes.count + Self.macSize + Self.digestSize)
    bytes.withBytes(in: 12..<16) { $0.store(byteCount, at: 0) }
    return bytes
  }

  /// Computes MAC and digest, the last step of every change.
  mutating func seal(root: borrowing Secret) throws(CryptoError) {
    let body = body
    bytes = try body + mac(of: body.rawSpan, root)
    bytes += try OpenSSL.sha256(bytes)
  }

  private func mac(of body: RawSpan, _ root: borrowing Secret) throws(CryptoError) -> [UInt8] {
    let key = try derive("NL1/keyring", root: root)
    return try OpenSSL.hmacSHA256(key: key.bytes, body)
  }

  /// Whether the unlock root made the MAC.
  func verifyMAC(root: borrowing Secret) throws(CryptoError) -> Bool {
    let end = bytes.count - Self.macSize - Self.digestSize
    let mac = try mac(of: bytes.rawSpan.extracting(first: end), root)
    return OpenSSL.areEqual(mac, Array(bytes[end..<end + Self.macSize]))
  }

  /// That the tables are in order and refer to each other.
  private func checkConsistency() throws(CryptoError) {
    guard Self.ascends(slots.map(\.id)), Self.ascends(wrappingKeys.map(\.order)),
      Self.ascends(namedKeys.map(\.number)), Self.ascends(dataKeys.map(\.order))
    else { throw .damagedKeyring(.order) }
    guard slots.count(where: { $0.kind == .password }) <= Self.passwordSlotsMax else {
      throw .limitExceeded(.slots)
    }
    let roles = Dictionary(wrappingKeys.map { ($0.number, $0.role) }) { one, _ in one }
    let named = Dictionary(uniqueKeysWithValues: namedKeys.map { ($0.number, $0) })
    let areDataKeysSound = dataKeys.allSatisfy { key in
      let role = roles[key.wrappingKey]
      return (role == key.accessClass.rawValue || role == WrappingKey.grantRole)
        && named[key.number]?.accessClass == key.accessClass
        && named[key.number]?.isEffaceable == key.isEffaceable
    }
    let evidenceKeys = namedKeys.filter(\.isEvidence)
    guard !slots.isEmpty, slots.allSatisfy({ $0.id < nextSlotID }), evidenceKeys.count <= 1,
      evidenceKeys.allSatisfy({ !$0.isEffaceable && !$0.isShredded }),
      slots.allSatisfy({ $0.kind == nil || $0.rootGeneration == rootGeneration }),
      slots.allSatisfy({ $0.grant == 0 || roles[$0.grant] == WrappingKey.grantRole }),
      wrappingKeys.allSatisfy({
        $0.rootGeneration == rootGeneration && (1..<max(1, UInt32(nextWrappingNumber))).contains($0.number)
      }), dataKeys.allSatisfy({ $0.reference.rawValue < nextKeyReference }), areDataKeysSound,
      namedKeys.allSatisfy({
        $0.isShredded ? $0.current.rawValue == 0 : dataKey($0.current)?.number == $0.number
      })
    else { throw .damagedKeyring(.range) }
  }

  private static func ascends(_ values: [some Comparable]) -> Bool {
    zip(values, values.dropFirst()).allSatisfy { $0 < $1 }
  }

  /// Puts a named key into its table, in the place of the one of the same number.
  mutating func put(_ key: NamedKey) {
    let index = namedKeys.firstPlace(notBelow: UInt32(key.number)) { UInt32($0.number) }
    let isThere = index < namedKeys.count && namedKeys[index].number == key.number
    namedKeys.replaceSubrange(index..<(isThere ? index + 1 : index), with: [key])
  }

  /// What an opening for reading goes by where neither file serves: a keyring without slots and keys.
  package static func none(of storeID: ID16) -> Keyring { Keyring(storeID: storeID) }

  /// Whether a credential opens all of it, and whoever made its MACs had the root that it leads to. A grant
  /// can't tell.
  ///
  /// - Throws: ``CryptoError/wrongPassword``, ``CryptoError/wrongKey``, ``CryptoError/tamperedSlot(_:)``.
  package func isMade(by credential: borrowing Credential) throws(CryptoError) -> Bool {
    let (key, grant) = try openSlot(credential)
    return grant == 0 ? try verifyMAC(root: key.secret) : false
  }

  /// The first bytes, at most eight, of the digest that it ends in.
  package func start(ofDigest count: Int) -> UInt64 {
    bytes.suffix(Self.digestSize).prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The first eight bytes of its SHA-256: what tells it from others of its generation.
  package func fingerprint() throws(CryptoError) -> UInt64 {
    try OpenSSL.sha256(bytes).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
