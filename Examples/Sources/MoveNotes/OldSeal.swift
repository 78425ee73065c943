// How the ancestors sealed a value: salt 8 ‖ IV 16 ‖ AES-128-CBC, under a key that PBKDF2 makes of the
// password.

import CLegacyCrypto

/// The old scheme. It notices no change and knows no place; it is here to be left.
struct OldSeal: Sendable {
  static let rounds: Int32 = 1000

  let password: String

  /// Opens a value; nil where the password is not right, or the bytes are broken, as far as the padding
  /// tells.
  func open(_ sealed: [UInt8]) -> [UInt8]? {
    guard sealed.count >= 40, sealed.count % 16 == 8 else { return nil }
    return run(sealed[24...], salt: sealed[..<8], iv: sealed[8..<24], sealing: false)
  }

  /// Seals a value: to have something to move.
  func seal(_ value: [UInt8]) -> [UInt8]? {
    let salt = (0..<8).map { _ in UInt8.random(in: 0...255) }
    let iv = (0..<16).map { _ in UInt8.random(in: 0...255) }
    return run(value[...], salt: salt[...], iv: iv[...], sealing: true).map { salt + iv + $0 }
  }

  private func run(
    _ bytes: ArraySlice<UInt8>, salt: ArraySlice<UInt8>, iv: ArraySlice<UInt8>, sealing: Bool
  ) -> [UInt8]? {
    var key = [UInt8](repeating: 0, count: 16)
    let (salt, iv, bytes) = (Array(salt), Array(iv), Array(bytes))
    let isKey = PKCS5_PBKDF2_HMAC(
      password, Int32(password.utf8.count), salt, 8, Self.rounds, EVP_sha1(), 16, &key)
    guard isKey == 1, let context = EVP_CIPHER_CTX_new() else { return nil }
    defer { EVP_CIPHER_CTX_free(context) }
    var out = [UInt8](repeating: 0, count: bytes.count + 16)
    var (count, rest): (Int32, Int32) = (0, 0)
    guard EVP_CipherInit_ex(context, EVP_aes_128_cbc(), nil, key, iv, sealing ? 1 : 0) == 1,
      EVP_CipherUpdate(context, &out, &count, bytes, Int32(bytes.count)) == 1,
      out.withUnsafeMutableBufferPointer({
        EVP_CipherFinal_ex(context, $0.baseAddress.map { $0 + Int(count) }, &rest)
      }) == 1
    else { return nil }
    return Array(out.prefix(Int(count + rest)))
  }
}

/// What two sides compare, instead of everything.
struct Digest: Equatable, CustomStringConvertible {
  private(set) var bytes = [UInt8](repeating: 0, count: 32)

  /// Takes some more in, in order.
  mutating func add(_ more: [UInt8]) {
    let all = bytes + more
    _ = EVP_Digest(all, all.count, &bytes, nil, EVP_sha256(), nil)
  }

  var description: String {
    bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }
}
