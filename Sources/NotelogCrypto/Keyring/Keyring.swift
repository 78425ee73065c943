// The keyring as it stands on disk: slots, wrapped keys, sealed names (FORMAT.md 10).

package import NotelogBase

/// Everything that the keyring's file says; no secret is in it, so it can be read and shown while locked.
///
/// A value: a change makes a new one, of the next generation, and the ``Vault`` seals it with its MAC.
package struct Keyring: Equatable, Sendable {
  package static let version: UInt16 = 1
  package static let slotsMax = 64
  package static let passwordSlotsMax = 8
  package static let namedKeysMax = 65_535
  package static let dataKeysMax = 131_072
  package static let keyNameByteCountMax = 63
  static let wrappingKeysMax = 256
  package static let magic = Array("NLkeys\r\n".utf8)
  static let headerSize = 72
  static let digestSize = 32
  static let macSize = 32
  /// What is read at most: what every table takes at its limit.
  package static let byteCountMax =
    headerSize + slotsMax * Slot.byteCountMax + wrappingKeysMax * WrappingKey.byteCount + namedKeysMax
    * NamedKey.byteCount + dataKeysMax * DataKey.byteCount + digestSize + macSize

  /// Which store it belongs to.
  package let storeID: ID16
  /// Which of two copies is newer; grows with each change.
  package internal(set) var generation: UInt64 = 0
  /// Which unlock root the slots wrap.
  var rootGeneration: UInt32 = 0
  /// The next key reference; references are never given out twice.
  var nextKeyReference: UInt32 = 1
  /// The next slot's id, and the next wrapping key's number; never given out twice either.
  var nextSlotID: UInt32 = 1
  var nextWrappingNumber: UInt16 = 1
  /// What the revisions of the stored schemas add up to, at least.
  package internal(set) var schemaRevisions: UInt64 = 0
  /// By ascending id.
  package internal(set) var slots: [Slot] = []
  /// By ascending number, and then parent.
  var wrappingKeys: [WrappingKey] = []
  /// By ascending number.
  package internal(set) var namedKeys: [NamedKey] = []
  /// By ascending reference, and then wrapping key.
  package internal(set) var dataKeys: [DataKey] = []
  /// As it is written to disk. Its end is an HMAC-SHA256 under a key from the unlock root, over everything
  /// before it, and the SHA-256 of everything before that, which finds damage without a key.
  package internal(set) var bytes: [UInt8] = []

  package static func == (one: Keyring, other: Keyring) -> Bool { one.bytes == other.bytes }

  /// One generation of a named key.
  package func dataKey(_ reference: KeyReference) -> DataKey? { rows(of: reference).first }

  /// The wraps of a generation of a named key.
  func rows(of reference: KeyReference) -> ArraySlice<DataKey> {
    let start = dataKeys.firstPlace(notBelow: reference.rawValue) { $0.reference.rawValue }
    return dataKeys[start...].prefix { $0.reference == reference }
  }

  /// The named keys that a slot opens, where it doesn't open all.
  package func keys(grantedTo slot: Slot) -> [NamedKey] {
    let numbers = Set(dataKeys.lazy.filter { $0.wrappingKey == slot.grant }.map(\.number))
    return namedKeys.filter { numbers.contains($0.number) }
  }

  /// The key that the store's evidence is made with; nil where it keeps none.
  package var evidenceKey: NamedKey? { namedKeys.first(where: \.isEvidence) }

  /// Whether a generation's named key was shredded.
  package func isShredded(_ row: DataKey) -> Bool { namedKey(row.number)?.isShredded == true }

  /// A named key.
  package func namedKey(_ number: UInt16) -> NamedKey? {
    namedKeys.find(UInt32(number)) { UInt32($0.number) }
  }
}

// MARK: - The keyring's tables of keys: wrapping keys, named keys, data keys (docs/format-keyring.md 10.4 to 10.6).

extension Keyring {
  /// A key that wraps data keys: that of an access class, or of a grant; or, in a key's place, the digest of
  /// the schemas as they were before the root was changed.
  struct WrappingKey: WrappedKey, Equatable, Sendable {
    static let domain = "NL1class"
    static let byteCount = 24 + wrapByteCount
    /// What is no access class's.
    static let (grantRole, formerSchemasRole): (UInt8, UInt8) = (0, 7)

    let number: UInt32
    /// The access class, or one of the above.
    let role: UInt8
    let parent: UInt8
    let rootGeneration: UInt32
    var wrap = noWrap

    var accessClass: AccessClass? { AccessClass(rawValue: role) }

    var header: [UInt8] {
      var bytes: [UInt8] = []
      bytes.append(littleEndian: number, role, parent, SealedValue.wrapSuite, 0 as UInt8, rootGeneration)
      bytes.append(zeros: 12)
      return bytes
    }
  }

  /// A named key: its number, its class, which generation new values are sealed under, and its sealed name.
  package struct NamedKey: Equatable, Sendable {
    static let byteCount = 8 + sealedNameSize
    static let paddedNameSize = 64
    static let sealedNameSize = paddedNameSize + SealedValue.overhead

    package let number: UInt16
    package let accessClass: AccessClass
    /// Whether its wraps need the effaceable secret too, and whether that was effaced.
    package let isEffaceable: Bool
    package internal(set) var isShredded = false
    /// Whether the store's evidence is made with it.
    package internal(set) var isEvidence = false
    package internal(set) var current: KeyReference
    var sealedName: [UInt8]

    static func additionalData(number: UInt16, _ accessClass: AccessClass, storeID: ID16) -> [UInt8] {
      var bytes = Array("NL1kname".utf8)
      bytes.append(littleEndian: number)
      bytes += [accessClass.rawValue, 0, 0, 0, 0, 0]
      return bytes + storeID.array
    }

    func append(to bytes: inout [UInt8]) {
      let flags: UInt8 = (isEffaceable ? 1 : 0) | (isShredded ? 2 : 0) | (isEvidence ? 4 : 0)
      bytes.append(littleEndian: number, accessClass.rawValue, flags, current.rawValue)
      bytes += sealedName
    }
  }

  /// One generation of a named key, wrapped under its class's key, or under a grant's.
  package struct DataKey: WrappedKey, Equatable, Sendable {
    static let domain = "NL1dkey\0"
    static let byteCount = 24 + wrapByteCount

    package let reference: KeyReference
    package let accessClass: AccessClass
    /// The named key it belongs to.
    package let number: UInt16
    package let generation: UInt32
    /// The number of the key that wraps it.
    var wrappingKey: UInt32
    let isEffaceable: Bool
    var wrap = noWrap

    var header: [UInt8] {
      var bytes: [UInt8] = []
      bytes.append(littleEndian: reference.rawValue, accessClass.rawValue, SealedValue.wrapSuite, number)
      bytes.append(littleEndian: generation, wrappingKey, (isEffaceable ? 1 : 0) as UInt8)
      bytes.append(zeros: 7)
      return bytes
    }

    /// What both tables ascend by.
    var order: UInt64 { UInt64(reference.rawValue) << 32 | UInt64(wrappingKey) }

    /// The row of a key that was shredded: it tells whose the reference was.
    func withoutKey(_ wrappingKey: UInt32) -> DataKey {
      var row = self
      (row.wrappingKey, row.wrap) = (wrappingKey, Self.noWrap)
      return row
    }
  }
}

/// Which secret wraps a wrapping key. Others are a later version's, and open nothing here.
enum KeyParent { static let (root, device, both): (UInt8, UInt8, UInt8) = (1, 2, 3) }

extension AccessClass {
  init(_ reader: inout KeyringCursor) throws(CryptoError) {
    let raw = try reader.integer(as: UInt8.self)
    guard let value = AccessClass(rawValue: raw) else { throw .unsupported(.accessClass(raw)) }
    self = value
  }
}

extension Keyring.WrappingKey {
  init(_ reader: inout KeyringCursor) throws(CryptoError) {
    number = try reader.integer()
    role = try reader.integer()
    guard role <= Self.formerSchemasRole else { throw .unsupported(.accessClass(role)) }
    parent = try reader.integer()
    try reader.wrapSuite()
    try reader.reserved(1)
    rootGeneration = try reader.integer()
    try reader.reserved(12)
    wrap = try reader.array(Self.wrapByteCount)
  }

  /// What both tables ascend by.
  var order: UInt64 { UInt64(number) << 8 | UInt64(parent) }
}

extension Keyring.NamedKey {
  init(_ reader: inout KeyringCursor) throws(CryptoError) {
    number = try reader.integer()
    accessClass = try AccessClass(&reader)
    let flags = try reader.flags(upTo: 7)
    (isEffaceable, isShredded, isEvidence) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0)
    current = KeyReference(rawValue: try reader.integer())
    sealedName = try reader.array(Self.sealedNameSize)
  }
}

extension Keyring.DataKey {
  init(_ reader: inout KeyringCursor) throws(CryptoError) {
    reference = KeyReference(rawValue: try reader.integer())
    accessClass = try AccessClass(&reader)
    try reader.wrapSuite()
    number = try reader.integer()
    generation = try reader.integer()
    wrappingKey = try reader.integer()
    isEffaceable = try reader.flags(upTo: 1) != 0
    try reader.reserved(7)
    wrap = try reader.array(Self.wrapByteCount)
  }
}

/// Reads a keyring.
typealias KeyringCursor = ByteCursor<CryptoError>

extension KeyringCursor {
  /// The suite of a wrap, which must be the one there is.
  mutating func wrapSuite() throws(CryptoError) {
    let suite = try integer(as: UInt8.self)
    guard suite == SealedValue.wrapSuite else { throw .unsupported(.suite(suite)) }
  }

  /// Flags, of which none but these are known.
  mutating func flags(upTo known: UInt8) throws(CryptoError) -> UInt8 {
    let flags = try integer(as: UInt8.self)
    guard flags <= known else { throw .damagedKeyring(.reserved) }
    return flags
  }
}

// MARK: - A slot: one way to unlock the store, or some of its keys (docs/format-keyring.md 10.3).

extension Keyring {
  /// One credential's wrap of the unlock root, or of a grant's key.
  package struct Slot: WrappedKey, Equatable, Sendable {
    static let domain = "NL1slot\0"
    static let byteCount = 144
    static let byteCountMax = 4096
    static let saltSize = 16
    /// log2 of scrypt's N, that a password's slot may have, new or read: 16 MiB to 256 MiB. Less than 2^16 only
    /// for whoever asks for it knowingly.
    static let works: ClosedRange<UInt8> = 14...18
    /// N = 2^17: 128 MiB and about a third of a second.
    package static let workStandard: UInt8 = 17

    /// What kind of credential opens it.
    package enum Kind: UInt8, Sendable {
      case password = 1
      case rawKey = 2
      case recoveryKey = 3
    }

    /// Nil for a kind of a later version: such a slot is kept, and opens nothing here.
    package let kind: Kind?
    /// log2 of scrypt's N; zero where there is no password.
    package let logN: UInt8
    package let id: UInt32
    /// The number of the grant that it opens; 0 for the unlock root.
    package let grant: UInt32
    let rootGeneration: UInt32
    /// scrypt's salt; zeros where there is no password.
    let salt: [UInt8]
    var wrap = noWrap
    /// All of a slot of an unknown kind.
    private var unknown: [UInt8] = []

    /// The first forty bytes: everything that is not the wrap.
    var header: [UInt8] {
      var bytes: [UInt8] = []
      bytes.append(littleEndian: UInt16(Self.byteCount), kind?.rawValue ?? 0, logN, id, grant, rootGeneration)
      bytes.append(zeros: 8)
      return bytes + salt
    }

    func append(to bytes: inout [UInt8]) { bytes += kind == nil ? unknown : header + wrap }

    /// Reads a slot. Work factors are compared with their limits here, before anybody does the work.
    init(_ reader: inout KeyringCursor) throws(CryptoError) {
      let byteCount = Int(try reader.integer(as: UInt16.self))
      let type = try reader.integer(as: UInt8.self)
      logN = try reader.integer()
      id = try reader.integer()
      kind = Kind(rawValue: type)
      guard (8...Self.byteCountMax).contains(byteCount), type != 0 else { throw .damagedKeyring(.length) }
      guard let kind else {
        unknown.append(littleEndian: UInt16(byteCount), type, logN, id)
        unknown += try reader.array(byteCount - 8)
        (grant, rootGeneration, salt) = (0, 0, [])
        return
      }
      guard byteCount == Self.byteCount else { throw .damagedKeyring(.length) }
      guard (kind == .password ? Self.works : 0...0).contains(logN) else { throw .limitExceeded(.workFactor) }
      grant = try reader.integer()
      rootGeneration = try reader.integer()
      try reader.reserved(8)
      salt = try reader.array(Self.saltSize)
      guard kind == .password || salt.allSatisfy({ $0 == 0 }) else { throw .damagedKeyring(.reserved) }
      wrap = try reader.array(Self.wrapByteCount)
    }

    /// A new slot for a credential, around the unlock root or a grant's key.
    init(
      id: UInt32, grant: UInt32, in keyring: Keyring, _ credential: borrowing Credential, work: UInt8,
      around key: borrowing Secret
    ) throws(CryptoError) {
      guard Self.works.contains(work) else { throw .limitExceeded(.workFactor) }
      let isPassword = credential.kind == .password
      (kind, self.id, self.grant, rootGeneration) = (credential.kind, id, grant, keyring.rootGeneration)
      logN = isPassword ? work : 0
      salt = isPassword ? try Secret.randomBytes(Self.saltSize) : [UInt8](repeating: 0, count: Self.saltSize)
      let slotKey = try credential.slotKey(salt: salt, logN: logN, storeID: keyring.storeID)
      try wrap(key, under: slotKey, storeID: keyring.storeID)
    }

    /// What it wraps.
    ///
    /// - Throws: ``CryptoError/wrongKey`` where the credential is not this slot's,
    ///   ``CryptoError/tamperedSlot(_:)`` where it is and the slot was altered.
    func open(_ credential: borrowing Credential, storeID: ID16) throws(CryptoError) -> Secret {
      let key = try credential.slotKey(salt: salt, logN: logN, storeID: storeID)
      do throws(CryptoError) { return try unwrap(under: key, storeID: storeID) } catch {
        throw error == .tampered ? .tamperedSlot(id) : error
      }
    }
  }
}
