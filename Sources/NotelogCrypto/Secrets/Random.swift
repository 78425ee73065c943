// Random bytes, from the system's generator.

enum Random {
  /// Fills memory from the system's generator: keys, salts of slots, fresh entropy.
  static func system(_ buffer: UnsafeMutableRawPointer, byteCount: Int) throws(CryptoError) {
    var offset = 0
    while offset < byteCount {
      let count = min(256, byteCount - offset)
      // SAFETY: within the caller's buffer.
      guard unsafe Platform.systemRandom(buffer + offset, byteCount: count) else { throw .noRandomness }
      offset += count
    }
  }

  /// Random bytes that are no secret: salts, nonces of wraps, ids.
  static func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
    try Secret.random(byteCount: count).array(0..<count)
  }
}
