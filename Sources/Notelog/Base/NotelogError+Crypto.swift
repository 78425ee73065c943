// What the sealing layer refuses, in the words of whoever reads the message.

import NotelogCrypto

extension NotelogError {
  /// The public error for one of the sealing layer's. The place says what was being done to what, such as "note.title of
  /// record 12…".
  init(crypto error: CryptoError, _ place: String) {
    switch error {
    case .wrongPassword:
      self.init(.wrongPassword, "\(place): no password slot opens with this password")
    case .wrongKey:
      self.init(.wrongPassword, "\(place): no key slot opens with this key")
    case .tamperedSlot(let slot):
      self.init(
        .tampered,
        "\(place): slot \(slot) of the keyring was altered; try another password or the recovery key")
    case .tamperedKeyring:
      self.init(.tampered, "\(place): the keyring was altered; restore it from a backup")
    case .damagedKeyring(let damage):
      self.init(.damaged, "\(place): the keyring is damaged (\(damage)); restore it from a backup")
    case .locked(let accessClass):
      self.init(.locked, "\(place): its key (\(accessClass)) is locked; unlock the store")
    case .lockedMeanwhile:
      self.init(.locked, "\(place): the store was locked meanwhile")
    case .tamperedSchema:
      self.init(.tampered, "\(place): a schema was altered; restore the store from a backup")
    case .rootLocked:
      self.init(.locked, "\(place): the store is locked; unlock it")
    case .missingKey(let reference):
      self.init(.missingKey, "\(place): the keyring has no \(reference)")
    case .unknownKeyName:
      self.init(.missingKey, "\(place): the keyring has no key of this name")
    case .duplicateKeyName:
      self.init(.alreadyExists, "\(place): there is a key of this name already")
    case .missingSlot(let slot):
      self.init(.notFound, "\(place): the keyring has no slot \(slot)")
    case .lastSlot:
      self.init(
        .invalidArgument, "\(place): the last slot can't be removed, nobody could unlock the store any more")
    case .tampered:
      self.init(.tampered, "\(place): the value was altered, or moved here from elsewhere")
    case .unsupported(let what):
      self.init(.unsupportedVersion, "\(place): this version doesn't know \(what)")
    case .limitExceeded(let limit):
      self.init(.limitExceeded, "\(place): the limit on \(limit) is exceeded")
    case .forked:
      self.init(.closed, "\(place): the process was forked since the store was opened; open it again")
    case .outOfMemory:
      self.init(.inputOutput, "\(place): no memory for a secret")
    case .noRandomness:
      self.init(.inputOutput, "\(place): the system gives no random bytes")
    case .library:
      self.init(.inputOutput, "\(place): the cryptographic library failed")
    }
  }
}

/// Runs `body`, its errors named by the place.
func naming<Result: ~Copyable>(
  _ place: @autoclosure () -> String, _ body: () throws(CryptoError) -> Result
) throws(NotelogError) -> Result {
  do { return try body() } catch { throw NotelogError(crypto: error, place()) }
}
