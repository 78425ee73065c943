// What the sealing layer refuses, in the words of whoever reads the message.

import NotelogCrypto

extension NotelogError {
  /// The public error for one of the sealing layer's. The place says what was being done to what, such as "note.title of
  /// record 12…".
  init(crypto error: CryptoError, _ place: String) {
    let (code, words): (Code, String) =
      switch error {
      case .wrongPassword: (.wrongPassword, "the password is not right")
      case .wrongKey: (.wrongPassword, "the key is not right")
      case .tamperedSlot(let slot):
        (.tampered, "slot \(slot) of the keyring was altered; try another password or the recovery key")
      case .tamperedKeyring: (.tampered, "the keyring was altered; restore it from a backup")
      case .damagedKeyring(let damage):
        (.damaged, "the keyring is damaged (\(damage)); restore it from a backup")
      case .locked(let accessClass): (.locked, "its key (\(accessClass)) is locked; unlock the store")
      case .lockedMeanwhile: (.locked, "the store was locked meanwhile")
      case .tamperedSchema: (.tampered, "a schema was altered; restore the store from a backup")
      case .rootLocked: (.locked, "the store is locked; unlock it")
      case .missingKey(let reference): (.missingKey, "the keyring has no \(reference)")
      case .elsewhere(let reference):
        (.missingKey, "\(reference) stayed on the device that it was made on, and opens there only")
      case .effaced(let reference):
        (
          .missingKey,
          "\(reference) was shredded, or its effaceable file is missing: backups leave it out, so put it here if it is kept"
        )
      case .shredded:
        (.missingKey, "the key was shredded, and what was under it is gone; a new one needs another name")
      case .boundToDevice: (.invalidArgument, "a key that is used on this device only can't be granted")
      case .noDeviceSecret:
        (.inputOutput, "this device's secret can't be read or made; nobody else may be able to read its file")
      case .unknownKeyName: (.notFound, "the store has no key of this name")
      case .duplicateKeyName: (.alreadyExists, "there is a key of this name already")
      case .missingSlot(let slot): (.notFound, "the keyring has no slot \(slot)")
      case .lastSlot:
        (.invalidArgument, "the last slot can't be removed, nobody could unlock the store any more")
      case .tampered: (.tampered, "the value was altered, or moved here from elsewhere")
      case .unsupported(let what): (.unsupportedVersion, "this version doesn't know \(what)")
      case .limitExceeded(let limit): (Self.code(of: limit), Self.words(for: limit))
      case .closed: (.closed, "the store is closed")
      case .forked: (.closed, "the process was forked since the store was opened; open it again")
      case .outOfMemory: (.inputOutput, "no memory for a secret")
      case .noRandomness: (.inputOutput, "the system gives no random bytes")
      case .library: (.inputOutput, "the cryptographic library failed")
      }
    self.init(code, "\(place): \(words)")
    if error == .wrongKey { (sentence, suggestion) = ("The key is not right.", "Try it again.") }
    if error == .unknownKeyName { sentence = "There is no key of this name." }
  }

  /// What the caller chose is not possible; other limits are reached.
  private static func code(of limit: CryptoError.CryptoLimit) -> Code {
    switch limit {
    case .workFactor, .keyName, .secret: .invalidArgument
    case .plaintext, .additionalData, .slots, .namedKeys, .keyGenerations, .keyringSize: .limitExceeded
    }
  }

  private static func words(for limit: CryptoError.CryptoLimit) -> String {
    switch limit {
    case .plaintext: "the value is too long to be sealed"
    case .additionalData: "the name of its field or collection is too long"
    case .workFactor: "the work for a password is an exponent from 14 to 18"
    case .slots: "the store has as many passwords and keys as it can have: remove one first"
    case .namedKeys: "the store has as many named keys as it can have"
    case .keyGenerations: "the keyring was changed too often"
    case .keyName: "the name of a key has 1 to 63 bytes of UTF-8"
    case .keyringSize: "the keyring is longer than any can be"
    case .secret: "the password or key is too long or too short"
    }
  }
}

extension Vault {
  /// The key of a reference; where it can't be used, the error names the place.
  func sealingKey(
    _ reference: UInt32, for place: @autoclosure () -> String
  ) throws(NotelogError) -> SealingKey {
    try naming(place()) { () throws(CryptoError) in try sealingKey(KeyReference(rawValue: reference)) }
  }
}

/// Runs `body`, its errors named by the place.
func naming<Result: ~Copyable>(
  _ place: @autoclosure () -> String, _ body: () throws(CryptoError) -> Result
) throws(NotelogError) -> Result {
  do { return try body() } catch { throw NotelogError(crypto: error, place()) }
}
