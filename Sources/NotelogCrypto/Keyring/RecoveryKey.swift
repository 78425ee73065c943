// A recovery key as somebody writes it down (FORMAT.md 21.4).

/// Thirty-two random bytes as text: fourteen groups of four letters and digits, the last of which check the others.
package enum RecoveryKey {
  /// Crockford's base 32: no I, L, O or U, so that nothing is mistaken for 1, 0 or V.
  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
  private static let checkSize = 3
  private static let groupSize = 4

  /// A new one, from the system's generator.
  package static func random(in memory: SecretMemory = .shared) throws(CryptoError) -> Secret {
    try Secret.random(byteCount: Credential.keySize, in: memory)
  }

  /// The text to show once. A `String` stays in memory, beyond our reach.
  package static func text(of key: borrowing Secret) throws(CryptoError) -> String {
    guard key.byteCount == Credential.keySize else { throw .limitExceeded(.secret) }
    let bytes = key.array(0..<key.byteCount)
    let checked = bytes + (try check(bytes))
    var letters: [UInt8] = []
    for index in 0..<(checked.count * 8 / 5) {
      let bits = (0..<5).reduce(0) { value, bit in
        let position = 5 * index + bit
        return value << 1 | Int(checked[position / 8] >> UInt8(7 - position % 8) & 1)
      }
      if index > 0, index.isMultiple(of: groupSize) { letters.append(UInt8(ascii: "-")) }
      letters.append(alphabet[bits])
    }
    return String(decoding: letters, as: UTF8.self)
  }

  /// The key behind a text. Case, spaces and hyphens don't matter; O is read as 0, I and L as 1.
  ///
  /// - Throws: ``CryptoError/wrongKey`` where a letter is none of the alphabet's, or the check fails: a slip of the
  ///   pen is found before any slot is tried.
  package static func key(from text: String, in memory: SecretMemory = .shared) throws(CryptoError) -> Secret
  {
    var bits: [UInt8] = []
    for character in text.uppercased() where character != "-" && !character.isWhitespace {
      let letter: Character = character == "O" ? "0" : character == "I" || character == "L" ? "1" : character
      guard let ascii = letter.asciiValue, let value = alphabet.firstIndex(of: ascii) else { throw .wrongKey }
      bits += (0..<5).map { UInt8(value >> (4 - $0) & 1) }
    }
    guard bits.count == 8 * (Credential.keySize + checkSize) else { throw .wrongKey }
    let bytes = stride(from: 0, to: bits.count, by: 8).map { start in
      bits[start..<start + 8].reduce(0) { $0 << 1 | $1 }
    }
    let key = Array(bytes.prefix(Credential.keySize))
    guard Derivation.areEqual(try check(key), Array(bytes.suffix(checkSize))) else { throw .wrongKey }
    var secret = try Secret(byteCount: key.count, in: memory)
    secret.fill(key)
    return secret
  }

  private static func check(_ key: [UInt8]) throws(CryptoError) -> [UInt8] {
    Array(try Derivation.sha256(Array("NL1/recovery".utf8) + key).prefix(checkSize))
  }
}
