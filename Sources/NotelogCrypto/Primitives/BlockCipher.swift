// The bare AES-256 block cipher, through OpenSSL 3.0's EVP. An Apple build would put CommonCrypto behind this file's
// interface.

import COpenSSL

/// AES-256 under one key, a block at a time and without a mode, for deriving keys.
@safe struct BlockCipher: ~Copyable {
  // SAFETY: fetched once and never freed; OpenSSL counts references to it atomically.
  /// Fetched once: fetching costs 200 ns, and the implicit fetch of older calls contends between threads.
  @unsafe private nonisolated(unsafe) static let cipher: OpaquePointer? = unsafe EVP_CIPHER_fetch(
    nil, "AES-256-ECB", nil)

  private let context: OpaquePointer

  /// - Parameter key: Thirty-two bytes.
  /// - Throws: ``CryptoError/outOfMemory``, ``CryptoError/library``.
  init(key: UnsafePointer<UInt8>) throws(CryptoError) {
    // SAFETY: a new context is this value's alone; the key has the cipher's size, ECB takes no IV.
    guard let context = unsafe EVP_CIPHER_CTX_new() else { throw .outOfMemory }
    // SAFETY: the context is new, the key has the cipher's size, ECB takes no IV.
    guard unsafe EVP_EncryptInit_ex2(context, Self.cipher, key, nil, nil) == 1,
      unsafe EVP_CIPHER_CTX_set_padding(context, 0) == 1
    else {
      unsafe EVP_CIPHER_CTX_free(context)
      throw .library
    }
    unsafe self.context = unsafe context
  }

  deinit {
    // SAFETY: ours alone; OpenSSL cleanses the key schedule as it frees it.
    unsafe EVP_CIPHER_CTX_free(context)
  }

  /// Encrypts whole blocks.
  @inline(__always) borrowing func encrypt(
    _ input: UnsafeRawPointer, to output: UnsafeMutableRawPointer, byteCount: Int32
  ) -> Bool {
    var written: Int32 = 0
    // SAFETY: both hold `byteCount` bytes, a multiple of sixteen; without padding exactly as many come out.
    return unsafe EVP_EncryptUpdate(
      context, output.assumingMemoryBound(to: UInt8.self), &written,
      input.assumingMemoryBound(to: UInt8.self), byteCount) == 1
  }
}
