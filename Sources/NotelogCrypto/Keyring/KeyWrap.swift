// One key wrapped under another: KC-XAES-256-GCM (FORMAT.md 10.2).

import NotelogBase

/// An entry of the keyring that has a key in it, wrapped; the other fields are bound into the wrap.
protocol WrappedKey {
  /// Eight bytes that tell entries of this kind from all others.
  static var domain: String { get }
  /// The fields before the wrap, as they are written.
  var header: [UInt8] { get }
  /// The 104 bytes of a wrapped key: `nonce 24 | ciphertext 32 | tag 16 | commitment 32`. The commitment
  /// tells a wrong wrapping key from a damaged wrap, and leaves nobody the choice of a ciphertext that opens
  /// under many passwords.
  var wrap: [UInt8] { get set }
}

extension WrappedKey {
  static var wrapByteCount: Int { 104 }
  /// The place of a wrap that is still to be made.
  static var noWrap: [UInt8] { [UInt8](repeating: 0, count: wrapByteCount) }

  private func additionalData(_ storeID: ID16) -> [UInt8] { Array(Self.domain.utf8) + header + storeID.array }

  /// Wraps the entry's key.
  mutating func wrap(_ key: borrowing Secret, under wrappingKey: borrowing Secret, storeID: ID16)
    throws(CryptoError)
  {
    wrap = try XAES(key: wrappingKey).sealCommitting(
      key.bytes, additionalData: additionalData(storeID), nonce: try Secret.randomBytes(SealedValue.nonceSize)
    )
  }

  /// The entry's key.
  ///
  /// - Throws: ``CryptoError/wrongKey`` where the wrapping key is another, ``CryptoError/tampered`` where it
  ///   is the right one and the wrap, or what it is bound to, was altered.
  func unwrap(under wrappingKey: borrowing Secret, storeID: ID16) throws(CryptoError) -> Secret {
    try XAES(key: wrappingKey).openCommitting(wrap, additionalData: additionalData(storeID))
  }

  func append(to bytes: inout [UInt8]) { bytes += header + wrap }
}

extension XAES {
  private static var commitmentSize: Int { 32 }

  /// KC-XAES-256-GCM: the sealed value, with the commitment behind the tag.
  borrowing func sealCommitting(_ plaintext: RawSpan, additionalData: [UInt8], nonce: [UInt8])
    throws(CryptoError) -> [UInt8]
  {
    try sealWhole(plaintext, additionalData: additionalData, nonce: nonce) + commitment(to: Self.words(nonce))
  }

  /// The plaintext, if the commitment is this key's and the value authenticates.
  borrowing func openCommitting(_ sealed: [UInt8], additionalData: [UInt8]) throws(CryptoError) -> Secret {
    guard sealed.count >= SealedValue.overhead + Self.commitmentSize else { throw .tampered }
    let split = sealed.count - Self.commitmentSize
    let expected = try commitment(to: Self.words(Array(sealed[0..<SealedValue.nonceSize])))
    guard OpenSSL.areEqual(expected, Array(sealed[split...])) else { throw .wrongKey }
    return try openWhole(Array(sealed[..<split]), additionalData: additionalData)
  }

  /// Seals under a given nonce, into new memory. For wraps, names and tests; not a hot path.
  borrowing func sealWhole(_ plaintext: RawSpan, additionalData: [UInt8], nonce: [UInt8]) throws(CryptoError)
    -> [UInt8]
  {
    let words = Self.words(nonce)
    var output = [UInt8](repeating: 0, count: plaintext.byteCount + SealedValue.overhead)
    // SAFETY: the output has the plaintext's length and forty bytes.
    let failure = unsafe additionalData.withUnsafeBytes { additionalData in
      unsafe seal(plaintext.buffer, additionalData: additionalData, nonce: words, to: &output)
    }
    if let failure { throw failure }
    return output
  }

  /// Opens into new secret memory.
  borrowing func openWhole(_ sealed: [UInt8], additionalData: [UInt8]) throws(CryptoError) -> Secret {
    guard sealed.count >= SealedValue.overhead else { throw .tampered }
    let count = sealed.count - SealedValue.overhead
    let secret = try Secret(byteCount: count, in: memory)
    // SAFETY: the secret has the sealed value's length less forty bytes.
    let failure = unsafe sealed.withUnsafeBytes { sealed in
      unsafe additionalData.withUnsafeBytes { additionalData in
        let target = unsafe UnsafeMutableRawBufferPointer(start: secret.pointer, count: count)
        return unsafe open(sealed, additionalData: additionalData, to: target)
      }
    }
    if let failure { throw failure }
    return secret
  }

  /// A nonce as three little-endian words.
  static func words(_ nonce: [UInt8]) -> InlineArray<3, UInt64> {
    precondition(nonce.count == SealedValue.nonceSize)
    return InlineArray { word in (0..<8).reduce(0) { $0 | UInt64(nonce[8 * word + $1]) << UInt64(8 * $1) } }
  }
}

// MARK: - What unlocks a keyring (docs/format-keyring.md 10.3).

/// A secret that a slot accepts.
package struct Credential: ~Copyable, Sendable {
  package static let keySize = 32
  package static let passwordByteCountMax = 4096

  /// The kind of slot that takes it.
  package let kind: Keyring.Slot.Kind
  private let secret: Secret

  /// The UTF-8 bytes of a password, in Unicode normalisation form C (the caller's business).
  package static func password(_ secret: consuming Secret) -> Credential {
    Credential(kind: .password, secret: secret)
  }

  /// Thirty-two random bytes kept by the app, in a keychain for instance.
  package static func rawKey(_ secret: consuming Secret) -> Credential {
    Credential(kind: .rawKey, secret: secret)
  }

  /// The thirty-two bytes behind a recovery key that somebody wrote down.
  package static func recoveryKey(_ secret: consuming Secret) -> Credential {
    Credential(kind: .recoveryKey, secret: secret)
  }

  package var byteCount: Int { secret.byteCount }

  /// What is thrown where no slot accepts it.
  var refusal: CryptoError { kind == .password ? .wrongPassword : .wrongKey }

  /// Refuses a password too long and a key that is no key, before any work.
  borrowing func checkSize() throws(CryptoError) {
    guard kind == .password ? byteCount <= Self.passwordByteCountMax : byteCount == Self.keySize else {
      throw .limitExceeded(.secret)
    }
  }

  /// The key that wraps the unlock root in a slot: HKDF over the key itself, or over scrypt of the password.
  borrowing func slotKey(salt: [UInt8], logN: UInt8, storeID: ID16) throws(CryptoError) -> Secret {
    try checkSize()
    let info = Array("NL1/kek".utf8) + [kind.rawValue]
    guard kind == .password else {
      return try OpenSSL.hkdfSHA256(secret.bytes, salt: storeID.array, info: info)
    }
    let stretched = try OpenSSL.scrypt(
      password: secret.bytes, salt: Array("NL1/pw".utf8) + salt, n: 1 << UInt64(logN))
    return try OpenSSL.hkdfSHA256(stretched.bytes, salt: storeID.array, info: info)
  }
}
