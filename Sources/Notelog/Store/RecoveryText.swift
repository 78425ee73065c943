// Recovery keys as people write them down (docs/format-keyring.md 10.3).

import NotelogBase
import NotelogCrypto

/// A recovery key's text: 60 letters and digits that can't be taken for each other (Crockford's base 32), in ten groups of six.
///
/// It begins with N1; then come the 32 bytes, in 52 letters, and six letters that check all of it: the checksum of Bech32m, which finds every
/// error in up to four letters, and so each letter typed wrongly and each two exchanged.
enum RecoveryText {
  private static let letters = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
  private static let prefix: [UInt8] = [21, 1]
  private static let checkCount = 6
  private static let bodyCount = 52
  private static let groupSize = 6

  /// The text of 32 bytes.
  static func encode(_ bytes: [UInt8]) -> String {
    precondition(bytes.count == 32)
    var symbols = prefix
    var (bits, bitCount): (UInt32, Int) = (0, 0)
    for byte in bytes + [0] {
      bits = bits << 8 | UInt32(byte)
      bitCount += 8
      while bitCount >= 5, symbols.count < prefix.count + bodyCount {
        bitCount -= 5
        symbols.append(UInt8(bits >> UInt32(bitCount) & 31))
      }
    }
    symbols += checksum(symbols)
    let groups = stride(from: 0, to: symbols.count, by: groupSize).map { start in
      String(decoding: symbols[start..<start + groupSize].map { letters[Int($0)] }, as: UTF8.self)
    }
    return groups.joined(separator: "-")
  }

  /// The 32 bytes of a text. Capitals don't matter, nor do spaces and hyphens; O is 0, and I and L are 1.
  ///
  /// - Throws: `invalidArgument`, which says what is wrong, and in which group, but shows no letter.
  static func decode(_ text: String) throws(NotelogError) -> [UInt8] {
    var symbols: [UInt8] = []
    for character in text.uppercased().unicodeScalars
    where !" -\u{2010}\u{2011}\u{2013}\n\r\t".unicodeScalars.contains(character) {
      let letter: Unicode.Scalar =
        character == "O" ? "0" : character == "I" || character == "L" ? "1" : character
      guard let place = letters.firstIndex(where: { UInt32($0) == letter.value }) else {
        throw refusal("group \(symbols.count / groupSize + 1) has a letter that no recovery key has")
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
      throw refusal("it is no recovery key of this version")
    }
    var bytes: [UInt8] = []
    var (bits, bitCount): (UInt32, Int) = (0, 0)
    for symbol in body.dropFirst(prefix.count) {
      bits = bits << 5 | UInt32(symbol)
      bitCount += 5
      if bitCount >= 8 {
        bitCount -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
      }
    }
    return bytes
  }

  private static func refusal(_ reason: String) -> NotelogError {
    NotelogError(.invalidArgument, "the recovery key is not right: \(reason)")
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
