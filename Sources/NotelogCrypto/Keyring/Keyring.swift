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
  package internal(set) var generation: UInt64
  /// Which unlock root the slots wrap.
  var rootGeneration: UInt32
  /// The next key reference; references are never given out twice.
  var nextKeyReference: UInt32
  /// The next slot's id, and the next wrapping key's number; never given out twice either.
  var nextSlotID: UInt32
  var nextWrappingNumber: UInt16
  /// What the revisions of the stored schemas add up to, at least.
  package internal(set) var schemaRevisions: UInt64 = 0
  /// By ascending id.
  package internal(set) var slots: [Slot]
  /// By ascending number, and then parent.
  var wrappingKeys: [WrappingKey]
  /// By ascending number.
  package internal(set) var namedKeys: [NamedKey]
  /// By ascending reference, and then wrapping key.
  package internal(set) var dataKeys: [DataKey]
  /// HMAC-SHA256 under a key from the unlock root, over everything before it.
  var mac: [UInt8] = []
  /// SHA-256 of everything before it, the MAC included: finds damage without a key.
  var digest: [UInt8] = []
  /// As it is written to disk.
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

  /// Whether a generation's named key was shredded.
  package func isShredded(_ row: DataKey) -> Bool { namedKey(row.number)?.isShredded == true }

  /// A named key.
  package func namedKey(_ number: UInt16) -> NamedKey? {
    namedKeys.find(UInt32(number)) { UInt32($0.number) }
  }
}
