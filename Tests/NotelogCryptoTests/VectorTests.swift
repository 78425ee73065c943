// Published vectors: C2SP XAES-256-GCM, KC-XAES-256-GCM of AWS-LC, RFC 7914 scrypt, RFC 5869 HKDF (FORMAT.md
// 10.1), as the module calls OpenSSL.

import COpenSSL
import Testing

@testable import NotelogCrypto

@Suite struct VectorTests {
  struct Vector: Sendable {
    let key: UInt8
    let nonce: String
    let plaintext: String
    let additionalData: String
    let sealed: String
    let commitment: String
  }

  static let letters = "4142434445464748494a4b4c4d4e4f505152535455565758"

  /// aws/aws-lc, crypto/cipher_extra/test/xaes_256_gcm_kc_tests.txt; the second and third are C2SP's own two,
  /// with the commitment behind them.
  static let vectors = [
    Vector(
      key: 1, nonce: String(repeating: "42", count: 24),
      plaintext: "48656c6c6f2c20584145532d3235362d47434d21",
      additionalData: "", sealed: "01e5f78bc99de880bd2eeff2870d361f0eab5b2fc55268f34b14045878fe3668db980319",
      commitment: "bf37571be1b43aeca64a95d99a2f162e24f8bfd79bbb71fa7d943e6fc060a8ae"),
    Vector(
      key: 1, nonce: letters, plaintext: "584145532d3235362d47434d", additionalData: "",
      sealed: "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271",
      commitment: "04076b6085eebab138855fe57811c04112eff989d44120dfff662d5475a383c3"),
    Vector(
      key: 3, nonce: letters, plaintext: "584145532d3235362d47434d",
      additionalData: "633273702e6f72672f584145532d3235362d47434d",
      sealed: "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d",
      commitment: "5553cd21d1592b422e3129632a3187eee8a658cdca5c5b32ce86308dcc18e9d1"),
  ]

  @Test(arguments: vectors) func `XAES and its commitment agree with the published vectors`(_ vector: Vector)
    throws
  {
    let key = try secret([UInt8](repeating: vector.key, count: 32))
    let context = try XAES(key: key, memory: .shared)
    let plaintext = try secret(hex(vector.plaintext))
    let sealed = try context.sealCommitting(
      plaintext.bytes, additionalData: hex(vector.additionalData), nonce: hex(vector.nonce))
    #expect(sealed == hex(vector.nonce) + hex(vector.sealed) + hex(vector.commitment))
    let opened = try context.openCommitting(sealed, additionalData: hex(vector.additionalData))
    #expect(reveal(opened) == hex(vector.plaintext))
    for index in sealed.indices {
      var altered = sealed
      altered[index] ^= 1
      #expect(throws: CryptoError.self) {
        _ = reveal(try context.openCommitting(altered, additionalData: hex(vector.additionalData)))
      }
    }
  }

  /// C2SP XAES-256-GCM.md gives L = AES(0), K1, M1, M2 and Kx; in the page stand K1, the prefixes M ⊕ K1 and
  /// Kx.
  @Test(arguments: [
    (
      UInt8(1), "7298caa565031eadc6ce23d23ea66378", "e531954aca063d5b8d9c47a47d4cc6f0",
      "c8612c9ed53fe43e8e005b828a1631a0bbcb6ab2f46514ec4f439fcfd0fa969b"
    ),
    (
      UInt8(3), "91c08762876dccf9ba204a33768fa5fe", "23810ec50edb99f374409466ed1f4b7b",
      "e9c621d4cdd9b11b00a6427ad7e559aeedd66b3857646677748f8ca796cb3fd8"
    ),
  ])
  func `the intermediate values of XAES are C2SP's`(_ key: UInt8, _ l: String, _ k1: String, _ kx: String)
    throws
  {
    let secretKey = try secret([UInt8](repeating: key, count: 32))
    var (block, tag) = ([UInt8](repeating: 0, count: 16), [UInt8](repeating: 0, count: 16))
    let encrypted = try unsafe tag.withUnsafeMutableBytes { tag in
      guard let tag = tag.baseAddress else { throw CryptoError.library }
      // SAFETY: the key has thirty-two bytes, block and tag sixteen.
      let library = try unsafe OpenSSL(key: secretKey.pointer.assumingMemoryBound(to: UInt8.self), tag: tag)
      return unsafe block.withUnsafeMutableBytes { bytes in
        guard let start = bytes.baseAddress else { return false }
        return unsafe library.encrypt(start, to: start, byteCount: 16)
      }
    }
    #expect(encrypted)
    #expect(block == hex(l))
    let context = try XAES(key: secretKey, memory: .shared)
    let plaintext = try secret(Array("XAES-256-GCM".utf8))
    _ = try context.sealWhole(plaintext.bytes, additionalData: [], nonce: hex(Self.letters))
    #expect(context.pageBytes(112..<128) == hex(k1))
    let salt = hex("4142434445464748494a4b4c")
    let blocks = (hex("00015800") + salt + hex("00025800") + salt).enumerated().map { $1 ^ hex(k1)[$0 % 16] }
    #expect(context.pageBytes(160..<192) == blocks)
    #expect(context.pageBytes(192..<224) == hex(kx))
  }

  @Test func `ten thousand random cases hash to C2SP's value`() throws {
    let expected = hex("e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939")
    #expect(try accumulatedHash(iterations: 10_000) == expected)
  }

  @Test(.enabled(if: Soak.isOn)) func `a million random cases hash to C2SP's value`() throws {
    let found = try accumulatedHash(iterations: 1_000_000)
    #expect(found == hex("2163ae1445985a30b60585ee67daa55674df06901b890593e824b8a7c885ab15"))
  }

  /// RFC 7914, section 12. The last of its four vectors takes a gigabyte, and is left to the soak.
  @Test(arguments: [
    (
      "", "", 16, 1, 1,
      "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"
    ),
    (
      "password", "NaCl", 1024, 8, 16,
      "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
    ),
    (
      "pleaseletmein", "SodiumChloride", 16384, 8, 1,
      "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
    ),
    (
      "pleaseletmein", "SodiumChloride", 1_048_576, 8, 1,
      "2101cb9b6a511aaeaddbbe09cf70f881ec568d574a2ffd4dabe5ee9820adaa478e56fd8f4ba5d09ffa1c6d927c40f4c337304049e8a952fbcbf45c6fa77a41a4"
    ),
  ])
  func `scrypt agrees with RFC 7914`(
    _ password: String, _ salt: String, _ n: UInt64, _ r: UInt64, _ p: UInt64, _ expected: String
  ) throws {
    guard n < 1_048_576 || Soak.isOn else { return }
    let password = try Secret(utf8: password)
    let salt = Array(salt.utf8)
    let derived = try OpenSSL.scrypt(
      password: password.bytes, salt: salt, n: n, r: r, p: p, byteCount: 64)
    #expect(reveal(derived) == hex(expected))
  }

  /// RFC 5869, appendix A.1 to A.3.
  @Test(arguments: [
    (
      "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
      "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    ),
    (
      (0..<80).map { hexByte($0) }.joined(), (0x60..<0xB0).map { hexByte($0) }.joined(),
      (0xB0..<0x100).map { hexByte($0) }.joined(),
      "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
    ),
    (
      "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
      "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
    ),
  ])
  func `HKDF agrees with RFC 5869`(_ key: String, _ salt: String, _ info: String, _ expected: String) throws {
    let key = try secret(hex(key))
    let output = try OpenSSL.hkdfSHA256(
      key.bytes, salt: hex(salt), info: hex(info), byteCount: expected.count / 2)
    #expect(reveal(output) == hex(expected))
  }

  /// RFC 4231, test case 2.
  @Test func `HMAC-SHA256 agrees with RFC 4231`() throws {
    let key = try Secret(utf8: "Jefe")
    let message = try Secret(utf8: "what do ya want for nothing?")
    let expected = hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    #expect(try OpenSSL.hmacSHA256(key: key.bytes, message.bytes) == expected)
  }

  /// FIPS 180-4's examples: "abc" and nothing.
  @Test func `SHA-256 agrees with FIPS 180-4`() throws {
    let expected = [
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ]
    for (message, digest) in expected {
      #expect(try OpenSSL.sha256(Array(message.utf8)) == hex(digest))
    }
  }

  private static func hexByte(_ value: Int) -> String {
    let text = String(value, radix: 16)
    return text.count == 1 ? "0" + text : text
  }

  /// C2SP's accumulated test: inputs from one SHAKE-128 stream, sealed values hashed by another.
  private func accumulatedHash(iterations: Int) throws -> [UInt8] {
    // OpenSSL 3.0 has no squeeze: the whole stream is drawn in one call. A case takes 313 bytes on average.
    let stream = try shake128(of: [], byteCount: iterations * 316 + 100_000)
    #expect(stream.starts(with: hex("7f9c2ba4e88f827d616045507605853e")))
    var offset = 0
    func take(_ count: Int) -> [UInt8] {
      defer { offset += count }
      return Array(stream[offset..<offset + count])
    }
    // SAFETY: the context is freed once, and OpenSSL reads within the sizes given.
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    let begun = unsafe EVP_DigestInit_ex2(context, EVP_shake128(), nil)
    #expect(begun == 1)
    for _ in 0..<iterations {
      let key = try secret(take(32))
      let nonce = take(24)
      let plaintext = take(Int(take(1)[0]))
      let additionalData = take(Int(take(1)[0]))
      let sealing = try XAES(key: key, memory: .shared)
      let message = try secret(plaintext)
      let sealed = try sealing.sealWhole(message.bytes, additionalData: additionalData, nonce: nonce)
      let opened = try sealing.openWhole(sealed, additionalData: additionalData)
      guard reveal(opened) == plaintext else {
        Issue.record("a value did not open to what was sealed")
        break
      }
      let hashed = Array(sealed[SealedValue.nonceSize...])
      // SAFETY: read within its size.
      guard unsafe EVP_DigestUpdate(context, hashed, hashed.count) == 1 else { break }
    }
    var digest = [UInt8](repeating: 0, count: 32)
    // SAFETY: written within its size.
    let ended = unsafe EVP_DigestFinalXOF(context, &digest, digest.count)
    #expect(ended == 1)
    return digest
  }

  private func shake128(of message: [UInt8], byteCount: Int) throws -> [UInt8] {
    // SAFETY: the context is freed once; message and output are used within their sizes.
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    var output = [UInt8](repeating: 0, count: byteCount)
    let done =
      unsafe EVP_DigestInit_ex2(context, EVP_shake128(), nil) == 1
      && EVP_DigestUpdate(context, message, message.count) == 1
      && EVP_DigestFinalXOF(context, &output, output.count) == 1
    #expect(done)
    return output
  }
}
