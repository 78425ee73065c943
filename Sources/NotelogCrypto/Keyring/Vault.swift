// A keyring together with what of it is unlocked.

package final class Vault: Sendable {
  /// What ``lock(_:)`` closes.
  package enum LockScope: Sendable {
    /// The unlock root and the keys of the class `whenUnlocked`.
    case whenUnlocked
    /// All keys.
    case everything
  }

  package init(_ keyring: Keyring, nonces: NonceSource) {
  }

  /// The keyring in force: slots, keys and classes, without any secret.
  package var keyring: Keyring { fatalError("to come") }
  /// Counts the locks; what was opened earlier belongs to an earlier epoch.
  package var lockEpoch: UInt64 { 0 }
  package var isUnlocked: Bool { false }

  package func unlock(_ credential: borrowing Credential) throws(CryptoError) { throw .library }
  package func lock(_ scope: LockScope = .whenUnlocked) {}

  /// The key, ready to use. Throws `locked(class)` or `missingKey(reference)`.
  package func sealingKey(_ reference: KeyReference) throws(CryptoError) -> SealingKey { throw .library }
  /// The generation of a named key that new values are sealed under.
  package func currentReference(ofKeyNamed name: String) throws(CryptoError) -> KeyReference { throw .library }
  /// A key's name, nil while names are locked.
  package func name(of reference: KeyReference) -> String? { nil }

  /// A change of the keyring, not yet in force: write `bytes` to both files, then ``adopt(_:)`` it.
  package struct Change: Sendable {
    package let keyring: Keyring
    package var bytes: [UInt8] { keyring.bytes }
  }
  package func addingSlot(_ credential: borrowing Credential, work: WorkFactor = .standard) throws(CryptoError) -> Change
  { throw .library }
  package func changingSlot(_ slot: UInt32, to credential: borrowing Credential, work: WorkFactor = .standard)
    throws(CryptoError) -> Change
  { throw .library }
  package func removingSlot(_ slot: UInt32) throws(CryptoError) -> Change { throw .library }
  /// A new named key, of generation 1.
  package func addingKey(named name: String, class: AccessClass) throws(CryptoError) -> Change { throw .library }
  /// A further generation of a named key, which new values are sealed under from then on.
  package func addingGeneration(ofKeyNamed name: String) throws(CryptoError) -> Change { throw .library }
  /// Puts a change into force, after its bytes are safe on disk.
  package func adopt(_ change: Change) {}

  /// The MAC (32 bytes, HMAC-SHA256) of the stored schema, under a key derived from the unlock root.
  package func schemaMAC(_ schema: RawSpan) throws(CryptoError) -> [UInt8] { throw .library }
  /// Whether a stored schema carries the right MAC; compared in constant time.
  package func verifySchemaMAC(_ mac: RawSpan, of schema: RawSpan) throws(CryptoError) -> Bool { throw .library }
}
