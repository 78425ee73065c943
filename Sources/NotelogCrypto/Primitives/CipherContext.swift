// What a provider's cipher keeps between calls.

/// A key that is set up, and the message under way. Used in one direction, by one thread at a time.
@safe struct CipherContext: ~Copyable {
  // SAFETY: ours alone, from the functions that free it.
  let pointer: UnsafeMutableRawPointer
  private let free: @convention(c) (UnsafeMutableRawPointer?) -> Void

  /// - Throws: ``CryptoError/outOfMemory``.
  init(_ functions: CipherFunctions) throws(CryptoError) {
    // SAFETY: freed in deinit.
    guard let pointer = unsafe functions.newContext() else { throw .outOfMemory }
    unsafe self.pointer = unsafe pointer
    unsafe free = functions.freeContext
  }

  // SAFETY: nobody else has it. OpenSSL cleanses key schedule and hash key as it frees them.
  deinit { unsafe free(pointer) }
}
