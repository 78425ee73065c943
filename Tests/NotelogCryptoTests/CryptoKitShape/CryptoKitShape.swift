// The part of CryptoKit's interface that Notelog would call, with OpenSSL's EVP behind it: names, arguments
// and results are CryptoKit's, and what CryptoKit has no call for is not here (`BeyondCryptoKit`).

import COpenSSL

/// CryptoKit, as far as its shape matters here. Values are arrays of bytes where CryptoKit takes any
/// `DataProtocol`.
enum CryptoKitShape {
  enum Failure: Error { case authentication, underlying }

  struct SymmetricKey {
    fileprivate let bytes: [UInt8]

    init(data: some Sequence<UInt8>) { bytes = Array(data) }
  }

  enum AES {
    enum GCM {
      struct Nonce {
        fileprivate let bytes: [UInt8]

        /// CryptoKit takes twelve bytes and more, as data.
        init(data: some Sequence<UInt8>) throws {
          bytes = Array(data)
          if bytes.count < 12 { throw Failure.underlying }
        }
      }

      struct SealedBox {
        let nonce: Nonce
        let ciphertext: [UInt8]
        let tag: [UInt8]

        init(nonce: Nonce, ciphertext: some Sequence<UInt8>, tag: some Sequence<UInt8>) throws {
          (self.nonce, self.ciphertext, self.tag) = (nonce, Array(ciphertext), Array(tag))
          if self.tag.count != 16 { throw Failure.underlying }
        }
      }

      static func seal(
        _ message: [UInt8], using key: SymmetricKey, nonce: Nonce, authenticating data: [UInt8]
      ) throws -> SealedBox {
        var ciphertext = message
        var tag = [UInt8](repeating: 0, count: 16)
        guard run(true, key, nonce, data, message, to: &ciphertext, &tag) else { throw Failure.underlying }
        return try SealedBox(nonce: nonce, ciphertext: ciphertext, tag: tag)
      }

      static func open(_ box: SealedBox, using key: SymmetricKey, authenticating data: [UInt8]) throws
        -> [UInt8]
      {
        var plaintext = box.ciphertext
        var tag = box.tag
        guard run(false, key, box.nonce, data, box.ciphertext, to: &plaintext, &tag) else {
          throw Failure.authentication
        }
        return plaintext
      }

      private static func run(
        _ seals: Bool, _ key: SymmetricKey, _ nonce: Nonce, _ data: [UInt8], _ input: [UInt8],
        to output: inout [UInt8], _ tag: inout [UInt8]
      ) -> Bool {
        // SAFETY: the context is this call's own; all is read and written within its size.
        let context = unsafe EVP_CIPHER_CTX_new()
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        var count: Int32 = 0
        guard
          unsafe EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, nil, nil, seals ? 1 : 0) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonce.bytes.count), nil) == 1
            && EVP_CipherInit_ex(context, nil, nil, key.bytes, nonce.bytes, -1) == 1
            && (seals || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1)
            && (data.isEmpty || EVP_CipherUpdate(context, nil, &count, data, Int32(data.count)) == 1)
            && (input.isEmpty || EVP_CipherUpdate(context, &output, &count, input, Int32(input.count)) == 1)
        else { return false }
        // Nothing more comes out; the place is one that exists.
        var rest = [UInt8](repeating: 0, count: 16)
        return unsafe EVP_CipherFinal_ex(context, &rest, &count) == 1
          && (!seals || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag) == 1)
      }
    }
  }

  struct SHA256 {
    static func hash(data: [UInt8]) -> [UInt8] {
      var digest = [UInt8](repeating: 0, count: 32)
      // SAFETY: the digest has SHA-256's size.
      let done = unsafe EVP_Q_digest(nil, "SHA256", nil, data, data.count, &digest, nil)
      precondition(done == 1)
      return digest
    }
  }

  /// CryptoKit's hashes are a parameter; here there is one.
  enum HMAC<Hash> {
    static func authenticationCode(for data: [UInt8], using key: SymmetricKey) -> [UInt8] {
      // RFC 2104, over SHA-256, whose blocks have sixty-four bytes.
      var block = key.bytes.count > 64 ? SHA256.hash(data: key.bytes) : key.bytes
      block += [UInt8](repeating: 0, count: 64 - block.count)
      let inner = SHA256.hash(data: block.map { $0 ^ 0x36 } + data)
      return SHA256.hash(data: block.map { $0 ^ 0x5C } + inner)
    }
  }

  enum HKDF<Hash> {
    static func deriveKey(
      inputKeyMaterial: SymmetricKey, salt: [UInt8], info: [UInt8], outputByteCount: Int
    ) -> SymmetricKey {
      // RFC 5869.
      let key = SymmetricKey(
        data: HMAC<Hash>.authenticationCode(for: inputKeyMaterial.bytes, using: SymmetricKey(data: salt)))
      var (output, block): ([UInt8], [UInt8]) = ([], [])
      var number: UInt8 = 0
      while output.count < outputByteCount {
        number += 1
        block = HMAC<Hash>.authenticationCode(for: block + info + [number], using: key)
        output += block
      }
      return SymmetricKey(data: output.prefix(outputByteCount))
    }
  }
}

extension CryptoKitShape.SymmetricKey {
  /// As CryptoKit's `ContiguousBytes`.
  func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try unsafe bytes.withUnsafeBytes { try unsafe body($0) }
  }
}

/// What Notelog needs and CryptoKit has no call for. On an Apple system the first two are CommonCrypto's
/// (`CCCrypt` with `kCCOptionECBMode`) and the C library's (`timingsafe_bcmp`); scrypt there is none of, and
/// PBKDF2, which CommonCrypto has, is another function: it would have to be brought along.
enum BeyondCryptoKit {
  static func encryptBlocks(_ input: [UInt8], key: [UInt8]) -> [UInt8] {
    var output = [UInt8](repeating: 0, count: input.count)
    var count: Int32 = 0
    // SAFETY: the context is this call's own; without padding as many bytes come out as go in.
    let context = unsafe EVP_CIPHER_CTX_new()
    defer { unsafe EVP_CIPHER_CTX_free(context) }
    let done =
      unsafe EVP_EncryptInit_ex(context, EVP_aes_256_ecb(), nil, key, nil) == 1
      && EVP_CIPHER_CTX_set_padding(context, 0) == 1
      && EVP_EncryptUpdate(context, &output, &count, input, Int32(input.count)) == 1
    precondition(done)
    return output
  }

  static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && zip(one, other).reduce(0) { $0 | $1.0 ^ $1.1 } == 0
  }

  static func scrypt(password: [UInt8], salt: [UInt8], n: UInt64, r: UInt64, p: UInt64, byteCount: Int)
    -> [UInt8]
  {
    var output = [UInt8](repeating: 0, count: byteCount)
    // SAFETY: all is read and written within its size; an empty password points somewhere all the same.
    let done = unsafe password.withUnsafeBytes { bytes in
      let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      return unsafe output.withUnsafeMutableBufferPointer { output in
        guard let target = output.baseAddress else { return Int32(0) }
        return unsafe EVP_PBE_scrypt(
          start ?? UnsafeRawPointer(target).assumingMemoryBound(to: CChar.self), bytes.count, salt,
          salt.count, n, r, p, 128 * r * (n + p) + (2 << 20), target, output.count)
      }
    }
    precondition(done == 1)
    return output
  }
}
