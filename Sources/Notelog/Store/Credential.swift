// What opens a store's keys.

import Foundation
import NotelogBase
import NotelogCrypto

/// A secret that one of the keyring's slots accepts.
public enum Credential: Sendable, Opaque, CustomStringConvertible {
  /// A password, which is not empty. It is brought into Unicode's normal form C, so that it doesn't depend on
  /// the keyboard.
  case password(String)
  /// A password's UTF-8 in memory that is wiped; what is in normal form C already, as most is, is never in a
  /// `String`.
  case passwordBytes(SecretBytes)
  /// 32 random bytes, kept by the app: in a keychain, for instance.
  case key([UInt8])
  /// The same 32 bytes in memory that is wiped.
  case keyBytes(SecretBytes)
  /// The 32 bytes of a recovery key that somebody wrote down.
  case recoveryKey([UInt8])
  /// What ``Store/unlockRoot()`` gave, of this store: it unlocks the store, and is in no slot of its keyring.
  /// It is refused as `wrongPassword` where it is not the store's root (any more), or the keyring was altered.
  case root(SecretBytes)

  /// Refuses a password that is none, where it would become one. A store that has it already is opened with
  /// it.
  func refuseEmpty(_ place: String) throws(NotelogError) {
    switch self {
    case .password(""): break
    case .passwordBytes(let bytes) where bytes.byteCount == 0: break
    default: return
    }
    var error = NotelogError(.invalidArgument, "\(place): a password must not be empty")
    error.sentence = "A password must not be empty."
    throw error
  }

  /// The secret in memory of its own. What is none of its kind is refused, in words that say what one is.
  func secret(_ place: String) throws(NotelogError) -> NotelogCrypto.Credential {
    if case .root = self { throw NotelogError(.invalidArgument, "\(place): an unlock root is in no slot") }
    let secret = try naming(place, copied())
    let (size, max) = (NotelogCrypto.Credential.keySize, NotelogCrypto.Credential.passwordByteCountMax)
    switch secret.kind {
    case .password where secret.byteCount > max:
      throw NotelogError(.invalidArgument, "\(place): a password has at most \(max) bytes of UTF-8")
    case .rawKey where secret.byteCount != size, .recoveryKey where secret.byteCount != size:
      throw NotelogError(
        .invalidArgument, "\(place): \(self) has exactly \(size) bytes, this one has \(secret.byteCount)")
    default: return secret
    }
  }

  private func copied() throws(CryptoError) -> NotelogCrypto.Credential {
    switch self {
    case .password(let text): .password(try Secret(utf8: text.precomposedStringWithCanonicalMapping))
    case .passwordBytes(let bytes): .password(try bytes.secret.normalizedCopy())
    case .key(let bytes): .rawKey(try Secret(copying: bytes.rawSpan))
    case .keyBytes(let bytes), .root(let bytes): .rawKey(try bytes.secret.copy())
    case .recoveryKey(let bytes): .recoveryKey(try Secret(copying: bytes.rawSpan))
    }
  }

  /// The kind of secret, and nothing of the secret.
  public var description: String {
    switch self {
    case .password, .passwordBytes: "a password"
    case .key, .keyBytes: "a key"
    case .recoveryKey: "a recovery key"
    case .root: "an unlock root"
    }
  }
}

// MARK: - Recovery keys as people write them down (docs/format-keyring.md 10.3).

// A recovery key's text: 60 letters and digits that can't be taken for each other (Crockford's base 32), in
// ten groups of six.
//
// It begins with N1; then come the 32 bytes, in 52 letters, and six letters that check all of it: the
// checksum of Bech32m, which finds every error in up to four letters, and so each letter typed wrongly and
// each two exchanged.
extension Credential {
  private static let letters = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
  private static let prefix: [UInt8] = [21, 1]
  /// Of a head: H1.
  static let headPrefix: [UInt8] = [17, 1]
  private static let checkCount = 6
  private static let bodyCount = 52
  private static let groupSize = 6

  /// The text of a recovery key's 32 bytes.
  static func recoveryText(_ bytes: [UInt8], _ prefix: [UInt8] = prefix) -> String {
    precondition(bytes.count == 32)
    var symbols = prefix + regrouped(bytes + [0], from: 8, to: 5)
    symbols += checksum(symbols)
    let groups = stride(from: 0, to: symbols.count, by: groupSize).map { start in
      String(decoding: symbols[start..<start + groupSize].map { letters[Int($0)] }, as: UTF8.self)
    }
    return groups.joined(separator: "-")
  }

  /// A recovery key from its text, as `Store.addRecoveryKey()` gave it. Capitals, spaces and hyphens don't
  /// matter.
  ///
  /// - Throws: `invalidArgument` where a letter was typed wrongly, left out or exchanged: it says in which
  ///   group, where that can be told, but shows no letter.
  public static func recoveryKey(text: String) throws -> Credential {
    .recoveryKey(try bytes(text, prefix, "recovery key"))
  }

  /// The 32 bytes of a text that begins with N1 or H1.
  static func bytes(_ text: String, _ prefix: [UInt8], _ what: String) throws(NotelogError) -> [UInt8] {
    func refusal(_ reason: String) -> NotelogError {
      NotelogError(.invalidArgument, "the \(what) is not right: \(reason)")
    }
    var symbols: [UInt8] = []
    for character in text.uppercased().unicodeScalars
    where !" -\u{2010}\u{2011}\u{2013}\n\r\t".unicodeScalars.contains(character) {
      // O is 0, and I and L are 1.
      let letter: Unicode.Scalar =
        character == "O" ? "0" : character == "I" || character == "L" ? "1" : character
      guard let place = letters.firstIndex(where: { UInt32($0) == letter.value }) else {
        throw refusal("group \(symbols.count / groupSize + 1) has a letter that no \(what) has")
      }
      symbols.append(UInt8(place))
    }
    let count = prefix.count + bodyCount + checkCount
    guard symbols.count == count else {
      throw refusal("it has \(symbols.count) letters and digits, not \(count)")
    }
    let body = Array(symbols.dropLast(checkCount))
    guard checksum(body) == Array(symbols.suffix(checkCount)) else {
      guard let group = groupOfOneError(symbols) else { throw refusal("it was not typed as it was printed") }
      throw refusal("something was typed wrongly in group \(group)")
    }
    guard body.starts(with: prefix), let last = body.last, last & 15 == 0 else {
      throw refusal("it is no \(what) of this version")
    }
    return regrouped(body.dropFirst(prefix.count), from: 5, to: 8)
  }

  /// The same bits in groups of another size; what fills none at the end is left out.
  private static func regrouped(_ groups: some Sequence<UInt8>, from oldSize: UInt32, to size: UInt32)
    -> [UInt8]
  {
    var (bits, bitCount): (UInt32, UInt32) = (0, 0)
    var regrouped: [UInt8] = []
    for group in groups {
      bits = bits << oldSize | UInt32(group)
      bitCount += oldSize
      while bitCount >= size {
        bitCount -= size
        regrouped.append(UInt8(truncatingIfNeeded: bits >> bitCount & (1 << size - 1)))
      }
    }
    return regrouped
  }

  /// Bech32m's checksum (BIP 350), without a prefix before the symbols.
  private static func checksum(_ symbols: [UInt8]) -> [UInt8] {
    let value = remainder(symbols + [UInt8](repeating: 0, count: checkCount)) ^ 0x2BC8_30A3
    return (0..<checkCount).map { UInt8(value >> UInt32(5 * (checkCount - 1 - $0)) & 31) }
  }

  private static func remainder(_ symbols: [UInt8]) -> UInt32 { symbols.reduce(1) { step($0, $1) } }

  private static func step(_ value: UInt32, _ symbol: UInt8) -> UInt32 {
    let generators: [UInt32] = [0x3B6A_57B2, 0x2650_8E6D, 0x1EA1_19FA, 0x3D42_33DD, 0x2A14_62B3]
    var next = (value & 0x1FF_FFFF) << 5 ^ UInt32(symbol)
    for (bit, generator) in generators.enumerated() where value >> (25 + UInt32(bit)) & 1 == 1 {
      next ^= generator
    }
    return next
  }

  /// The group in which changing one letter would make the text right: nobody is told which letter.
  private static func groupOfOneError(_ symbols: [UInt8]) -> Int? {
    let wanted = remainder(symbols) ^ 0x2BC8_30A3
    // What each difference in a letter changes in the remainder, from the last letter on: the code is linear.
    var effects = (UInt32(1)..<32).map { $0 }
    for place in symbols.indices.reversed() {
      if effects.contains(wanted) { return place / groupSize + 1 }
      effects = effects.map { step($0, 0) }
    }
    return nil
  }
}

// MARK: - Secret bytes for apps: a password as it is read, the unlock root as it is kept.

/// Bytes that nobody else may see: in memory of their own that is locked against swapping and left out of
/// core dumps, where the system grants it (``StoreInfo/memoryNote``), and wiped when the last reference to
/// them goes.
///
/// They can't be compared or printed.
public final class SecretBytes: Sendable {
  /// The most bytes that one may have.
  public static let byteCountMax = 4096

  let secret: Secret

  init(_ secret: consuming Secret) { self.secret = secret }

  /// Takes bytes as they are written into the memory, so that they are never anywhere else.
  ///
  /// - Parameters:
  ///   - capacity: How many bytes there may be: up to ``byteCountMax``.
  ///   - body: Writes them into memory that is zero, and returns how many they are.
  /// - Throws: `limitExceeded`, `inputOutput` where there is no memory; what the closure throws.
  public convenience init(
    capacity: Int, filling body: (inout MutableRawSpan) throws -> Int
  ) throws {
    var whole = try Self.room(for: capacity) { () throws(CryptoError) in try Secret(byteCount: capacity) }
    var span = whole.mutableBytes
    let count = try body(&span)
    precondition((0...capacity).contains(count), "there are no more bytes than there is room for")
    self.init(try Self.room(for: count) { () throws(CryptoError) in try whole.copy(0..<count) })
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
    self.init(
      try Self.room(for: start.count + (rest?.byteCount ?? 0)) { () throws(CryptoError) in
        let start = try Secret(copying: start.rawSpan)
        guard let rest else { return start }
        return try Secret(joining: start, rest.secret)
      })
  }

  private static func room(
    for byteCount: Int, _ make: () throws(CryptoError) -> Secret
  ) throws(NotelogError) -> Secret {
    guard (0...byteCountMax).contains(byteCount) else {
      throw NotelogError(.limitExceeded, "secret bytes are at most \(byteCountMax)")
    }
    return try naming("making room for a secret", make())
  }

  /// A part of the bytes, in memory of its own.
  ///
  /// - Parameter range: Which of them: within 0 and ``byteCount``.
  /// - Returns: The part.
  /// - Throws: `inputOutput` where there is no memory.
  public func extracting(_ range: Range<Int>) throws -> SecretBytes {
    precondition(range.lowerBound >= 0 && range.upperBound <= byteCount, "a part lies within the whole")
    return SecretBytes(
      try Self.room(for: range.count) { () throws(CryptoError) in try secret.copy(range) })
  }

  /// Lends the bytes to a closure.
  ///
  /// - Parameter body: Reads them.
  /// - Returns: What the closure returned.
  /// - Throws: What the closure threw.
  public func withBytes<Result>(_ body: (RawSpan) throws -> Result) rethrows -> Result {
    try secret.withBytes(body)
  }
}

extension Secret {
  /// A password's bytes in Unicode's normal form C. Most are already; those that aren't go through a
  /// `String`, which stays in ordinary memory until that is used again.
  borrowing func normalizedCopy() throws(CryptoError) -> Secret {
    guard var text = try? UTF8Span(validating: Span<UInt8>(_bytes: bytes)) else { return try copy() }
    if text.checkForNFC(quickCheck: false) { return try copy() }
    return try Secret(utf8: String(copying: text).precomposedStringWithCanonicalMapping)
  }
}

extension SecretBytes: CustomStringConvertible, Opaque {
  /// How many bytes there are, and nothing of them.
  public var description: String { "\(byteCount) secret bytes" }
}
