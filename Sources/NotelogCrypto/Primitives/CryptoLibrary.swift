// What this module asks of a cryptographic library, and which one it is compiled for (decision 0101).

import NotelogBase

/// A cryptographic library: AES-256 under one key, a block at a time; AES-256-GCM under keys that change; and
/// what keys are derived by.
///
/// OpenSSL is one. The tests have another, whose calls have the shape of CryptoKit's, and hold both against
/// the same vectors.
protocol CryptoLibrary: ~Copyable {
  /// - Parameters:
  ///   - key: Thirty-two bytes, for ``encrypt(_:to:byteCount:)``.
  ///   - tag: Sixteen bytes that outlive this value, where ``seal`` leaves a message's tag, and ``open``
  ///     finds it.
  /// - Throws: ``CryptoError/outOfMemory``, ``CryptoError/library``.
  init(key: UnsafePointer<UInt8>, tag: UnsafeMutableRawPointer) throws(CryptoError)

  /// Encrypts whole blocks of sixteen bytes with AES-256, without a mode.
  borrowing func encrypt(
    _ input: UnsafeRawPointer, to output: UnsafeMutableRawPointer, byteCount: Int32
  ) -> Bool

  /// A context of AES-256-GCM, without a key and for one direction.
  ///
  /// - Throws: ``CryptoError/outOfMemory``.
  borrowing func makeContext() throws(CryptoError) -> CipherContext

  /// Seals one message with AES-256-GCM. A nil key keeps the key of the context's message before. The IV has
  /// twelve bytes, the output as many as the plaintext.
  borrowing func seal(
    in context: borrowing CipherContext, key: UnsafePointer<UInt8>?,
    initialisationVector: UnsafePointer<UInt8>, additionalData: UnsafeRawBufferPointer,
    _ plaintext: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer
  ) -> Bool

  /// Opens one message.
  ///
  /// - Returns: Whether it authenticates; where not, `output` may hold unauthenticated bytes that the caller
  ///   wipes.
  borrowing func open(
    in context: borrowing CipherContext, key: UnsafePointer<UInt8>?,
    initialisationVector: UnsafePointer<UInt8>, additionalData: UnsafeRawBufferPointer,
    _ ciphertext: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer
  ) -> Bool

  static func sha256(_ bytes: [UInt8]) throws(CryptoError) -> [UInt8]
  static func hmacSHA256(key: RawSpan, _ message: RawSpan) throws(CryptoError) -> [UInt8]
  /// HKDF-SHA256 (RFC 5869), extract and expand.
  static func hkdfSHA256(_ inputKey: RawSpan, salt: [UInt8], info: [UInt8], byteCount: Int)
    throws(CryptoError) -> Secret
  /// scrypt (RFC 7914). The work factor has been checked by the caller.
  static func scrypt(password: RawSpan, salt: [UInt8], n: UInt64, r: UInt64, p: UInt64, byteCount: Int)
    throws(CryptoError) -> Secret
  /// Compares in a time that says nothing about the bytes.
  static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool
}

/// The library that this module is compiled for.
typealias Crypto = OpenSSL
