// The keyring's bytes: damage, forgery, two copies (FORMAT.md 10).

import NotelogBase
import Testing

@testable import NotelogCrypto

@Suite struct KeyringTests {
  static let storeID = ID16(low: 0x1111, high: 0x2222)

  /// A keyring with a raw-key slot, a key of each class and a second generation: small, and quick to unlock.
  static func makeKeyring() throws -> Keyring {
    let vault = try Keyring.create(storeID: storeID, credential: rawKey(1))
    vault.adopt(try vault.changed { try $0.addKey(named: "one", class: .whenUnlocked) })
    vault.adopt(try vault.changed { try $0.addKey(named: "two", class: .afterFirstUnlock) })
    vault.adopt(try vault.changed { try $0.rotate(vault.namedKey("one")) })
    vault.adopt(try vault.changed { try $0.replaceSlots([0], by: rawKey(1)) })
    return vault.keyring
  }

  static func rawKey(_ byte: UInt8) throws -> Credential {
    .rawKey(try secret([UInt8](repeating: byte, count: 32)))
  }

  /// INV-K1.
  @Test func `what is written is read again, to the byte`() throws {
    let keyring = try Self.makeKeyring()
    let bytes = keyring.bytes
    #expect(bytes.count == 72 + 144 + 2 * 128 + 2 * 112 + 3 * 128 + 64)
    let read = try Keyring(parsing: bytes)
    #expect(read == keyring)
    #expect(read.bytes == bytes)
    #expect(read.dataKeys.map(\.generation) == [1, 1, 2])
    #expect(read.namedKeys.map(\.current.rawValue) == [3, 2])
    #expect(read.dataKey(KeyReference(rawValue: 2))?.accessClass == .afterFirstUnlock)
    #expect(read.dataKey(KeyReference(rawValue: 4)) == nil)
  }

  @Test func `every bit of a keyring flipped is reported as damage`() throws {
    let bytes = try Self.makeKeyring().bytes
    for bit in 0..<(8 * bytes.count) {
      let damaged = Self.flip(bytes, bit)
      #expect(throws: Self.damage(bit)) { try Keyring(parsing: damaged) }
    }
  }

  /// What a flipped bit is reported as, without any key.
  private static func damage(_ bit: Int) -> CryptoError {
    if bit < 64 { return .damagedKeyring(.magic) }
    if (96..<128).contains(bit) { return .damagedKeyring(.length) }
    return .damagedKeyring(.digest)
  }

  /// INV-K1, INV-K2, INV-K3. As above, by somebody who knows the format: the digest is made to fit.
  @Test func `every bit forged under a fitting digest is refused by name, and the copy serves`() throws {
    let keyring = try Self.makeKeyring()
    let bytes = keyring.bytes
    for bit in 0..<(8 * (bytes.count - Keyring.digestSize)) {
      let forged = try Self.fixDigest(Self.flip(bytes, bit))
      let error = #expect(throws: CryptoError.self, "bit \(bit)") {
        try Vault(Keyring(parsing: forged)).unlock(Self.rawKey(1))
      }
      #expect(error == Self.forgery(of: bit / 8, error), "bit \(bit)")
    }
    // The MAC's first byte: both copies are sound as files and disagree; the other one unlocks.
    let mac = bytes.count - 64
    let vault = Vault(
      try Keyring(parsing: Self.fixDigest(Self.flip(bytes, 8 * mac))), other: try Keyring(parsing: bytes))
    try vault.unlock(Self.rawKey(1))
    #expect(vault.isServedByOtherCopy && vault.keyring == keyring)
  }

  /// What forging a byte may be reported as. Where a parser refuses first, any of its reasons will do.
  private static func forgery(of offset: Int, _ found: CryptoError?) -> CryptoError? {
    switch found {
    case .damagedKeyring, .unsupported, .limitExceeded: offset < 72 + 144 + 24 + 624 + 384 ? found : nil
    default:
      switch offset {
      // The store id and the slot's type are part of how its key is derived; nonce and commitment say whose
      // it is.
      case 16..<32, 74, 112..<136, 184..<216: .wrongKey
      // Id and root generation are bound to the wrap; its ciphertext and tag are the wrap.
      // The id is 1, and the only other one that the header permits is 0.
      case 76..<80: .tamperedSlot(0)
      case 136..<184: .tamperedSlot(1)
      default: .tamperedKeyring
      }
    }
  }

  @Test func `a keyring cut at any length, or longer than it says, is refused`() throws {
    let bytes = try Self.makeKeyring().bytes
    for count in 0..<bytes.count {
      let error = #expect(throws: CryptoError.self) { try Keyring(parsing: Array(bytes[..<count])) }
      #expect(error == .damagedKeyring(.length))
      #expect(throws: CryptoError.self) { try Keyring(parsing: Self.fixDigest(Array(bytes[..<count]))) }
    }
    #expect(throws: CryptoError.damagedKeyring(.length)) { try Keyring(parsing: bytes + [0]) }
  }

  @Test func `a request for a terabyte of scrypt is refused before any work`() throws {
    let vault = try Keyring.create(
      storeID: Self.storeID, credential: password("p"), work: .forTests)
    let bytes = vault.keyring.bytes
    for value in [UInt8(30), 19, 13, 0, 255] {
      var forged = bytes
      forged[75] = value
      forged = try Self.fixDigest(forged)
      #expect(throws: CryptoError.limitExceeded(.workFactor)) { try Keyring(parsing: forged) }
    }
  }

  @Test(arguments: [
    (8, UInt8(2), CryptoError.unsupported(.keyringVersion(2))),
    (10, 1, .unsupported(.suite(1))),
    (11, 1, .damagedKeyring(.reserved)),
    (220, 77, .unsupported(.accessClass(77))),
    (222, 7, .unsupported(.suite(7))),
  ])
  func `what this version does not know is refused by name`(
    _ offset: Int, _ value: UInt8, _ expected: CryptoError
  ) throws {
    var bytes = try Self.makeKeyring().bytes
    bytes[offset] = value
    let forged = try Self.fixDigest(bytes)
    #expect(throws: expected) { try Keyring(parsing: forged) }
  }

  /// A slot of a kind to come, 200 bytes long.
  private static func laterSlot(_ id: UInt32) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt16(200))
    bytes += [9, 77]
    bytes.append(littleEndian: id)
    return bytes + [UInt8](repeating: 0xA5, count: 192)
  }

  @Test func `a slot of a kind that this version does not know is kept, and opens nothing`() throws {
    var keyring = try Self.makeKeyring()
    let root = try keyring.openSlot(Self.rawKey(1)).key
    let later = Self.laterSlot(keyring.nextSlotID)
    var reader = KeyringCursor(later.rawSpan) { _, _, _ in .library }
    keyring.slots.append(try Keyring.Slot(&reader))
    keyring.nextSlotID += 1
    try keyring.seal(root: root.secret)
    let read = try Keyring(parsing: keyring.bytes)
    #expect(read.slots.map(\.kind) == [.rawKey, nil])
    let vault = Vault(read)
    try vault.unlock(Self.rawKey(1))
    #expect(throws: CryptoError.wrongKey) { try vault.unlock(Self.rawKey(2)) }
    // Nobody could be sure to get in by it.
    #expect(throws: CryptoError.lastSlot) { try vault.changed { try $0.removeSlots([1]) } }
    vault.adopt(try vault.changed { try $0.addSlot(Self.rawKey(3)) })
    #expect(
      String(decoding: vault.keyring.bytes, as: UTF8.self).contains(String(decoding: later, as: UTF8.self)))
    let again = Vault(try Keyring(parsing: vault.keyring.bytes))
    try again.unlock(Self.rawKey(3))
    again.adopt(try again.changed { try $0.removeSlots([2]) })
    #expect(again.keyring.slots.map(\.id) == [1, 3])
    // A length that reaches beyond the file, or below what is read of every slot, is refused.
    for length in [UInt16(0), 7, 4097, 65_535] {
      var forged = keyring.bytes
      forged[216] = UInt8(length & 255)
      forged[217] = UInt8(length >> 8)
      let fitting = try Self.fixDigest(forged)
      #expect(throws: CryptoError.damagedKeyring(.length)) { try Keyring(parsing: fitting) }
    }
  }

  @Test func `a new key and a new generation are read with those that were there`() throws {
    let vault = try Keyring.create(storeID: Self.storeID, credential: Self.rawKey(1))
    vault.adopt(try vault.changed { try $0.addKey(named: "one", class: .whenUnlocked) })
    vault.adopt(try vault.changed { try $0.addKey(named: "two", class: .afterFirstUnlock) })
    vault.adopt(try vault.changed { try $0.rotate(vault.namedKey("one")) })
    let read = try Keyring(parsing: vault.keyring.bytes)
    #expect(read == vault.keyring && read.generation == 4)
    #expect(
      read.dataKeys.map(\.generation) == [1, 1, 2] && read.namedKeys.map(\.current.rawValue) == [3, 2])
    let again = Vault(read)
    try again.unlock(Self.rawKey(1))
    #expect(again.name(ofKey: 1) == "two")
    for reference in 1...3 { _ = try again.sealingKey(KeyReference(rawValue: UInt32(reference))) }
  }

  private static func flip(_ bytes: [UInt8], _ bit: Int) -> [UInt8] {
    var flipped = bytes
    flipped[bit / 8] ^= 1 << UInt8(bit % 8)
    return flipped
  }

  private static func fixDigest(_ bytes: [UInt8]) throws -> [UInt8] {
    let body = Array(bytes.dropLast(Keyring.digestSize))
    return try body + OpenSSL.sha256(body)
  }
}
