// Two copies of a keyring: which of them counts, and what is reported (docs/format-keyring.md 10.9).

import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog
@testable import NotelogCrypto

@Suite struct TwinFileTests {
  private static let storeID = ID16(low: 0x1111, high: 0x2222)

  private static func credential(_ byte: UInt8) throws(CryptoError) -> NotelogCrypto.Credential {
    .rawKey(try Secret(copying: [UInt8](repeating: byte, count: 32).rawSpan))
  }

  private static func makeVault() throws -> Vault {
    let vault = try Keyring.create(storeID: storeID, credential: credential(1))
    vault.adopt(
      try vault.changing { change throws(CryptoError) in try change.addKey(named: "one", class: .whenUnlocked)
      })
    return vault
  }

  /// What is read where the two files hold these bytes; nil is no file.
  private static func read(
    _ first: [UInt8]?, _ copy: [UInt8]?, of storeID: ID16? = storeID
  ) -> TwinFile {
    let disk = SimulatedDisk()
    disk.replace(KeyringFiles.name, with: first)
    disk.replace(KeyringFiles.copyName, with: copy)
    return KeyringFiles(storage: disk).read(of: storeID)
  }

  @Test func `every bit of a file flipped, the other one serves and the damage is reported`() throws {
    let keyring = try Self.makeVault().keyring
    for bit in 0..<(8 * keyring.bytes.count) {
      var damaged = keyring.bytes
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      let first = Self.read(damaged, keyring.bytes)
      #expect(first.newest == keyring && first.finding == TwinFinding(first: .unreadable), "bit \(bit)")
      let copy = Self.read(keyring.bytes, damaged)
      #expect(copy.newest == keyring && copy.finding == TwinFinding(copy: .unreadable), "bit \(bit)")
      let neither = Self.read(damaged, damaged)
      #expect(neither.newest == nil && neither.failure?.code == .damaged, "bit \(bit)")
    }
  }

  /// INV-K4: of two of the same generation that differ, the first one counts.
  @Test func `the newer of two files wins, and it is reported`() throws {
    let vault = try Self.makeVault()
    let old = vault.keyring
    let one = try vault.changing { change throws(CryptoError) in
      try change.addKey(named: "two", class: .whenUnlocked)
    }.keyring
    vault.adopt(
      try vault.changing { change throws(CryptoError) in
        try change.addKey(named: "three", class: .whenUnlocked)
      })
    let new = vault.keyring
    #expect(Self.read(new.bytes, new.bytes).finding == TwinFinding())
    #expect(Self.read(new.bytes, new.bytes).other == nil)
    let (olderCopy, older) = (Self.read(new.bytes, old.bytes), Self.read(old.bytes, new.bytes))
    #expect(olderCopy.finding == TwinFinding(copy: .older) && older.finding == TwinFinding(first: .older))
    for found in [olderCopy, older] { #expect(found.newest == new && found.other == old) }
    let different = Self.read(one.bytes, new.bytes)
    #expect(different.newest == one && different.other == new)
    #expect(different.finding == TwinFinding(copy: .different))
    #expect(Self.read(new.bytes, nil).finding == TwinFinding(copy: .missing))
    #expect(Self.read(nil, new.bytes).finding == TwinFinding(first: .missing))
    #expect(Self.read(nil, nil).newest == nil && Self.read(nil, nil).failure == nil)
    #expect(Self.read(new.bytes, old.bytes, of: .zero).newest == nil)
  }

  @Test func `a copy in another folder is made of the file that is sound, or as they are`() throws {
    let vault = try Self.makeVault()
    let old = vault.keyring.bytes
    vault.adopt(
      try vault.changing { change throws(CryptoError) in try change.addKey(named: "two", class: .whenUnlocked)
      })
    let new = vault.keyring.bytes
    let torn = Array(new.prefix(100))
    let cases: [([UInt8]?, [UInt8]?, [UInt8]?, [UInt8]?)] = [
      (new, new, new, new), (new, old, new, old), (old, new, old, new), (torn, new, new, new),
      (new, nil, new, new), (torn, nil, torn, nil),
    ]
    for (first, copy, expected, expectedCopy) in cases {
      let target = SimulatedDisk()
      try Self.read(first, copy).copy(to: target)
      #expect(target.contents(KeyringFiles.name) == expected)
      #expect(target.contents(KeyringFiles.copyName) == expectedCopy)
    }
  }

  /// INV-K5. Both files are replaced one after the other; a crash leaves any of these pairs.
  @Test func `whatever a crash leaves of a changed credential opens with the old or the new one`() throws {
    let vault = try Keyring.create(storeID: Self.storeID, credential: Self.credential(1))
    let old = vault.keyring.bytes
    let new = try vault.changing { change throws(CryptoError) in
      try change.replaceSlots([0], by: Self.credential(2))
    }.keyring.bytes
    let torn = Array(new.prefix(100)) + [UInt8](repeating: 0, count: new.count - 100)
    let pairs: [([UInt8]?, [UInt8]?, UInt8)] = [
      (old, old, 1), (torn, old, 1), (nil, old, 1), (new, old, 2), (new, torn, 2), (new, nil, 2),
      (new, new, 2),
      (old, torn, 1), (old, new, 2),
    ]
    for (first, copy, expected) in pairs {
      let found = Self.read(first, copy)
      let opened = Vault(try #require(found.newest), other: found.other)
      try opened.unlock(Self.credential(expected))
      opened.lock(everything: true)
      #expect(throws: CryptoError.wrongKey) { try opened.unlock(Self.credential(3 - expected)) }
    }
  }
}
