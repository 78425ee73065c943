// What a library's cipher keeps between calls.

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
