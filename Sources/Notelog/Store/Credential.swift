// What opens a store's keys.

import NotelogBase
import Foundation
import NotelogCrypto
import NotelogJournal

/// A secret that one of the keyring's slots accepts.
public enum Credential: Sendable {
  /// A password, which is not empty. It is brought into Unicode's normal form C, so that it doesn't depend on the keyboard.
  case password(String)
  /// 32 random bytes, kept by the app: in a keychain, for instance.
  case key([UInt8])
  /// The 32 bytes of a recovery key that somebody wrote down.
  case recoveryKey([UInt8])

  /// Refuses a password that is none, where it would become one. A store that has it already is opened with it.
  func refuseEmpty(_ place: String) throws(NotelogError) {
    guard case .password("") = self else { return }
    var error = NotelogError(.invalidArgument, "\(place): a password must not be empty")
    error.sentence = "A password must not be empty."
    throw error
  }

  /// Refuses what is no secret of its kind, in words that say what one is.
  private func checkSize(_ place: String) throws(NotelogError) {
    switch self {
    case .password(let text):
      guard text.utf8.count > NotelogCrypto.Credential.passwordByteCountMax else { return }
      throw NotelogError(
        .limitExceeded,
        "\(place): a password has at most \(NotelogCrypto.Credential.passwordByteCountMax) bytes of UTF-8")
    case .key(let bytes), .recoveryKey(let bytes):
      let size = NotelogCrypto.Credential.keySize
      guard bytes.count != size else { return }
      throw NotelogError(
        .limitExceeded, "\(place): \(self) has exactly \(size) bytes, this one has \(bytes.count)")
    }
  }

  /// Runs `body` on the secret in memory of its own.
  func withSecret<Result>(
    _ place: String, _ body: (borrowing NotelogCrypto.Credential) throws(CryptoError) -> Result
  ) throws(NotelogError) -> Result {
    try checkSize(place)
    return try naming(place) { () throws(CryptoError) in
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
