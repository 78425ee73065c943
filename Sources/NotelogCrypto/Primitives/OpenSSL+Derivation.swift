// What makes keys of passwords and of other keys: SHA-256, HMAC, HKDF, scrypt, through OpenSSL 3.0's EVP. None of them is on a hot path.

import COpenSSL

extension OpenSSL {
  private static let digestSize = 32

  static func sha256(_ bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: digestSize)
    // SAFETY: the digest has SHA-256's size.
    guard unsafe EVP_Q_digest(nil, "SHA256", nil, bytes, bytes.count, &digest, nil) == 1 else {
      throw .library
    }
    return digest
  }

  static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    guard one.count == other.count else { return false }
    // SAFETY: both hold as many bytes as are compared.
    return unsafe CRYPTO_memcmp(one, other, one.count) == 0
  }

  static func hmacSHA256(key: RawSpan, _ message: RawSpan) throws(CryptoError) -> [UInt8] {
    var mac = [UInt8](repeating: 0, count: digestSize)
    var count = 0
    // SAFETY: key and message are read within their sizes, and the MAC has SHA-256's size.
    let isDone = unsafe key.withUnsafeBytes { key in
      unsafe message.withUnsafeBytes { message in
        unsafe EVP_Q_mac(
          nil, "HMAC", nil, "SHA256", nil, key.baseAddress, key.count,
          message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count, &mac, digestSize, &count)
          != nil
      }
    }
    guard isDone, count == digestSize else { throw .library }
    return mac
  }

  // SAFETY: fetched once and never freed; OpenSSL counts references to it atomically.
  /// OpenSSL's HKDF, looked up once: unlocking derives seven keys.
  nonisolated(unsafe) private static let hkdf = unsafe EVP_KDF_fetch(nil, "HKDF", nil)

  static func hkdfSHA256(_ inputKey: RawSpan, salt: [UInt8], info: [UInt8], byteCount: Int = 32)
    throws(CryptoError) -> Secret
  {
    let output = try Secret(byteCount: byteCount)
    guard let context = unsafe EVP_KDF_CTX_new(hkdf) else { throw .outOfMemory }
    // SAFETY: the context is this call's own, and cleanses its copy of the key when it is freed.
    defer { unsafe EVP_KDF_CTX_free(context) }
    var salt = salt
    var info = info
    // SAFETY: all is read within its size and not written to, and the output is as long as asked for.
    let isDone = unsafe inputKey.withUnsafeBytes { key in
      unsafe salt.withUnsafeMutableBytes { salt in
        unsafe info.withUnsafeMutableBytes { info in
          let digest = unsafe UnsafeMutablePointer(mutating: parameterName("SHA256"))
          let key = unsafe UnsafeMutableRawBufferPointer(mutating: key)
          let parameters = unsafe [
            OSSL_PARAM_construct_utf8_string(parameterName("digest"), digest, 0),
            OSSL_PARAM_construct_octet_string(parameterName("key"), key.baseAddress, key.count),
            OSSL_PARAM_construct_octet_string(parameterName("salt"), salt.baseAddress, salt.count),
            OSSL_PARAM_construct_octet_string(parameterName("info"), info.baseAddress, info.count),
            OSSL_PARAM_construct_end(),
          ]
          let target = unsafe output.pointer.assumingMemoryBound(to: UInt8.self)
          return unsafe EVP_KDF_derive(context, target, byteCount, parameters) == 1
        }
      }
    }
    guard isDone else { throw .library }
    return output
  }

  static func scrypt(password: RawSpan, salt: [UInt8], n: UInt64, r: UInt64, p: UInt64, byteCount: Int = 32)
    throws(CryptoError) -> Secret
  {
    let output = try Secret(byteCount: byteCount)
    // OpenSSL's own default of 32 MiB refuses N = 2^15; this is what RFC 7914 needs, and some slack.
    let memoryMax = 128 * r * (n + p) + (2 << 20)
    // SAFETY: the password is read within its size, `target` is as long as asked for. A nil password would
    // derive nothing, silently, so an empty one still points somewhere.
    let done = unsafe password.withUnsafeBytes { password in
      let start = unsafe password.baseAddress?.assumingMemoryBound(to: CChar.self)
      let target = unsafe output.pointer.assumingMemoryBound(to: UInt8.self)
      return unsafe EVP_PBE_scrypt(
        start ?? UnsafeRawPointer(target).assumingMemoryBound(to: CChar.self), password.count, salt,
        salt.count, n, r, p, memoryMax, target, byteCount) == 1
    }
    guard done else { throw .library }
    return output
  }
}
