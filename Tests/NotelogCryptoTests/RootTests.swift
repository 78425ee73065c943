// Unlocking with the root itself: what is checked, and in which order.

import NotelogBase
import Testing

@testable import NotelogCrypto

@Suite struct RootTests {
  private func makeVault() throws -> Vault {
    let vault = try Keyring.create(
      storeID: ID16(low: 1, high: 2), credential: .rawKey(try secret([UInt8](repeating: 1, count: 32))))
    vault.adopt(try vault.changed { try $0.addKey(named: "first", class: .whenUnlocked) })
    return vault
  }

  @Test func `the root opens keys and names, and schemas are checked before any key is usable`() throws {
    let vault = try makeVault()
    let root = try vault.rootCopy()
    let schema: [UInt8] = [1, 2, 3]
    let mac = try unsafe vault.schemaMAC(schema.span.bytes)
    vault.lock(everything: true)
    #expect(throws: CryptoError.rootLocked) { _ = try vault.rootCopy() }
    #expect(throws: CryptoError.tamperedSchema(0)) {
      try vault.unlock(root: root, checking: [(bytes: [1, 2, 4], mac: mac)])
    }
    #expect(!vault.isUnlocked)
    try vault.unlock(root: root, checking: [(bytes: schema, mac: mac)])
    _ = try vault.sealingKey(try vault.namedKey("first").current)
    vault.close()
    #expect(throws: CryptoError.closed) { _ = try vault.rootCopy() }
  }

  @Test func `every bit of a root matters`() throws {
    let vault = try makeVault()
    let root = reveal(try vault.rootCopy())
    vault.lock(everything: true)
    for bit in 0..<8 * root.count {
      var wrong = root
      wrong[bit >> 3] ^= 1 << UInt8(bit & 7)
      #expect(throws: CryptoError.wrongKey) { try vault.unlock(root: try secret(wrong)) }
    }
    #expect(!vault.isUnlocked)
  }
}
