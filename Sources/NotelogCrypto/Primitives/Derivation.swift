// What makes keys of passwords and of other keys: SHA-256, HMAC, HKDF, scrypt, through OpenSSL 3.0's EVP.

import COpenSSL

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
    var mac = try Secret(byteCount: digestSize)
    let code = try MessageCode()
    try code.begin(key: key)
    try code.add(message)
    var bytes = mac.mutableBytes
    try code.end(into: &bytes)
    return mac.array(0..<digestSize)
  }

  /// HKDF-SHA256 (RFC 5869), extract and expand.
  ///
  /// Of two HMACs, and not OpenSSL's own: that takes twice as long, all of it spent on finding and setting up.
  static func hkdfSHA256(
    _ inputKey: RawSpan, salt: [UInt8], info: [UInt8], byteCount: Int = 32, in memory: SecretMemory
  ) throws(CryptoError) -> Secret {
    precondition(byteCount <= 255 * digestSize, "HKDF gives no more than that")
    let code = try MessageCode()
    var extracted = try Secret(byteCount: digestSize, in: memory)
    var block = try Secret(byteCount: digestSize, in: memory)
    let output = try Secret(byteCount: byteCount, in: memory)
    // SAFETY: bytes of arrays of bytes are all initialised.
    try unsafe code.begin(key: salt.span.bytes)
    try code.add(inputKey)
    var bytes = extracted.mutableBytes
    try code.end(into: &bytes)
    for start in stride(from: 0, to: byteCount, by: digestSize) {
      try code.begin(key: extracted.bytes)
      if start > 0 { try code.add(block.bytes) }
      // SAFETY: as above.
      try unsafe code.add((info + [UInt8(start / digestSize + 1)]).span.bytes)
      var bytes = block.mutableBytes
      try code.end(into: &bytes)
      // SAFETY: no more than there is room for behind `start`, and no more than a block has.
      unsafe (output.pointer + start).copyMemory(
        from: block.pointer, byteCount: min(digestSize, byteCount - start))
    }
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
