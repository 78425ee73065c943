// AES-256-GCM, by the functions of OpenSSL's provider. An Apple build would put CryptoKit behind this file's interface.

import COpenSSL

/// AES-256-GCM, in contexts that are keyed again and again.
///
/// Traps of OpenSSL 3.0 that this type is built around: a key without an IV on a fresh context takes a random
/// IV, silently, so each message gives an IV; an opening context keeps the tag of the message before, so each
/// `open` sets one; a tag of one byte is accepted, so the tag's size is part of the prepared parameter.
@safe struct GaloisCounterMode: ~Copyable {
  static let keySize = 32
  static let tagSize = 16
  private static let vectorSize = 12

  // SAFETY: fetched once and never freed; OpenSSL counts references to it atomically.
  @unsafe private nonisolated(unsafe) static let cipher: OpaquePointer? = unsafe EVP_CIPHER_fetch(
    nil, "AES-256-GCM", nil)

  // SAFETY: the cipher is never freed; here and below.
  static let functions = unsafe choose(CipherFunctions(of: cipher))

  /// The functions of whatever provider EVP would use; EVP's own where they don't do what EVP does.
  static func choose(_ functions: CipherFunctions?) -> CipherFunctions {
    if let functions, agreesWithEVP(functions) { return functions }
    // SAFETY: as above, the cipher is never freed.
    return unsafe CipherFunctions.evp(cipher)
  }

  private let functions: CipherFunctions
  /// The tag as an OpenSSL parameter, ended by an empty one; it points to `tag`.
  private let parameters: UnsafeMutablePointer<OSSL_PARAM>

  /// - Parameters:
  ///   - functions: What does the work.
  ///   - tag: Sixteen bytes that outlive this value, where tags are put and found.
  init(_ functions: CipherFunctions = GaloisCounterMode.functions, tag: UnsafeMutableRawPointer) {
    self.functions = functions
    unsafe parameters = UnsafeMutablePointer<OSSL_PARAM>.allocate(capacity: 2)
    let name = unsafe parameterName("tag")
    // SAFETY: the name lives for ever, and the tag outlives this value.
    unsafe parameters.initialize(to: OSSL_PARAM_construct_octet_string(name, tag, Self.tagSize))
    unsafe (parameters + 1).initialize(to: OSSL_PARAM_construct_end())
  }

  // SAFETY: nobody else points to them.
  deinit { unsafe parameters.deallocate() }

  /// A context without a key, for one direction.
  ///
  /// - Throws: ``CryptoError/outOfMemory``.
  func makeContext() throws(CryptoError) -> CipherContext { try CipherContext(functions) }

  /// One message, its tag left where the parameter points. A nil key keeps the key of the message before.
  @inline(__always) borrowing func seal(
    in context: borrowing CipherContext, key: UnsafePointer<UInt8>?,
    initialisationVector: UnsafePointer<UInt8>, additionalData: UnsafeRawBufferPointer,
    _ plaintext: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer
  ) -> Bool {
    // SAFETY: the IV has twelve bytes, the key thirty-two, the output room for the plaintext's length.
    unsafe start(functions.startSealing, context, key, initialisationVector, nil)
      && run(context, additionalData, plaintext, to: output)
      && functions.getParameters(context.pointer, parameters) == 1
  }

  /// One message, against the tag that stands where the parameter points. A nil key keeps the key before.
  ///
  /// - Returns: Whether it authenticates; where not, `output` holds unauthenticated bytes that the caller
  ///   wipes.
  @inline(__always) borrowing func open(
    in context: borrowing CipherContext, key: UnsafePointer<UInt8>?,
    initialisationVector: UnsafePointer<UInt8>, additionalData: UnsafeRawBufferPointer,
    _ ciphertext: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer
  ) -> Bool {
    // SAFETY: as for `seal`; the tag is set for each message, in the same call as the IV.
    unsafe start(functions.startOpening, context, key, initialisationVector, parameters)
      && run(context, additionalData, ciphertext, to: output)
  }

  @inline(__always) private borrowing func start(
    _ start: CipherFunctions.Start, _ context: borrowing CipherContext, _ key: UnsafePointer<UInt8>?,
    _ initialisationVector: UnsafePointer<UInt8>, _ parameters: UnsafePointer<OSSL_PARAM>?
  ) -> Bool {
    // SAFETY: as the callers say.
    let keySize = unsafe key == nil ? 0 : Self.keySize
    return unsafe start(context.pointer, key, keySize, initialisationVector, Self.vectorSize, parameters) == 1
  }

  @inline(__always) private borrowing func run(
    _ context: borrowing CipherContext, _ additionalData: UnsafeRawBufferPointer,
    _ input: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer
  ) -> Bool {
    // SAFETY: as the callers say; GCM puts out as many bytes as it takes in.
    let context = unsafe context.pointer
    var count = 0
    if let bytes = additionalData.baseAddress, additionalData.count > 0 {
      let bytes = unsafe bytes.assumingMemoryBound(to: UInt8.self)
      // Without a place to put anything, what is taken in is additional data.
      guard
        unsafe functions.update(context, nil, &count, additionalData.count, bytes, additionalData.count) == 1
      else { return false }
    }
    let target = unsafe output.assumingMemoryBound(to: UInt8.self)
    if let bytes = input.baseAddress, input.count > 0 {
      let bytes = unsafe bytes.assumingMemoryBound(to: UInt8.self)
      guard unsafe functions.update(context, target, &count, input.count, bytes, input.count) == 1 else {
        return false
      }
    }
    return unsafe functions.finish(context, target + input.count, &count, 0) == 1
  }
}

// MARK: the proof

extension GaloisCounterMode {
  /// Seals messages as EVP does and opens them again, but not with another tag: the first with a key, the others with the key
  /// that was given before, the last of them empty.
  ///
  /// Once in a process: what EVP does for an implementation beyond calling it is written down for OpenSSL's own alone, and nobody's notes are to be
  /// sealed in a way that only this machine could open.
  static func agreesWithEVP(_ functions: CipherFunctions) -> Bool {
    let key = [UInt8](0..<32)
    let bound = [UInt8](50..<71)
    let message = [UInt8](150..<187)
    // What is sealed, its tag, what EVP seals and its tag, and what is opened.
    let end = message.count + Self.tagSize
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * end + message.count, alignment: 8)
    defer { unsafe memory.deallocate() }
    guard let sealed = memory.baseAddress else { return false }
    // SAFETY: the parts lie within the memory, one after the other.
    let tag = unsafe sealed + message.count
    let mode = unsafe GaloisCounterMode(functions, tag: tag)
    let evp = unsafe GaloisCounterMode(CipherFunctions.evp(cipher), tag: tag + end)
    guard let sealing = try? mode.makeContext(), let opening = try? mode.makeContext() else { return false }
    for (place, (bound, message)) in [(bound, message), (bound, message), ([], [])].enumerated() {
      let vector = [UInt8](repeating: UInt8(100 + place), count: vectorSize)
      let given = place == 0 ? key : nil
      unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
      // Always with its key: it is the one that must be right.
      guard let context = try? evp.makeContext() else { return false }
      let agrees = unsafe bound.withUnsafeBytes { bound in
        unsafe message.withUnsafeBytes { message in
          let ciphertext = unsafe UnsafeRawBufferPointer(start: sealed, count: message.count)
          guard
            unsafe mode.seal(
              in: sealing, key: given, initialisationVector: vector, additionalData: bound, message,
              to: sealed),
            unsafe evp.seal(
              in: context, key: key, initialisationVector: vector, additionalData: bound, message,
              to: sealed + end), unsafe memory[..<end].elementsEqual(memory[end..<2 * end])
          else { return false }
          // SAFETY: the tag's first byte; here and below.
          unsafe memory[tag - sealed] ^= 1
          guard
            unsafe !mode.open(
              in: opening, key: given, initialisationVector: vector, additionalData: bound, ciphertext,
              to: sealed + 2 * end)
          else { return false }
          unsafe memory[tag - sealed] ^= 1
          return unsafe mode.open(
            in: opening, key: nil, initialisationVector: vector, additionalData: bound, ciphertext,
            to: sealed + 2 * end) && memory[2 * end..<2 * end + message.count].elementsEqual(message)
        }
      }
      guard agrees else { return false }
    }
    return true
  }
}
