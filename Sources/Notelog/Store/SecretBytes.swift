// Secret bytes for apps: a password as it is read, the unlock root as it is kept.

import Foundation
import NotelogBase
import NotelogCrypto

/// Bytes that nobody else may see: in memory of their own that is locked against swapping and left out of core dumps, where the system
/// grants it (``StoreInfo/memoryNote``), and wiped when the last reference to them goes.
///
/// They can't be compared or printed.
public final class SecretBytes: Sendable {
  /// The most bytes that one may have.
  public static let byteCountMax = 4096

  let secret: Secret

  private init(_ secret: consuming Secret) { self.secret = secret }

  /// Takes bytes as they are written into the memory, so that they are never anywhere else.
  ///
  /// - Parameters:
  ///   - capacity: How many bytes there may be: up to ``byteCountMax``.
  ///   - body: Writes them into memory that is zero, and returns how many they are.
  /// - Throws: `limitExceeded`, `inputOutput` where there is no memory; what the closure throws.
  public convenience init(
    capacity: Int, filling body: (inout MutableRawSpan) throws -> Int
  ) throws {
    var whole = try Self.room(for: capacity)
    var span = whole.mutableBytes
    let count = try body(&span)
    precondition((0...capacity).contains(count), "there are no more bytes than there is room for")
    if count == capacity {
      self.init(whole)
    } else {
      self.init(
        try naming("making room for a secret") { () throws(CryptoError) in
          try Secret(copying: whole.bytes.extracting(0..<count))
        })
    }
  }

  /// How many bytes there are.
  public var byteCount: Int { secret.byteCount }

  /// Takes a copy of bytes that are no secret, with a secret behind them: a message, for instance.
  ///
  /// - Parameters:
  ///   - start: What comes first.
  ///   - rest: What comes then; nil for nothing.
  /// - Throws: `limitExceeded`, `inputOutput` where there is no memory.
  public convenience init(_ start: [UInt8], followedBy rest: SecretBytes? = nil) throws {
    var whole = try Self.room(for: start.count + (rest?.byteCount ?? 0))
    whole.fill(start)
    if let rest { Self.copy(rest.secret, to: &whole, at: start.count) }
    self.init(whole)
  }

  private static func room(for byteCount: Int) throws(NotelogError) -> Secret {
    guard (0...byteCountMax).contains(byteCount) else {
      throw NotelogError(.limitExceeded, "secret bytes are at most \(byteCountMax)")
    }
    return try naming("making room for a secret") { () throws(CryptoError) in
      try Secret(byteCount: byteCount)
    }
  }

  private static func copy(_ source: borrowing Secret, to whole: inout Secret, at offset: Int) {
    var span = whole.mutableBytes
    span.copy(source.bytes, at: offset)
  }

  /// A part of the bytes, in memory of its own.
  ///
  /// - Parameter range: Which of them: within 0 and ``byteCount``.
  /// - Returns: The part.
  /// - Throws: `inputOutput` where there is no memory.
  public func extracting(_ range: Range<Int>) throws -> SecretBytes {
    precondition(range.lowerBound >= 0 && range.upperBound <= byteCount, "a part lies within the whole")
    return SecretBytes(
      try naming("making room for a secret") { () throws(CryptoError) in try Self.part(of: secret, range) })
  }

  private static func part(of secret: borrowing Secret, _ range: Range<Int>) throws(CryptoError) -> Secret {
    try Secret(copying: secret.bytes.extracting(range))
  }

  /// Lends the bytes to a closure.
  ///
  /// - Parameter body: Reads them.
  /// - Returns: What the closure returned.
  /// - Throws: What the closure threw.
  public func withBytes<Result>(_ body: (RawSpan) throws -> Result) rethrows -> Result {
    try Self.lend(secret, body)
  }

  private static func lend<Result>(
    _ secret: borrowing Secret, _ body: (RawSpan) throws -> Result
  ) rethrows -> Result {
    try body(secret.bytes)
  }

  /// A password's bytes in Unicode's normal form C. Most are already; those that aren't go through a `String`, which stays in ordinary
  /// memory until that is used again.
  func normalizedCopy() throws(CryptoError) -> Secret { try Self.normalizedCopy(secret) }

  private static func normalizedCopy(_ secret: borrowing Secret) throws(CryptoError) -> Secret {
    let bytes = Span<UInt8>(_bytes: secret.bytes)
    guard var text = try? UTF8Span(validating: bytes) else { return try secret.copy() }
    if text.checkForNFC(quickCheck: false) { return try secret.copy() }
    return try Secret(utf8: String(copying: text).precomposedStringWithCanonicalMapping)
  }

  /// A copy of the unlock root.
  static func root(of vault: Vault) throws(NotelogError) -> SecretBytes {
    SecretBytes(try naming("asking for the unlock root") { () throws(CryptoError) in try vault.rootCopy() })
  }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
  /// How many bytes there are, and nothing of them.
  public var description: String { "\(byteCount) secret bytes" }
  /// Nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
