// The keyring as it stands on disk: slots, wrapped keys, sealed names (FORMAT.md 10).

package struct Keyring: Sendable {
  package let storeID: Bytes16
  /// Which of two copies is newer; grows with each change.
  package private(set) var generation: UInt64

  /// Reads a keyring; refuses what is damaged or unknown, before any work.
  package init(parsing bytes: [UInt8]) throws(CryptoError) { throw .library }
  /// As it is written to disk.
  package var bytes: [UInt8] { [] }

  /// A new keyring with one slot, unlocked in the vault returned.
  package static func create(
    storeID: Bytes16, credential: borrowing Credential, work: WorkFactor = .standard, nonces: NonceSource
  ) throws(CryptoError) -> Vault { throw .library }

  /// Which of two copies counts, and what was wrong.
  package struct Choice: Sendable {
    package enum Finding: Equatable, Sendable {
      case bothSound, copyOlder, keyringOlder, copyUnreadable(CryptoError), keyringUnreadable(CryptoError)
      case disagree
    }
    package let keyring: Keyring
    package let finding: Finding
    /// The other one, where it is sound and differs: tried where the chosen one turns out to be tampered with.
    package let other: Keyring?
  }
  /// Chooses the newer of `keyring` and `keyring.copy`; nil is a file that isn't there.
  package static func choose(_ keyring: [UInt8]?, copy: [UInt8]?) throws(CryptoError) -> Choice { throw .library }
}
