// What opens a store's keys.

import NotelogBase
import Foundation
import NotelogCrypto

/// A secret that one of the keyring's slots accepts.
public enum Credential: Sendable {
  /// A password, which is not empty. It is brought into Unicode's normal form C, so that it doesn't depend on the keyboard.
  case password(String)
  /// A password's UTF-8 in memory that is wiped; what is in normal form C already, as most is, is never in a `String`.
  case passwordBytes(SecretBytes)
  /// 32 random bytes, kept by the app: in a keychain, for instance.
  case key([UInt8])
  /// The same 32 bytes in memory that is wiped.
  case keyBytes(SecretBytes)
  /// The 32 bytes of a recovery key that somebody wrote down.
  case recoveryKey([UInt8])
  /// What ``Store/unlockRoot()`` gave, of this store: it unlocks the store, and is in no slot of its keyring.
  case root(SecretBytes)

  /// A recovery key from its text, as `Store.addRecoveryKey()` gave it. Capitals, spaces and hyphens don't matter.
  ///
  /// - Throws: `invalidArgument` where a letter was typed wrongly, left out or exchanged: it says in which group, where that can be told.
  public static func recoveryKey(text: String) throws -> Credential {
    .recoveryKey(try RecoveryText.decode(text))
  }

  /// Refuses a password that is none, where it would become one. A store that has it already is opened with it.
  func refuseEmpty(_ place: String) throws(NotelogError) {
    switch self {
    case .password(""): break
    case .passwordBytes(let bytes) where bytes.byteCount == 0: break
    default: return
    }
    var error = NotelogError(.invalidArgument, "\(place): a password must not be empty")
    error.sentence = "A password must not be empty."
    throw error
  }

  /// Refuses what is no secret of its kind, in words that say what one is.
  private func checkSize(_ place: String) throws(NotelogError) {
    let count: Int
    switch self {
    case .password(let text): count = text.utf8.count
    case .passwordBytes(let bytes), .keyBytes(let bytes), .root(let bytes): count = bytes.byteCount
    case .key(let bytes), .recoveryKey(let bytes): count = bytes.count
    }
    switch self {
    case .password, .passwordBytes:
      guard count > NotelogCrypto.Credential.passwordByteCountMax else { return }
      throw NotelogError(
        .invalidArgument,
        "\(place): a password has at most \(NotelogCrypto.Credential.passwordByteCountMax) bytes of UTF-8")
    case .key, .keyBytes, .recoveryKey:
      let size = NotelogCrypto.Credential.keySize
      guard count != size else { return }
      throw NotelogError(
        .invalidArgument, "\(place): \(self) has exactly \(size) bytes, this one has \(count)")
    case .root: throw NotelogError(.invalidArgument, "\(place): an unlock root is in no slot")
    }
  }

  /// Runs `body` on the secret in memory of its own.
  func withSecret<Result>(
    _ place: String, _ body: (borrowing NotelogCrypto.Credential) throws(CryptoError) -> Result
  ) throws(NotelogError) -> Result {
    try checkSize(place)
    return try naming(place) { () throws(CryptoError) in
      let credential = try copied()
      return try body(credential)
    }
  }

  /// The secret in memory of its own.
  private func copied() throws(CryptoError) -> NotelogCrypto.Credential {
    switch self {
    case .password(let text):
      return NotelogCrypto.Credential.password(
        try Secret(utf8: text.precomposedStringWithCanonicalMapping))
    case .passwordBytes(let bytes): return NotelogCrypto.Credential.password(try bytes.normalizedCopy())
    case .keyBytes(let bytes), .root(let bytes):
      return NotelogCrypto.Credential.rawKey(try bytes.secret.copy())
    case .key(let bytes): return NotelogCrypto.Credential.rawKey(try Secret(copying: bytes.rawSpan))
    case .recoveryKey(let bytes):
      return NotelogCrypto.Credential.recoveryKey(try Secret(copying: bytes.rawSpan))
    }
  }
}

extension Credential: CustomStringConvertible {
  /// The kind of secret, and nothing of the secret.
  public var description: String {
    switch self {
    case .password, .passwordBytes: "a password"
    case .key, .keyBytes: "a key"
    case .recoveryKey: "a recovery key"
    case .root: "an unlock root"
    }
  }
}
