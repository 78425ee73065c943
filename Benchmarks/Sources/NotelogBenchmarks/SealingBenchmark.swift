// The sealing hot path, for the Benchmarks package to measure (FORMAT.md 11).

import NotelogCrypto

/// A data key in memory, sealed and opened with as the store does, one value after another.
///
/// Not a part of the library's interface: a target of the library's package, so that it reaches what apps
/// don't.
public final class SealingBenchmark: Sendable {
  private let key: SealingKey

  /// What sealing adds to a value.
  public static let overhead = SealedValue.overhead

  /// A key of equal bytes.
  ///
  /// - Parameter byte: The key's thirty-two bytes.
  /// - Throws: What the system refuses: memory, random bytes.
  public init(keyByte byte: UInt8) throws {
    var secret = try Secret(byteCount: 32)
    secret.fill([UInt8](repeating: byte, count: 32))
    key = SealingKey(reference: KeyReference(rawValue: 1), accessClass: .whenUnlocked, key: secret)
  }

  /// Seals a value again and again into the same buffer, under the nonces of one run, as a transaction does.
  ///
  /// - Parameters:
  ///   - plaintext: The value.
  ///   - additionalData: What it is bound to.
  ///   - output: ``overhead`` bytes more than the value.
  ///   - count: How often.
  /// - Throws: What sealing throws.
  public func seal(
    _ plaintext: RawSpan, additionalData: RawSpan, into output: inout MutableRawSpan, count: Int
  ) throws {
    var run = NonceRun()
    for _ in 0..<count {
      try key.seal(plaintext, additionalData: additionalData, nonces: &run, into: &output)
    }
  }

  /// Opens values in turn, so that no key derived for one serves the next.
  ///
  /// - Parameters:
  ///   - first: A sealed value.
  ///   - second: Another of the same length.
  ///   - additionalData: What both are bound to.
  ///   - output: ``overhead`` bytes fewer than a sealed value.
  ///   - count: How many are opened in all.
  /// - Throws: What opening throws.
  public func open(
    _ first: RawSpan, _ second: RawSpan, additionalData: RawSpan, into output: inout MutableRawSpan,
    count: Int
  ) throws {
    for index in 0..<count {
      try key.open(index & 1 == 0 ? first : second, additionalData: additionalData, into: &output)
    }
  }
}
