// Recovery keys as text: what is written down is read again, and slips are found (FORMAT.md 21.4).

import Testing

@testable import NotelogCrypto

@Suite struct RecoveryKeyTests {
  @Test func `what is written down is read again, however it is typed`() throws {
    for _ in 0..<20 {
      let key = try RecoveryKey.random()
      let text = try RecoveryKey.text(of: key)
      #expect(text.count == 14 * 4 + 13 && text.split(separator: "-").allSatisfy { $0.count == 4 })
      let typed = [
        text, text.lowercased(), text.replacing("-", with: " "), text.replacing("-", with: ""),
        text.replacing("0", with: "o").replacing("1", with: "l"),
      ]
      for text in typed {
        let read = try RecoveryKey.key(from: text)
        #expect(reveal(read) == reveal(key))
      }
    }
  }

  @Test func `a slip of the pen is found before any slot is tried`() throws {
    let key = try secret((0..<32).map { UInt8($0 &* 7) })
    let letters = Array(try RecoveryKey.text(of: key))
    for index in letters.indices where letters[index] != "-" {
      var slipped = letters
      slipped[index] = slipped[index] == "7" ? "8" : "7"
      let text = String(slipped)
      #expect(throws: CryptoError.wrongKey) { _ = try RecoveryKey.key(from: text) }
    }
    for text in [
      "", "A", String(letters.dropLast()), String(letters) + "0", "U" + String(letters.dropFirst()),
    ] {
      #expect(throws: CryptoError.wrongKey) { _ = try RecoveryKey.key(from: text) }
    }
  }

  @Test func `a recovery key that was written down unlocks`() throws {
    let key = try RecoveryKey.random()
    let text = try RecoveryKey.text(of: key)
    let vault = try Keyring.create(
      storeID: .zero, credential: .recoveryKey(key), nonces: NonceSource())
    vault.lock(.everything)
    try vault.unlock(.recoveryKey(RecoveryKey.key(from: text)))
    #expect(vault.isUnlocked)
  }
}
