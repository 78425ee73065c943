// The cryptographic library, OpenSSL 3.0: AES-256 a block at a time through EVP, and AES-256-GCM by the
// functions of its provider; and what keys are derived by.

import COpenSSL

/// AES-256 under one key, and AES-256-GCM in contexts that are keyed again and again.
///
/// Traps of OpenSSL 3.0 that this type is built around: a key without an IV on a fresh context takes a random
/// IV, silently, so each message gives an IV; an opening context keeps the tag of the message before, so each
/// `open` sets one; a tag of one byte is accepted, so the tag's size is part of the prepared parameter.
@safe struct OpenSSL: ~Copyable {
  static let tagSize = 16

  // SAFETY: fetched once and never freed; OpenSSL counts references to it atomically. Fetching costs 200 ns,
  // and the implicit fetch of older calls contends between threads.
  @unsafe private nonisolated(unsafe) static let cipher: OpaquePointer? = unsafe EVP_CIPHER_fetch(
    nil, "AES-256-GCM", nil)
  @unsafe private nonisolated(unsafe) static let blockCipher: OpaquePointer? = unsafe EVP_CIPHER_fetch(
    nil, "AES-256-ECB", nil)

  // SAFETY: the cipher is never freed; here and below.
  static let functions = unsafe choose(CipherFunctions(of: cipher))

  /// The functions of whatever provider EVP would use; EVP's own where they don't do what EVP does.
  static func choose(_ functions: CipherFunctions?) -> CipherFunctions {
    if let functions, agreesWithEVP(functions) { return functions }
    // SAFETY: as above, the cipher is never freed.
    return unsafe CipherFunctions.evp(cipher)
  }

  /// The name of the tag's parameter, at the start of a cache line. OpenSSL compares it with others for each
  /// message, and `strcmp` is slow at a page's end: a literal that lay there cost scans 8 % (decision 0114).
  private nonisolated(unsafe) static let tagName: UnsafePointer<CChar> = {
    // SAFETY: it is written before anyone else has it, never freed, and ended by a zero.
    let line = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)
    unsafe line.initializeMemory(as: UInt8.self, repeating: 0, count: 64)
    unsafe line.copyMemory(from: parameterName("tag"), byteCount: 3)
    return unsafe UnsafePointer(line.assumingMemoryBound(to: CChar.self))
  }()

  private let functions: CipherFunctions
  /// The block cipher, its key set up.
  private let block: OpaquePointer
  /// The tag as an OpenSSL parameter, ended by an empty one; it points to `tag`.
  private let parameters: UnsafeMutablePointer<OSSL_PARAM>

  /// - Parameters:
  ///   - key: Thirty-two bytes, for ``encrypt(_:to:byteCount:)``.
  ///   - tag: Sixteen bytes that outlive this value, where ``seal`` leaves a message's tag, and ``open``
  ///     finds it.
  ///   - functions: What implements AES-256-GCM: others than the process's own in tests only.
  /// - Throws: ``CryptoError/outOfMemory``, ``CryptoError/library``.
  init(
    key: UnsafePointer<UInt8>, tag: UnsafeMutableRawPointer, _ functions: CipherFunctions = functions
  ) throws(CryptoError) {
    // SAFETY: the context is new, and this value's alone; the key has the cipher's size, ECB takes no IV.
    guard let block = unsafe EVP_CIPHER_CTX_new() else { throw .outOfMemory }
    guard unsafe EVP_EncryptInit_ex2(block, Self.blockCipher, key, nil, nil) == 1,
      unsafe EVP_CIPHER_CTX_set_padding(block, 0) == 1
    else {
      unsafe EVP_CIPHER_CTX_free(block)
      throw .library
    }
    self.functions = functions
    unsafe self.block = unsafe block
    unsafe parameters = UnsafeMutablePointer<OSSL_PARAM>.allocate(capacity: 2)
    // SAFETY: the name lives for ever, and the tag outlives this value.
    unsafe parameters.initialize(to: OSSL_PARAM_construct_octet_string(Self.tagName, tag, Self.tagSize))
    unsafe (parameters + 1).initialize(to: OSSL_PARAM_construct_end())
  }

  deinit {
    // SAFETY: ours alone; OpenSSL cleanses the key schedule as it frees it.
    unsafe EVP_CIPHER_CTX_free(block)
    unsafe parameters.deallocate()
  }

  /// Encrypts whole blocks of sixteen bytes with AES-256, without a mode.
  @inline(__always) borrowing func encrypt(
    _ input: UnsafeRawPointer, to output: UnsafeMutableRawPointer, byteCount: Int32
  ) -> Bool {
    var written: Int32 = 0
    // SAFETY: both hold `byteCount` bytes, a multiple of sixteen; without padding exactly as many come out.
    return unsafe EVP_EncryptUpdate(
      block, output.assumingMemoryBound(to: UInt8.self), &written,
      input.assumingMemoryBound(to: UInt8.self), byteCount) == 1
  }

  /// A context of AES-256-GCM, without a key and for one direction.
  ///
  /// - Throws: ``CryptoError/outOfMemory``.
  // SAFETY: what makes a context and what frees it are the same provider's.
  borrowing func makeContext() throws(CryptoError) -> CipherContext {
    try unsafe CipherContext(functions.newContext(), free: functions.freeContext)
  }

  /// Seals one message with AES-256-GCM. A nil key keeps the key of the context's message before. The IV has
  /// twelve bytes, the output as many as the plaintext.
  @inline(__always) borrowing func seal(
    in context: borrowing CipherContext, key: UnsafePointer<UInt8>?,
    initialisationVector: UnsafePointer<UInt8>, additionalData: UnsafeRawBufferPointer,
    _ plaintext: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer
  ) -> Bool {
    // SAFETY: the IV has twelve bytes, the key thirty-two, the output room for the plaintext's length.
    let keySize = unsafe key == nil ? 0 : 32
    return unsafe functions.startSealing(context.pointer, key, keySize, initialisationVector, 12, nil) == 1
      && run(context, additionalData, plaintext, to: output)
      && functions.getParameters(context.pointer, parameters) == 1
  }

  /// Opens one message.
  ///
  /// - Returns: Whether it authenticates; where not, `output` may hold unauthenticated bytes that the caller
  ///   wipes.
  @inline(__always) borrowing func open(
    in context: borrowing CipherContext, key: UnsafePointer<UInt8>?,
    initialisationVector: UnsafePointer<UInt8>, additionalData: UnsafeRawBufferPointer,
    _ ciphertext: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer
  ) -> Bool {
    // SAFETY: as for `seal`; the tag is set for each message, in the same call as the IV.
    let keySize = unsafe key == nil ? 0 : 32
    return unsafe functions.startOpening(context.pointer, key, keySize, initialisationVector, 12, parameters)
      == 1 && run(context, additionalData, ciphertext, to: output)
  }

  @inline(__always) private borrowing func run(
    _ context: borrowing CipherContext, _ additionalData: UnsafeRawBufferPointer,
    _ input: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer
  ) -> Bool {
    // SAFETY: as the callers say; GCM puts out as many bytes as it takes in.
    let target = unsafe output.assumingMemoryBound(to: UInt8.self)
    var count = 0
    return unsafe update(additionalData, context, nil) && update(input, context, target)
      && functions.finish(context.pointer, target + input.count, &count, 0) == 1
  }

  /// Has bytes taken in; without a place to put anything, they are additional data.
  @inline(__always) private borrowing func update(
    _ bytes: UnsafeRawBufferPointer, _ context: borrowing CipherContext,
    _ target: UnsafeMutablePointer<UInt8>?
  ) -> Bool {
    // SAFETY: as the callers say.
    guard let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count > 0 else {
      return true
    }
    var count = 0
    return unsafe functions.update(context.pointer, target, &count, bytes.count, start, bytes.count) == 1
  }
}

// MARK: the proof

extension OpenSSL {
  /// Seals messages as EVP does and opens them again, but not with another tag: the first with a key, the
  /// others with the key that was given before, the last of them empty.
  ///
  /// Once in a process: what EVP does for an implementation beyond calling it is written down for OpenSSL's
  /// own alone, and nobody's notes are to be sealed in a way that only this machine could open.
  static func agreesWithEVP(_ functions: CipherFunctions) -> Bool {
    let key = [UInt8](0..<32)
    let tags = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * tagSize, alignment: 8)
    defer { unsafe tags.deallocate() }
    // SAFETY: the tags lie one after the other, and are freed last.
    guard let tag = tags.baseAddress, let mode = try? unsafe OpenSSL(key: key, tag: tag, functions),
      let evp = try? unsafe OpenSSL(key: key, tag: tag + tagSize, CipherFunctions.evp(cipher)),
      let sealing = try? mode.makeContext(), let opening = try? mode.makeContext()
    else { return false }
    let messages = [[UInt8](150..<187), [UInt8](150..<187), []]
    for (place, message) in messages.enumerated() {
      let vector = [UInt8](repeating: UInt8(100 + place), count: 12)
      let given = place == 0 ? key : nil
      var (ours, theirs, opened) = (message, message, message.map { ~$0 })
      // Always with its key: it is the one that must be right.
      guard let context = try? evp.makeContext() else { return false }
      // SAFETY: what comes out is as long as what goes in; the tag's first byte is changed and changed back.
      let agrees = unsafe [UInt8](50..<(place == 2 ? 50 : 71)).withUnsafeBytes { bound in
        let isSealed = unsafe message.withUnsafeBytes { text in
          unsafe mode.seal(
            in: sealing, key: given, initialisationVector: vector, additionalData: bound, text, to: &ours)
            && evp.seal(
              in: context, key: key, initialisationVector: vector, additionalData: bound, text, to: &theirs)
        }
        let isSame = unsafe ours == theirs && tags[..<tagSize].elementsEqual(tags[tagSize...])
        return unsafe ours.withUnsafeBytes { text in
          unsafe tags[0] ^= 1
          let isForgeryOpened = unsafe mode.open(
            in: opening, key: given, initialisationVector: vector, additionalData: bound, text, to: &opened)
          unsafe tags[0] ^= 1
          let isOpened = unsafe mode.open(
            in: opening, key: nil, initialisationVector: vector, additionalData: bound, text, to: &opened)
          return isSealed && isSame && !isForgeryOpened && isOpened && opened == message
        }
      }
      guard agrees else { return false }
    }
    return true
  }

  // MARK: - What makes keys of passwords and of other keys: SHA-256, HMAC, HKDF, scrypt, through OpenSSL 3.0's EVP. None of them is on a hot path.

  private static let digestSize = 32

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

  /// HKDF-SHA256 (RFC 5869), extract and expand.
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

  /// scrypt (RFC 7914). The work factor has been checked by the caller.
  static func scrypt(
    password: RawSpan, salt: [UInt8], n: UInt64, r: UInt64 = 8, p: UInt64 = 1, byteCount: Int = 32
  ) throws(CryptoError) -> Secret {
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

// MARK: - How OpenSSL is told names.

/// The name of an OpenSSL parameter. Parameters keep the pointer, so it must be a literal's, which lives for
/// ever.
func parameterName(_ name: StaticString) -> UnsafePointer<CChar> {
  // SAFETY: a static string's bytes end with a zero.
  unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
}

// MARK: - What a library's cipher keeps between calls.

/// A key that is set up, and the message under way. Used in one direction, by one thread at a time.
@safe struct CipherContext: ~Copyable {
  // SAFETY: ours alone, from the functions that free it.
  let pointer: UnsafeMutableRawPointer
  private let free: @convention(c) (UnsafeMutableRawPointer?) -> Void

  /// Takes what a library has made, and what frees it; nil where there was no memory.
  ///
  /// - Throws: ``CryptoError/outOfMemory``.
  init(
    _ pointer: UnsafeMutableRawPointer?, free: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void
  ) throws(CryptoError) {
    // SAFETY: freed in deinit.
    guard let pointer = unsafe pointer else { throw .outOfMemory }
    unsafe self.pointer = unsafe pointer
    unsafe self.free = unsafe free
  }

  // SAFETY: nobody else has it. OpenSSL cleanses key schedule and hash key as it frees them.
  deinit { unsafe free(pointer) }
}
