// The keyring's tables of keys: class keys, named keys, data keys (FORMAT.md 10.4 to 10.6).

import NotelogBase

extension Keyring {
  /// The key of an access class, wrapped under the unlock root.
  struct ClassKey: WrappedKey, Equatable, Sendable {
    static let domain = "NL1class"
    static let byteCount = 24 + KeyWrap.byteCount
    /// Wrapped under the unlock root. 2 (the device's secret) and 3 (both) are kept for classes to come.
    static let parentRoot: UInt8 = 1

    let accessClass: AccessClass
    let rootGeneration: UInt32
    var wrap = KeyWrap.none

    var header: [UInt8] {
      var bytes = [accessClass.rawValue, Self.parentRoot, Suite.wraps.rawValue, 0]
      bytes.append(littleEndian: rootGeneration)
      bytes.append(zeros: 16)
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
    package internal(set) var current: KeyReference
    let sealedName: [UInt8]

    static func additionalData(number: UInt16, _ accessClass: AccessClass, storeID: ID16) -> [UInt8] {
      var bytes = Array("NL1kname".utf8)
      bytes.append(littleEndian: number)
      bytes += [accessClass.rawValue, 0, 0, 0, 0, 0]
      return bytes + storeID.array
    }

    func append(to bytes: inout [UInt8]) {
      bytes.append(littleEndian: number)
      bytes += [accessClass.rawValue, 0]
      bytes.append(littleEndian: current.rawValue)
      bytes += sealedName
    }
  }

  /// One generation of a named key, wrapped under its class key.
  package struct DataKey: WrappedKey, Equatable, Sendable {
    static let domain = "NL1dkey\0"
    static let byteCount = 24 + KeyWrap.byteCount

    package let reference: KeyReference
    package let accessClass: AccessClass
    /// The named key it belongs to.
    package let number: UInt16
    package let generation: UInt32
    var wrap = KeyWrap.none

    var header: [UInt8] {
      var bytes: [UInt8] = []
      bytes.append(littleEndian: reference.rawValue)
      bytes += [accessClass.rawValue, Suite.wraps.rawValue]
      bytes.append(littleEndian: number)
      bytes.append(littleEndian: generation)
      bytes.append(zeros: 12)
      return bytes
    }
  }
}

extension AccessClass {
  /// Reads a class that this version can use.
  init(_ reader: inout KeyringCursor) throws(CryptoError) {
    let raw = try reader.integer(as: UInt8.self)
    guard let value = AccessClass(rawValue: raw), value.isSupported else {
      throw .unsupported(.accessClass(raw))
    }
    self = value
  }
}

extension Keyring.ClassKey {
  init(_ reader: inout KeyringCursor) throws(CryptoError) {
    accessClass = try AccessClass(&reader)
    let parent = try reader.integer(as: UInt8.self)
    guard parent == Self.parentRoot else { throw .unsupported(.wrapParent(parent)) }
    try reader.wrapSuite()
    try reader.reserved(1)
    rootGeneration = try reader.integer()
    try reader.reserved(16)
    wrap = KeyWrap(bytes: try reader.array(KeyWrap.byteCount))
  }
}

extension Keyring.NamedKey {
  init(_ reader: inout KeyringCursor) throws(CryptoError) {
    number = try reader.integer()
    accessClass = try AccessClass(&reader)
    try reader.reserved(1)
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
    try reader.reserved(12)
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
}
