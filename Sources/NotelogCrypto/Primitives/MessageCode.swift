// HMAC-SHA256 (RFC 2104), through OpenSSL 3.0's EVP.

import COpenSSL

/// Makes the codes of messages, one after another, each under a key of its own.
// SAFETY: the context is its own, and goes with it.
@safe struct MessageCode: ~Copyable {
  static let byteCount = Derivation.digestSize

  // SAFETY: fetched once and kept; any thread may make contexts of it.
  private nonisolated(unsafe) static let algorithm = unsafe EVP_MAC_fetch(nil, "HMAC", nil)
  private let context: OpaquePointer

  init() throws(CryptoError) {
    guard let algorithm = unsafe Self.algorithm, let context = unsafe EVP_MAC_CTX_new(algorithm) else {
      throw .library
    }
    // SAFETY: OpenSSL reads the name, which lives for ever.
    let parameters = unsafe [
      OSSL_PARAM_construct_utf8_string(
        parameterName("digest"), UnsafeMutablePointer(mutating: parameterName("SHA256")), 0),
      OSSL_PARAM_construct_end(),
    ]
    guard unsafe EVP_MAC_CTX_set_params(context, parameters) == 1 else {
      unsafe EVP_MAC_CTX_free(context)
      throw .library
    }
    unsafe self.context = context
  }

  // SAFETY: made in init, and nobody else's. Keys are cleansed with it.
  deinit { unsafe EVP_MAC_CTX_free(context) }

  /// Begins a code. An empty key is as good as one of zeros.
  borrowing func begin(key: RawSpan) throws(CryptoError) {
    var zero: UInt8 = 0
    // SAFETY: OpenSSL reads the key within its size; without one it would go on with the last.
    let done = unsafe key.withUnsafeBytes { key in
      unsafe key.isEmpty
        ? EVP_MAC_init(context, &zero, 1, nil)
        : EVP_MAC_init(context, key.baseAddress?.assumingMemoryBound(to: UInt8.self), key.count, nil)
    }
    guard done == 1 else { throw .library }
  }

  /// Takes the next bytes of the message.
  borrowing func add(_ bytes: RawSpan) throws(CryptoError) {
    // SAFETY: OpenSSL reads the bytes within their size.
    let done = unsafe bytes.withUnsafeBytes { bytes in
      unsafe EVP_MAC_update(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    }
    guard done == 1 else { throw .library }
  }

  /// Ends the message, and writes its code, of ``byteCount`` bytes.
  borrowing func end(into code: inout MutableRawSpan) throws(CryptoError) {
    precondition(code.byteCount == Self.byteCount, "there is room for exactly one code")
    var count = 0
    // SAFETY: OpenSSL writes as many bytes as there is room for.
    let done = unsafe code.withUnsafeMutableBytes { code in
      unsafe EVP_MAC_final(context, code.baseAddress?.assumingMemoryBound(to: UInt8.self), &count, code.count)
    }
    guard done == 1, count == Self.byteCount else { throw .library }
  }
}
