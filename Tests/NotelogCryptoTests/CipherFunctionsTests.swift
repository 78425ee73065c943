// The provider's functions, called without EVP: decision 0053. That they compute what they should, the
// published vectors show.

import COpenSSL
import Testing

@testable import NotelogCrypto

@Suite struct CipherFunctionsTests {
  private static let whole = implementation(of: "AES-256-GCM")

  private static func implementation(of name: String) -> CipherFunctions? {
    // SAFETY: the cipher is kept for good, as the functions need it.
    unsafe CipherFunctions(of: EVP_CIPHER_fetch(nil, name, nil))
  }

  @Test func `an implementation is found by any of its names, and another cipher's is not used`() throws {
    for name in ["id-aes256-GCM", "aes-256-gcm"] {
      let functions = try #require(Self.implementation(of: name))
      #expect(OpenSSL.agreesWithEVP(functions))
    }
    let other = try #require(Self.implementation(of: "AES-128-GCM"))
    #expect(!OpenSSL.agreesWithEVP(other))
    let ofNothing = unsafe CipherFunctions(of: nil)
    #expect(ofNothing == nil)
  }

  /// The bug: where the provider's functions were not as they should be, nothing could be sealed or opened.
  @Test func `where an implementation is not used, EVP itself serves, and seals and opens the same`() throws {
    var broken = try #require(Self.whole)
    unsafe broken.update = { _, _, _, _, _, _ in 0 }
    let key = try secret([UInt8](repeating: 5, count: 32))
    let usual = try XAES(key: key, memory: .shared)
    for candidate in [broken, nil] {
      let functions = OpenSSL.choose(candidate)
      // Also with a key given before, with empty messages, and with tags that are wrong.
      #expect(OpenSSL.agreesWithEVP(functions))
      let context = try XAES(key: key, functions)
      for length in [1, 16, 37, 5_000] {
        let plaintext = try secret((0..<length).map { UInt8(truncatingIfNeeded: $0) })
        let nonce = [UInt8](repeating: UInt8(length % 251), count: 24)
        let sealed = try context.sealWhole(plaintext.bytes, additionalData: [1, 2], nonce: nonce)
        #expect(try sealed == usual.sealWhole(plaintext.bytes, additionalData: [1, 2], nonce: nonce))
        #expect(reveal(try context.openWhole(sealed, additionalData: [1, 2])) == reveal(plaintext))
        var altered = sealed
        altered[sealed.count - 1] ^= 1
        #expect(throws: CryptoError.tampered) {
          _ = reveal(try context.openWhole(altered, additionalData: [1, 2]))
        }
      }
    }
  }

  @Test func `what agrees with EVP is used`() throws {
    let functions = try #require(Self.whole)
    #expect(OpenSSL.agreesWithEVP(functions))
  }

  @Test func `an implementation that accepts any tag is not used`() throws {
    var functions = try #require(Self.whole)
    unsafe functions.finish = { context, target, count, room in
      if let whole = CipherFunctionsTests.whole { _ = unsafe whole.finish(context, target, count, room) }
      return 1
    }
    #expect(!OpenSSL.agreesWithEVP(functions))
  }

  @Test func `an implementation that leaves bytes as they are is not used`() throws {
    var functions = try #require(Self.whole)
    unsafe functions.update = { _, target, _, _, bytes, count in
      if let target = unsafe target, let bytes = unsafe bytes {
        unsafe target.update(from: bytes, count: count)
      }
      return 1
    }
    #expect(!OpenSSL.agreesWithEVP(functions))
  }

  @Test func `an implementation that gives no tag is not used`() throws {
    var functions = try #require(Self.whole)
    unsafe functions.getParameters = { _, _ in 1 }
    #expect(!OpenSSL.agreesWithEVP(functions))
  }

  @Test func `an implementation that does not open is not used`() throws {
    var functions = try #require(Self.whole)
    unsafe functions.startOpening = { _, _, _, _, _, _ in 0 }
    #expect(!OpenSSL.agreesWithEVP(functions))
  }

  @Test func `an implementation that wants its key each time is not used`() throws {
    var functions = try #require(Self.whole)
    unsafe functions.startOpening = { context, key, keySize, vector, vectorSize, parameters in
      guard unsafe key != nil, let whole = CipherFunctionsTests.whole else { return 0 }
      return unsafe whole.startOpening(context, key, keySize, vector, vectorSize, parameters)
    }
    #expect(!OpenSSL.agreesWithEVP(functions))
  }

  @Test func `an implementation that refuses empty messages is not used`() throws {
    var functions = try #require(Self.whole)
    unsafe functions.startSealing = { context, key, keySize, vector, vectorSize, parameters in
      guard let vector = unsafe vector, let whole = CipherFunctionsTests.whole else { return 0 }
      // The third message is the empty one.
      if unsafe vector[0] == 102 { return 0 }
      return unsafe whole.startSealing(context, key, keySize, vector, vectorSize, parameters)
    }
    #expect(!OpenSSL.agreesWithEVP(functions))
  }
}
