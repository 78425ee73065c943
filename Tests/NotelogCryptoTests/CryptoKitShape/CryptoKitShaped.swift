// The cryptographic library as it would be on top of CryptoKit: a second implementation of `CryptoLibrary`,
// by calls of CryptoKit's shape.

import NotelogBase

@testable import NotelogCrypto

/// Seals message by message, and keeps a key where CryptoKit keeps no context. It copies and allocates;
/// CryptoKit's own calls do too.
@safe struct CryptoKitShaped: ~Copyable, CryptoLibrary {
  /// What stands in the place of a context: the key of the message before.
  private final class Slot {
    var key: CryptoKitShape.SymmetricKey?
  }

  private let blockKey: [UInt8]
  // SAFETY: outlives this value, as its maker says.
  private let tag: UnsafeMutableRawPointer

  init(key: UnsafePointer<UInt8>, tag: UnsafeMutableRawPointer) throws(CryptoError) {
    // SAFETY: a key has thirty-two bytes.
    blockKey = unsafe Array(UnsafeBufferPointer(start: key, count: 32))
    unsafe self.tag = unsafe tag
  }

  borrowing func encrypt(
    _ input: UnsafeRawPointer, to output: UnsafeMutableRawPointer, byteCount: Int32
  ) -> Bool {
    // SAFETY: both hold as many bytes.
    let blocks = unsafe Array(UnsafeRawBufferPointer(start: input, count: Int(byteCount)))
    let encrypted = BeyondCryptoKit.encryptBlocks(blocks, key: blockKey)
    unsafe output.copyMemory(from: encrypted, byteCount: encrypted.count)
    return true
  }

  borrowing func makeContext() throws(CryptoError) -> CipherContext {
    // SAFETY: what is retained here is released by the context.
    try unsafe CipherContext(Unmanaged.passRetained(Slot()).toOpaque()) { pointer in
      if let pointer = unsafe pointer { unsafe Unmanaged<Slot>.fromOpaque(pointer).release() }
    }
  }

  borrowing func seal(
    in context: borrowing CipherContext, key: UnsafePointer<UInt8>?,
    initialisationVector: UnsafePointer<UInt8>, additionalData: UnsafeRawBufferPointer,
    _ plaintext: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer
  ) -> Bool {
    // SAFETY: the IV has twelve bytes, the output room for the ciphertext, the tag for sixteen.
    guard let key = unsafe symmetricKey(key, in: context),
      let nonce = try? unsafe CryptoKitShape.AES.GCM.Nonce(
        data: UnsafeBufferPointer(start: initialisationVector, count: 12)),
      let box = try? unsafe CryptoKitShape.AES.GCM.seal(
        Array(plaintext), using: key, nonce: nonce, authenticating: Array(additionalData))
    else { return false }
    unsafe output.copyMemory(from: box.ciphertext, byteCount: box.ciphertext.count)
    unsafe tag.copyMemory(from: box.tag, byteCount: 16)
    return true
  }

  borrowing func open(
    in context: borrowing CipherContext, key: UnsafePointer<UInt8>?,
    initialisationVector: UnsafePointer<UInt8>, additionalData: UnsafeRawBufferPointer,
    _ ciphertext: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer
  ) -> Bool {
    // SAFETY: as for `seal`.
    guard let key = unsafe symmetricKey(key, in: context),
      let nonce = try? unsafe CryptoKitShape.AES.GCM.Nonce(
        data: UnsafeBufferPointer(start: initialisationVector, count: 12)),
      let box = try? unsafe CryptoKitShape.AES.GCM.SealedBox(
        nonce: nonce, ciphertext: ciphertext, tag: UnsafeRawBufferPointer(start: tag, count: 16)),
      let plaintext = try? unsafe CryptoKitShape.AES.GCM.open(
        box, using: key, authenticating: Array(additionalData))
    else { return false }
    unsafe output.copyMemory(from: plaintext, byteCount: plaintext.count)
    return true
  }

  /// The key that is given, which the context keeps, or the one that it has.
  private borrowing func symmetricKey(
    _ key: UnsafePointer<UInt8>?, in context: borrowing CipherContext
  ) -> CryptoKitShape.SymmetricKey? {
    // SAFETY: contexts are made by this type alone; a key has thirty-two bytes.
    let slot = unsafe Unmanaged<Slot>.fromOpaque(context.pointer).takeUnretainedValue()
    if let key = unsafe key {
      slot.key = unsafe CryptoKitShape.SymmetricKey(data: UnsafeBufferPointer(start: key, count: 32))
    }
    return slot.key
  }

  static func sha256(_ bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
    CryptoKitShape.SHA256.hash(data: bytes)
  }

  static func hmacSHA256(key: RawSpan, _ message: RawSpan) throws(CryptoError) -> [UInt8] {
    CryptoKitShape.HMAC<CryptoKitShape.SHA256>.authenticationCode(
      for: bytes(of: message), using: CryptoKitShape.SymmetricKey(data: bytes(of: key)))
  }

  static func hkdfSHA256(_ inputKey: RawSpan, salt: [UInt8], info: [UInt8], byteCount: Int)
    throws(CryptoError) -> Secret
  {
    let key = CryptoKitShape.HKDF<CryptoKitShape.SHA256>.deriveKey(
      inputKeyMaterial: CryptoKitShape.SymmetricKey(data: bytes(of: inputKey)), salt: salt, info: info,
      outputByteCount: byteCount)
    var output = try Secret(byteCount: byteCount)
    // SAFETY: the bytes are copied.
    output.fill(unsafe key.withUnsafeBytes { unsafe Array($0) })
    return output
  }

  static func scrypt(password: RawSpan, salt: [UInt8], n: UInt64, r: UInt64, p: UInt64, byteCount: Int)
    throws(CryptoError) -> Secret
  {
    var output = try Secret(byteCount: byteCount)
    output.fill(
      BeyondCryptoKit.scrypt(
        password: bytes(of: password), salt: salt, n: n, r: r, p: p, byteCount: byteCount))
    return output
  }

  static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool { BeyondCryptoKit.areEqual(one, other) }

  private static func bytes(of span: RawSpan) -> [UInt8] { (0..<span.byteCount).map { span.byte(at: $0) } }
}
