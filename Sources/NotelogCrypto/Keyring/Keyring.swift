// The keyring as it stands on disk: slots, wrapped keys, sealed names (FORMAT.md 10).

package import NotelogBase

/// Everything that the keyring's file says; no secret is in it, so it can be read and shown while locked.
///
/// A value: a change makes a new one, of the next generation, and the ``Vault`` seals it with its MAC.
package struct Keyring: Equatable, Sendable {
  package static let version: UInt16 = 1
  package static let slotsMax = 8 + 8
  package static let passwordSlotsMax = 8
  package static let namedKeysMax = 65_535
  package static let dataKeysMax = 131_072
  package static let keyNameByteCountMax = 63
  /// What is read at most: header, every table at its limit, digest and MAC.
  package static let byteCountMax =
    Header.byteCount + slotsMax * Slot.byteCount + classKeysMax * ClassKey.byteCount
    + namedKeysMax * NamedKey.byteCount + dataKeysMax * DataKey.byteCount + digestSize + macSize

  static let classKeysMax = 7
  static let magic = Array("NLkeys\r\n".utf8)
  static let digestSize = 32
  static let macSize = 32

  /// The sizes of the header and the tables' entries.
  enum Header { static let byteCount = 64 }

  /// Which store it belongs to.
  package let storeID: ID16
  /// Which of two copies is newer; grows with each change.
  package internal(set) var generation: UInt64
  /// Which unlock root the slots wrap.
  var rootGeneration: UInt32
  /// The next key reference; references are never given out twice.
  var nextKeyReference: UInt32
  /// The next slot's id; never given out twice either.
  var nextSlotID: UInt32
  /// By ascending id.
  package internal(set) var slots: [Slot]
  /// By ascending class.
  var classKeys: [ClassKey]
  /// By ascending number.
  package internal(set) var namedKeys: [NamedKey]
  /// By ascending reference.
  package internal(set) var dataKeys: [DataKey]
  /// HMAC-SHA256 under a key from the unlock root, over everything before it.
  var mac: [UInt8]
  /// SHA-256 of everything before it, the MAC included: finds damage without a key.
  var digest: [UInt8]

  /// One generation of a named key.
  package func dataKey(_ reference: KeyReference) -> DataKey? {
    dataKeys.find(reference.rawValue) { $0.reference.rawValue }
  }
}
