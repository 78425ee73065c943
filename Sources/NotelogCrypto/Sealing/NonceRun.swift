// Nonces of values that are sealed together: one salt, IVs that count (FORMAT.md 21.5, decision 0001).

/// Nonces that share a salt, so that values sealed in one transaction share a derived key.
///
/// Make one a transaction and hand it to each `seal` in it. It draws its first nonce from the system's
/// generator when the first value is sealed, and another whenever 4,096 are used up. It cannot be copied: a
/// copy would repeat its nonces.
package struct NonceRun: ~Copyable, Sendable {
  /// Values under one salt: far fewer than the two bytes that count can tell apart, so none repeats.
  static let countMax = 4_096

  /// Salt and IV as three little-endian words; the last two bytes of the IV count.
  var words = InlineArray<3, UInt64>(repeating: 0)
  private var left = 0

  package init() {}

  /// Moves on to the next nonce: the last two bytes of the IV count up from where they started, and around.
  ///
  /// - Returns: Whether there is one; not where the system gives no random bytes.
  @inline(__always) mutating func advance() -> Bool {
    guard left > 0 else { return draw() }
    left -= 1
    words[2] &+= 1 << 48
    return true
  }

  @inline(never) private mutating func draw() -> Bool {
    var span = words.mutableSpan
    // SAFETY: three words are the nonce's twenty-four bytes; any bits are words.
    let isDrawn = unsafe span.withUnsafeMutableBytes { bytes in
      guard let start = bytes.baseAddress else { return false }
      return unsafe Platform.systemRandom(start, byteCount: SealedValue.nonceSize)
    }
    if isDrawn { left = Self.countMax - 1 }
    return isDrawn
  }
}
