// The keyring's tables of keys: wrapping keys, named keys, data keys (docs/format-keyring.md 10.4 to 10.6).

import NotelogBase

extension Keyring {
  /// A key that wraps data keys: that of an access class, or of a grant; or, in a key's place, the digest of the schemas as they were before the
  /// root was changed.
  struct WrappingKey: WrappedKey, Equatable, Sendable {
    static let domain = "NL1class"
    static let byteCount = 24 + KeyWrap.byteCount
    /// What is no access class's.
    static let (grantRole, formerSchemasRole): (UInt8, UInt8) = (0, 7)

    let number: UInt32
    /// The access class, or one of the above.
    let role: UInt8
    let parent: UInt8
    let rootGeneration: UInt32
    var wrap = KeyWrap.none

    var accessClass: AccessClass? { AccessClass(rawValue: role) }

    var header: [UInt8] {
      var bytes: [UInt8] = []
      bytes.append(littleEndian: number)
      bytes += [role, parent, Suite.wraps.rawValue, 0]
      bytes.append(littleEndian: rootGeneration)
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
    package internal(set) var current: KeyReference
    var sealedName: [UInt8]

    static func additionalData(number: UInt16, _ accessClass: AccessClass, storeID: ID16) -> [UInt8] {
      var bytes = Array("NL1kname".utf8)
      bytes.append(littleEndian: number)
      bytes += [accessClass.rawValue, 0, 0, 0, 0, 0]
      return bytes + storeID.array
    }

    func append(to bytes: inout [UInt8]) {
      bytes.append(littleEndian: number)
      bytes += [accessClass.rawValue, (isEffaceable ? 1 : 0) | (isShredded ? 2 : 0)]
      bytes.append(littleEndian: current.rawValue)
      bytes += sealedName
    }
  }

  /// One generation of a named key, wrapped under its class's key, or under a grant's.
  package struct DataKey: WrappedKey, Equatable, Sendable {
    static let domain = "NL1dkey\0"
    static let byteCount = 24 + KeyWrap.byteCount

    package let reference: KeyReference
    package let accessClass: AccessClass
    /// The named key it belongs to.
    package let number: UInt16
    package let generation: UInt32
    /// The number of the key that wraps it.
    var wrappingKey: UInt32
    let isEffaceable: Bool
    var wrap = KeyWrap.none

    var header: [UInt8] {
      var bytes: [UInt8] = []
      bytes.append(littleEndian: reference.rawValue)
      bytes += [accessClass.rawValue, Suite.wraps.rawValue]
      bytes.append(littleEndian: number)
      bytes.append(littleEndian: generation)
      bytes.append(littleEndian: wrappingKey)
      bytes += [isEffaceable ? 1 : 0]
      bytes.append(zeros: 7)
      return bytes
    }

    /// What both tables ascend by.
    var order: UInt64 { UInt64(reference.rawValue) << 32 | UInt64(wrappingKey) }

    /// The row of a key that was shredded: it tells whose the reference was.
    func withoutKey(_ wrappingKey: UInt32) -> DataKey {
      var row = self
      (row.wrappingKey, row.wrap) = (wrappingKey, .none)
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
    wrap = KeyWrap(bytes: try reader.array(KeyWrap.byteCount))
  }

  /// What both tables ascend by.
  var order: UInt64 { UInt64(number) << 8 | UInt64(parent) }
}

extension Keyring.NamedKey {
  init(_ reader: inout KeyringCursor) throws(CryptoError) {
    number = try reader.integer()
    accessClass = try AccessClass(&reader)
    let flags = try reader.flags(upTo: 3)
    (isEffaceable, isShredded) = (flags & 1 != 0, flags & 2 != 0)
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
    wrap = KeyWrap(bytes: try reader.array(KeyWrap.byteCount))
  }
}

/// Reads a keyring.
typealias KeyringCursor = ByteCursor<CryptoError>

extension KeyringCursor {
  /// The suite of a wrap, which must be the one there is.
  mutating func wrapSuite() throws(CryptoError) {
    let suite = try integer(as: UInt8.self)
    guard suite == Suite.wraps.rawValue else { throw .unsupported(.suite(suite)) }
  }

  /// Flags, of which none but these are known.
  mutating func flags(upTo known: UInt8) throws(CryptoError) -> UInt8 {
    let flags = try integer(as: UInt8.self)
    guard flags <= known else { throw .damagedKeyring(.reserved) }
    return flags
  }
}
