// Everything that this module refuses, told apart (docs/format-keyring.md 10.8).

/// Why a cryptographic operation did not happen.
///
/// Each case is a different situation for whoever reads the message: a password typed wrongly, a slot that
/// somebody altered, a key that is locked, a key that isn't there, a value that does not belong where it was
/// found.
package enum CryptoError: Error, Equatable, Sendable {
  /// No password slot accepts this password. A slot whose salt or work factor was altered reads like this
  /// too.
  case wrongPassword
  /// No slot accepts this raw key or recovery key.
  case wrongKey
  /// The secret is the right one for this slot, but the slot was altered.
  case tamperedSlot(UInt32)
  /// The keyring's own MAC, or a wrap or name in it, does not verify although the unlock root is right.
  case tamperedKeyring
  /// The keyring's bytes are not a keyring: too short, a wrong digest, a field outside its range.
  case damagedKeyring(KeyringDamage)
  /// The key is there, and its access class is locked.
  case locked(AccessClass)
  /// Somebody locked the vault while it was being unlocked.
  case lockedMeanwhile
  /// The store was closed, and its keys were wiped for good.
  case closed
  /// A stored schema, by its place among those given, does not bear its MAC.
  case tamperedSchema(Int)
  /// The operation changes the keyring, or needs the unlock root, and the root is locked.
  case rootLocked
  /// No such key in the keyring.
  case missingKey(KeyReference)
  /// The key can be opened on the device only that it was made on.
  case elsewhere(KeyReference)
  /// The effaceable secret is not there that the key can't be opened without.
  case effaced(KeyReference)
  /// The key was shredded.
  case shredded
  /// A key that is to be used on this device only is granted to nobody.
  case boundToDevice
  /// This device has no secret, and none could be made.
  case noDeviceSecret
  /// No key of this name in the keyring.
  case unknownKeyName
  /// A key of this name is there already.
  case duplicateKeyName
  /// No such slot in the keyring.
  case missingSlot(UInt32)
  /// The last slot cannot be removed: nobody could unlock the store any more.
  case lastSlot
  /// The value does not authenticate: altered, moved from elsewhere, or sealed under another key.
  case tampered
  /// A suite, version, algorithm or access class that this version does not know.
  case unsupported(Unsupported)
  /// A length, count or work factor outside its limit; refused before any work is done.
  case limitExceeded(CryptoLimit)
  /// The process was forked since: secrets and nonces are gone in the child, on purpose.
  case forked
  /// The system gave no memory for a secret.
  case outOfMemory
  /// The system gave no random bytes.
  case noRandomness
  /// The cryptographic library failed where it has no reason to.
  case library

  /// What in a keyring's bytes is wrong.
  package enum KeyringDamage: Equatable, Sendable {
    case length, magic, digest, reserved, order, range, otherStore
  }

  /// What this version does not know.
  package enum Unsupported: Equatable, Sendable {
    case keyringVersion(UInt16)
    case suite(UInt8)
    case accessClass(UInt8)
  }

  /// Which limit was exceeded.
  package enum CryptoLimit: Equatable, Sendable {
    case plaintext, additionalData, workFactor, slots, namedKeys, keyGenerations, keyName, keyringSize, secret
  }
}
