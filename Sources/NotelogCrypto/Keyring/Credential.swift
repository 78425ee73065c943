// What unlocks a keyring (FORMAT.md 10.3).

/// A secret that a slot accepts.
package enum Credential: ~Copyable, Sendable {
  /// The UTF-8 bytes of a password, in Unicode normalisation form C (the caller's business).
  case password(Secret)
  /// Thirty-two random bytes kept by the app, in a keychain for instance.
  case rawKey(Secret)
  /// The thirty-two bytes behind a recovery key that somebody wrote down.
  case recoveryKey(Secret)
}
