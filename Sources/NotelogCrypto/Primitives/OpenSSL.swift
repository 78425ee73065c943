// The primitives that everything here stands on, through OpenSSL 3.0's EVP: AES-256 blocks, AES-256-GCM,
// SHA-256, HMAC, HKDF, scrypt. An Apple build would put CryptoKit and CommonCrypto behind this file's
// interface.

import COpenSSL

/// The ciphers, fetched once: fetching costs 200 ns, and the implicit fetch of older calls contends between
/// threads.
enum Cipher {
  // SAFETY: fetched once and never freed; OpenSSL counts references to it atomically.
  /// AES-256 in ECB mode: the bare block cipher, for deriving keys.
  @unsafe nonisolated(unsafe) static let blocks: OpaquePointer? = unsafe EVP_CIPHER_fetch(
    nil, "AES-256-ECB", nil)
  // SAFETY: as above.
  /// AES-256-GCM.
  @unsafe nonisolated(unsafe) static let gcm: OpaquePointer? = unsafe EVP_CIPHER_fetch(
    nil, "AES-256-GCM", nil)
}

/// The name of an OpenSSL parameter. Parameters keep the pointer, so it must be a literal's, which lives for
/// ever.
private func parameterName(_ name: StaticString) -> UnsafePointer<CChar> {
  // SAFETY: a static string's bytes end with a zero.
  unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
}

/// The bare AES-256 block cipher under one key.
@safe
struct BlockCipher: ~Copyable {
  private let context: OpaquePointer

  /// - Parameter key: Thirty-two bytes.
  /// - Throws: ``CryptoError/outOfMemory``, ``CryptoError/library``.
  init(key: UnsafePointer<UInt8>) throws(CryptoError) {
    // SAFETY: a new context is this value's alone; the key has the cipher's size, ECB takes no IV.
    guard let context = unsafe EVP_CIPHER_CTX_new() else { throw .outOfMemory }
    // SAFETY: the context is new, the key has the cipher's size, ECB takes no IV.
    guard unsafe EVP_EncryptInit_ex2(context, Cipher.blocks, key, nil, nil) == 1,
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
  @inline(__always)
  borrowing func encrypt(_ input: UnsafeRawPointer, to output: UnsafeMutableRawPointer, byteCount: Int32)
    -> Bool
  {
    var written: Int32 = 0
    // SAFETY: both hold `byteCount` bytes, a multiple of sixteen; without padding exactly as many come out.
    return unsafe EVP_EncryptUpdate(
      context, output.assumingMemoryBound(to: UInt8.self), &written,
      input.assumingMemoryBound(to: UInt8.self), byteCount) == 1
  }
}

/// AES-256-GCM in one direction, to be keyed again and again.
///
/// Traps of OpenSSL 3.0 that this type is built around: a key without an IV on a fresh context takes a random
/// IV, silently, so each `start` gives an IV; an opening context keeps the tag of the message before, so each
/// `open` sets one; a tag of one byte is accepted, so the tag's size is part of the prepared parameter.
/// Passing the cipher again costs a contended reference count, so it is passed once, here.
@safe
struct GaloisCounterMode: ~Copyable {
  private let context: OpaquePointer
  /// The tag as an OpenSSL parameter, ended by an empty one; it points to `tag`.
  private let parameters: UnsafeMutablePointer<OSSL_PARAM>

  /// - Parameters:
  ///   - sealing: The direction, for good.
  ///   - tag: Sixteen bytes that outlive this value, where tags are put and found.
  /// - Throws: ``CryptoError/outOfMemory``, ``CryptoError/library``.
  init(sealing: Bool, tag: UnsafeMutableRawPointer) throws(CryptoError) {
    // SAFETY: a new context is this value's alone, given its cipher only; key and IV follow with each
    // message.
    guard let context = unsafe EVP_CIPHER_CTX_new() else { throw .outOfMemory }
    // SAFETY: a new context, given its cipher only; key and IV follow with each message.
    let set =
      sealing
      ? unsafe EVP_EncryptInit_ex2(context, Cipher.gcm, nil, nil, nil)
      : unsafe EVP_DecryptInit_ex2(context, Cipher.gcm, nil, nil, nil)
    guard set == 1 else {
      unsafe EVP_CIPHER_CTX_free(context)
      throw .library
    }
    unsafe self.context = unsafe context
    unsafe parameters = UnsafeMutablePointer<OSSL_PARAM>.allocate(capacity: 2)
    let name = unsafe parameterName("tag")
    // SAFETY: the name lives for ever, and the tag outlives this value.
    unsafe parameters.initialize(to: OSSL_PARAM_construct_octet_string(name, tag, SealedValue.tagSize))
    unsafe (parameters + 1).initialize(to: OSSL_PARAM_construct_end())
  }

  deinit {
    // SAFETY: ours alone; OpenSSL cleanses key schedule and hash key as it frees them.
    unsafe EVP_CIPHER_CTX_free(context)
    unsafe parameters.deallocate()
  }

  /// One message, its tag left where the parameter points. A nil key keeps the key of the message before.
  @inline(__always)
  borrowing func seal(
    key: UnsafePointer<UInt8>?, initialisationVector: UnsafePointer<UInt8>,
    additionalData: UnsafeRawBufferPointer, _ plaintext: UnsafeRawBufferPointer,
    to output: UnsafeMutableRawPointer
  ) -> Bool {
    var count: Int32 = 0
    // SAFETY: the IV has twelve bytes, the output room for the plaintext's length, and the callers have
    // checked both lengths against limits far below Int32.max.
    guard unsafe EVP_EncryptInit_ex2(context, nil, key, initialisationVector, nil) == 1 else { return false }
    if let start = additionalData.baseAddress, additionalData.count > 0 {
      let bytes = unsafe start.assumingMemoryBound(to: UInt8.self)
      guard
        unsafe EVP_EncryptUpdate(context, nil, &count, bytes, Int32(truncatingIfNeeded: additionalData.count))
          == 1
      else { return false }
    }
    let target = unsafe output.assumingMemoryBound(to: UInt8.self)
    if let start = plaintext.baseAddress, plaintext.count > 0 {
      let bytes = unsafe start.assumingMemoryBound(to: UInt8.self)
      guard
        unsafe EVP_EncryptUpdate(context, target, &count, bytes, Int32(truncatingIfNeeded: plaintext.count))
          == 1
      else { return false }
    }
    return unsafe EVP_EncryptFinal_ex(context, target + plaintext.count, &count) == 1
      && EVP_CIPHER_CTX_get_params(context, parameters) == 1
  }

  /// One message, against the tag that stands where the parameter points. A nil key keeps the key before.
  ///
  /// - Returns: Whether it authenticates; where not, `output` holds unauthenticated bytes that the caller
  ///   wipes.
  @inline(__always)
  borrowing func open(
    key: UnsafePointer<UInt8>?, initialisationVector: UnsafePointer<UInt8>,
    additionalData: UnsafeRawBufferPointer, _ ciphertext: UnsafeRawBufferPointer,
    to output: UnsafeMutableRawPointer
  ) -> Bool {
    var count: Int32 = 0
    // SAFETY: as for `seal`; the tag is set for each message, in the same call as the IV.
    guard unsafe EVP_DecryptInit_ex2(context, nil, key, initialisationVector, parameters) == 1 else {
      return false
    }
    if let start = additionalData.baseAddress, additionalData.count > 0 {
      let bytes = unsafe start.assumingMemoryBound(to: UInt8.self)
      guard
        unsafe EVP_DecryptUpdate(context, nil, &count, bytes, Int32(truncatingIfNeeded: additionalData.count))
          == 1
      else { return false }
    }
    let target = unsafe output.assumingMemoryBound(to: UInt8.self)
    if let start = ciphertext.baseAddress, ciphertext.count > 0 {
      let bytes = unsafe start.assumingMemoryBound(to: UInt8.self)
      guard
        unsafe EVP_DecryptUpdate(context, target, &count, bytes, Int32(truncatingIfNeeded: ciphertext.count))
          == 1
      else { return false }
    }
    return unsafe EVP_DecryptFinal_ex(context, target + ciphertext.count, &count) == 1
  }
}

/// SHA-256, HMAC-SHA256, HKDF-SHA256 and scrypt. None of them is on a hot path.
enum Derivation {
  static let digestSize = 32

  static func sha256(_ bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: digestSize)
    // SAFETY: the digest has SHA-256's size.
    guard unsafe EVP_Q_digest(nil, "SHA256", nil, bytes, bytes.count, &digest, nil) == 1 else {
      throw .library
    }
    return digest
  }

  /// Compares in a time that says nothing about the bytes.
  static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    guard one.count == other.count else { return false }
    // SAFETY: both hold as many bytes as are compared.
    return unsafe CRYPTO_memcmp(one, other, one.count) == 0
  }

  static func hmacSHA256(key: RawSpan, _ message: RawSpan) throws(CryptoError) -> [UInt8] {
    var mac = [UInt8](repeating: 0, count: digestSize)
    // SAFETY: OpenSSL reads both within their sizes; `mac` has HMAC-SHA256's size.
    let done = unsafe key.withUnsafeBytes { key in
      unsafe message.withUnsafeBytes { message in
        // SAFETY: `mac` has HMAC-SHA256's size.
        unsafe EVP_Q_mac(
          nil, "HMAC", nil, "SHA256", nil, key.baseAddress, key.count,
          message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count, &mac, mac.count, nil)
          != nil
      }
    }
    guard done else { throw .library }
    return mac
  }

  /// HKDF-SHA256 (RFC 5869), extract and expand.
  static func hkdfSHA256(
    _ inputKey: RawSpan, salt: [UInt8], info: [UInt8], byteCount: Int = 32, in memory: SecretMemory
  ) throws(CryptoError) -> Secret {
    let output = try Secret(byteCount: byteCount, in: memory)
    var digestName = Array("SHA256".utf8CString)
    var salt = salt
    var info = info
    // SAFETY: OpenSSL reads parameters and does not keep them; each points to memory that lives through the
    // call.
    let done = unsafe inputKey.withUnsafeBytes { key in
      unsafe digestName.withUnsafeMutableBufferPointer { digestName in
        unsafe salt.withUnsafeMutableBytes { salt in
          unsafe info.withUnsafeMutableBytes { info -> Bool in
            guard let kdf = unsafe EVP_KDF_fetch(nil, "HKDF", nil) else { return false }
            defer { unsafe EVP_KDF_free(kdf) }
            guard let context = unsafe EVP_KDF_CTX_new(kdf) else { return false }
            defer { unsafe EVP_KDF_CTX_free(context) }
            let parameters = unsafe [
              OSSL_PARAM_construct_utf8_string(parameterName("digest"), digestName.baseAddress, 0),
              OSSL_PARAM_construct_octet_string(
                parameterName("key"), UnsafeMutableRawPointer(mutating: key.baseAddress), key.count),
              OSSL_PARAM_construct_octet_string(parameterName("salt"), salt.baseAddress, salt.count),
              OSSL_PARAM_construct_octet_string(parameterName("info"), info.baseAddress, info.count),
              OSSL_PARAM_construct_end(),
            ]
            let target = unsafe output.pointer.assumingMemoryBound(to: UInt8.self)
            return unsafe EVP_KDF_derive(context, target, byteCount, parameters) == 1
          }
        }
      }
    }
    guard done else { throw .library }
    return output
  }

  /// scrypt (RFC 7914). The work factor has been checked by the caller.
  static func scrypt(
    password: RawSpan, salt: [UInt8], n: UInt64, r: UInt64, p: UInt64, byteCount: Int = 32,
    in memory: SecretMemory
  ) throws(CryptoError) -> Secret {
    let output = try Secret(byteCount: byteCount, in: memory)
    // OpenSSL's own default of 32 MiB refuses N = 2^15; this is what RFC 7914 needs, and some slack.
    let memoryMax = 128 * r * (n + p) + (2 << 20)
    // SAFETY: the password is read within its size, `target` is as long as asked for. A nil password would
    // derive nothing, silently, so an empty one still points somewhere.
    let done = unsafe password.withUnsafeBytes { password in
      let start = unsafe password.baseAddress?.assumingMemoryBound(to: CChar.self)
      let target = unsafe output.pointer.assumingMemoryBound(to: UInt8.self)
      // SAFETY: a nil password would derive nothing, silently, so an empty one still points somewhere.
      return unsafe EVP_PBE_scrypt(
        start ?? UnsafeRawPointer(target).assumingMemoryBound(to: CChar.self), password.count, salt,
        salt.count,
        n, r, p, memoryMax, target, byteCount) == 1
    }
    guard done else { throw .library }
    return output
  }
}
