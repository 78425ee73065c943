// What opens a store's keys.

import NotelogBase
import Foundation
import NotelogCrypto
import NotelogJournal

/// A secret that one of the keyring's slots accepts.
public enum Credential: Sendable {
  /// A password. It is brought into Unicode's normal form C, so that it doesn't depend on the keyboard.
  case password(String)
  /// 32 random bytes, kept by the app: in a keychain, for instance.
  case key([UInt8])
  /// The 32 bytes of a recovery key that somebody wrote down.
  case recoveryKey([UInt8])

  /// Runs `body` on the secret in memory of its own.
  func withSecret<Result>(
    _ place: String, _ body: (borrowing NotelogCrypto.Credential) throws(CryptoError) -> Result
  ) throws(NotelogError) -> Result {
    try naming(place) { () throws(CryptoError) in
      switch self {
      case .password(let text):
        let credential = NotelogCrypto.Credential.password(
          try Secret(utf8: text.precomposedStringWithCanonicalMapping))
        return try body(credential)
      case .key(let bytes):
        let credential = NotelogCrypto.Credential.rawKey(try Secret(copying: bytes.rawSpan))
        return try body(credential)
      case .recoveryKey(let bytes):
        let credential = NotelogCrypto.Credential.recoveryKey(try Secret(copying: bytes.rawSpan))
        return try body(credential)
      }
    }
  }
}

extension Credential: CustomStringConvertible {
  /// The kind of secret, and nothing of the secret.
  public var description: String {
    switch self {
    case .password: "a password"
    case .key: "a key"
    case .recoveryKey: "a recovery key"
    }
  }
}
