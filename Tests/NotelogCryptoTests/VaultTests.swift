// The vault: unlocking, locking by class, changing slots and keys, and errors told apart
// (docs/format-keyring.md 10.3 to 10.9).

import NotelogBase
import Testing

@testable import NotelogCrypto

@Suite struct VaultTests {
  static let storeID = ID16(low: 3, high: 4)
  static let wrongRawKey = CryptoError.wrongKey

  private func makeVault(_ text: String = "password") throws -> Vault {
    try Keyring.create(
      storeID: Self.storeID, credential: password(text), work: .forTests)
  }

  private func rawKey(_ byte: UInt8) throws -> Credential {
    .rawKey(try secret([UInt8](repeating: byte, count: 32)))
  }

  private func reopen(_ vault: Vault) throws -> Vault {
    Vault(try Keyring(parsing: vault.keyring.bytes))
  }

  @Test func `each kind of credential unlocks its slot, and no other`() throws {
    let vault = try makeVault()
    vault.adopt(try vault.changed { try $0.addSlot(rawKey(1)) })
    vault.adopt(try vault.changed { try $0.addSlot(.recoveryKey(secret([UInt8](repeating: 1, count: 32)))) })
    vault.adopt(try vault.changed { try $0.addSlot(password("another"), work: .forTests) })
    vault.adopt(try vault.changed { try $0.addKey(named: "notes", class: .whenUnlocked) })
    let key = try vault.sealingKey(vault.namedKey("notes").current)
    let sealed = try key.seal([1, 2, 3])

    let reopened = try reopen(vault)
    for (credential, slot) in [("password", UInt32(0)), ("another", 3)] {
      #expect(try reopened.slots(openedBy: password(credential)) == [slot])
      try reopened.unlock(password(credential))
      reopened.lock(everything: true)
    }
    #expect(try reopened.slots(openedBy: rawKey(1)) == [1])
    try reopened.unlock(rawKey(1))
    reopened.lock(everything: true)
    let recoveryKey = Credential.recoveryKey(try secret([UInt8](repeating: 1, count: 32)))
    #expect(try reopened.slots(openedBy: recoveryKey) == [2])
    try reopened.unlock(recoveryKey)
    let again = try reopened.sealingKey(reopened.namedKey("notes").current)
    #expect(try again.open(sealed) == [1, 2, 3])
  }

  @Test func `wrong password, wrong key, tampered slot, locked and missing key are told apart`() throws {
    let vault = try makeVault()
    vault.adopt(try vault.changed { try $0.addKey(named: "notes", class: .whenUnlocked) })
    let reopened = try reopen(vault)
    #expect(throws: CryptoError.wrongPassword) { try reopened.unlock(password("passwort")) }
    #expect(throws: CryptoError.wrongPassword) { try reopened.unlock(password("")) }
    #expect(throws: CryptoError.wrongKey) { try reopened.unlock(rawKey(1)) }
    #expect(throws: CryptoError.locked(.whenUnlocked)) { try reopened.sealingKey(KeyReference(rawValue: 1)) }
    #expect(throws: CryptoError.missingKey(KeyReference(rawValue: 2))) {
      try reopened.sealingKey(KeyReference(rawValue: 2))
    }
    #expect(throws: CryptoError.rootLocked) { try reopened.namedKey("notes").current }
    #expect(throws: CryptoError.rootLocked) {
      try reopened.changed { try $0.addKey(named: "x", class: .whenUnlocked) }
    }
    try reopened.unlock(password("password"))
    #expect(throws: CryptoError.unknownKeyName) { try reopened.namedKey("nots") }
  }

  /// The salt goes into the password's key, so an altered one is as good as a wrong password; ciphertext and
  /// id are bound by the tag, and altering them is seen for what it is.
  @Test func `an altered salt reads as a wrong password, altered contents as a tampered slot`() throws {
    let bytes = try makeVault().keyring.bytes
    func forge(_ offset: Int) throws -> Vault {
      var forged = Array(bytes.dropLast(32))
      forged[offset] ^= 1
      forged += try OpenSSL.sha256(forged)
      return Vault(try Keyring(parsing: forged))
    }
    #expect(throws: CryptoError.wrongPassword) { try forge(72 + 24).unlock(password("password")) }
    #expect(throws: CryptoError.tamperedSlot(0)) { try forge(72 + 40 + 24).unlock(password("password")) }
    #expect(throws: CryptoError.tamperedSlot(0)) { try forge(72 + 40 + 24 + 32).unlock(password("password")) }
  }

  @Test func `locking closes by class, and unlocking opens again`() throws {
    let vault = try makeVault()
    vault.adopt(try vault.changed { try $0.addKey(named: "strict", class: .whenUnlocked) })
    vault.adopt(try vault.changed { try $0.addKey(named: "lasting", class: .afterFirstUnlock) })
    let references = try ["strict", "lasting"].map { try vault.namedKey($0).current }
    let keys = try references.map { try vault.sealingKey($0) }
    let sealed = try keys.map { try $0.seal([7]) }
    #expect(vault.isUnlocked && vault.state.withLock({ $0.lockCount }) == 0)

    vault.lock()
    #expect(!vault.isUnlocked && vault.state.withLock({ $0.lockCount }) == 1)
    #expect(throws: CryptoError.locked(.whenUnlocked)) { try keys[0].open(sealed[0]) }
    #expect(throws: CryptoError.locked(.whenUnlocked)) { try vault.sealingKey(references[0]) }
    #expect(try keys[1].open(sealed[1]) == [7])
    #expect(try vault.sealingKey(references[1]).open(sealed[1]) == [7])
    #expect(vault.name(of: references[0]) == nil && vault.name(of: references[1]) == "lasting")
    #expect(try vault.namedKey("lasting").current == references[1])

    vault.lock(everything: true)
    #expect(throws: CryptoError.locked(.afterFirstUnlock)) { try keys[1].open(sealed[1]) }
    #expect(throws: CryptoError.locked(.afterFirstUnlock)) { try vault.sealingKey(references[1]) }
    #expect(vault.name(of: references[1]) == nil)

    try vault.unlock(password("password"))
    for index in 0..<2 { #expect(try vault.sealingKey(references[index]).open(sealed[index]) == [7]) }
    #expect(vault.name(of: references[0]) == "strict")
  }

  @Test func `names of keys are nowhere in the keyring's bytes, and all sealed alike`() throws {
    let vault = try makeVault()
    vault.adopt(try vault.changed { try $0.addKey(named: "a", class: .whenUnlocked) })
    vault.adopt(
      try vault.changed { try $0.addKey(named: String(repeating: "z", count: 63), class: .whenUnlocked) })
    let text = String(decoding: vault.keyring.bytes, as: UTF8.self)
    #expect(!text.contains("zzz"))
    #expect(Set(vault.keyring.namedKeys.map(\.sealedName.count)) == [104])
    #expect(throws: CryptoError.limitExceeded(.keyName)) {
      try vault.changed { try $0.addKey(named: String(repeating: "z", count: 64), class: .whenUnlocked) }
    }
    #expect(throws: CryptoError.limitExceeded(.keyName)) {
      try vault.changed { try $0.addKey(named: "", class: .whenUnlocked) }
    }
    #expect(throws: CryptoError.duplicateKeyName) {
      try vault.changed { try $0.addKey(named: "a", class: .afterFirstUnlock) }
    }
  }

  @Test func `a new generation seals, and the old one still opens`() throws {
    let vault = try makeVault()
    vault.adopt(try vault.changed { try $0.addKey(named: "notes", class: .whenUnlocked) })
    let first = try vault.namedKey("notes").current
    let sealed = try vault.sealingKey(first).seal([1])
    vault.adopt(try vault.changed { try $0.rotate(vault.namedKey("notes")) })
    let reopened = try reopen(vault)
    try reopened.unlock(password("password"))
    let second = try reopened.namedKey("notes").current
    #expect(second.rawValue > first.rawValue)
    #expect(try reopened.sealingKey(first).open(sealed) == [1])
    #expect(try reopened.sealingKey(second).refusal(sealed).0 == .tampered)
    #expect(reopened.name(of: first) == "notes" && reopened.name(of: second) == "notes")
  }

  @Test func `changing a password rewrites its slot and nothing else`() throws {
    let vault = try makeVault()
    vault.adopt(try vault.changed { try $0.addKey(named: "notes", class: .whenUnlocked) })
    let before = vault.keyring
    let change = try vault.changed { try $0.replaceSlots([0], by: password("new"), work: .forTests) }
    #expect(vault.keyring == before, "a change is not in force before it is adopted")
    vault.adopt(change)
    #expect(vault.keyring.generation == before.generation + 1)
    #expect(vault.keyring.wrappingKeys == before.wrappingKeys && vault.keyring.dataKeys == before.dataKeys)
    #expect(vault.keyring.slots.map(\.id) == [1], "a slot's id is never given out again")
    let reopened = try reopen(vault)
    #expect(throws: CryptoError.wrongPassword) { try reopened.unlock(password("password")) }
    try reopened.unlock(password("new"))
  }

  @Test func `slots are limited, and the last one stays`() throws {
    let vault = try makeVault()
    #expect(throws: CryptoError.lastSlot) { try vault.changed { try $0.removeSlots([0]) } }
    #expect(throws: CryptoError.missingSlot(5)) { try vault.changed { try $0.removeSlots([5]) } }
    for index in 1..<8 {
      vault.adopt(try vault.changed { try $0.addSlot(password("\(index)"), work: .forTests) })
    }
    #expect(throws: CryptoError.limitExceeded(.slots)) {
      try vault.changed { try $0.addSlot(password("9"), work: .forTests) }
    }
    vault.adopt(try vault.changed { try $0.removeSlots([0]) })
    vault.adopt(try vault.changed { try $0.addSlot(password("9"), work: .forTests) })
    for index in 0..<56 { vault.adopt(try vault.changed { try $0.addSlot(rawKey(UInt8(index))) }) }
    #expect(throws: CryptoError.limitExceeded(.slots)) { try vault.changed { try $0.addSlot(rawKey(99)) } }
    let reopened = try reopen(vault)
    #expect(throws: CryptoError.wrongPassword) { try reopened.unlock(password("password")) }
    try reopened.unlock(password("9"))
  }

  @Test(arguments: [UInt8(0), 13, 19, 63]) func `a slot with too little or too much work is not made`(
    _ logN: UInt8
  ) throws {
    let vault = try makeVault()
    #expect(throws: CryptoError.limitExceeded(.workFactor)) {
      try vault.changed { try $0.addSlot(password("x"), work: logN) }
    }
  }

  /// The bug: whoever locked the vault while scrypt was at work had it unlocked again a moment later.
  @Test func `a vault that is locked while it is being unlocked stays locked`() throws {
    let vault = try makeVault()
    let opened = try vault.keyring.openSlot(password("password"))
    #expect(throws: CryptoError.lockedMeanwhile) {
      try vault.unlockEither(checking: []) { _ in
        vault.lock(everything: true)
        return opened
      }
    }
    #expect(!vault.isUnlocked)
    try vault.unlock(password("password"))
    #expect(vault.isUnlocked)
  }

  @Test func `schemas are checked before any key is usable`() throws {
    let vault = try makeVault()
    let schema: [UInt8] = [1, 2, 3]
    let mac = try unsafe vault.schemaMAC(schema.span.bytes)
    vault.lock(everything: true)
    let good = (bytes: schema, mac: mac)
    #expect(throws: CryptoError.tamperedSchema(1)) {
      try vault.unlock(password("password"), checking: [good, (bytes: [1, 2, 4], mac: mac)])
    }
    #expect(!vault.isUnlocked)
    try vault.unlock(password("password"), checking: [good])
  }

  @Test func `a password that stands in two slots is found in both`() throws {
    let vault = try makeVault()
    vault.adopt(try vault.changed { try $0.addSlot(password("password"), work: .forTests) })
    vault.adopt(try vault.changed { try $0.addSlot(password("another"), work: .forTests) })
    let slots = try vault.slots(openedBy: password("password"))
    #expect(slots == [0, 1])
    vault.adopt(try vault.changed { try $0.removeSlots(slots) })
    let reopened = try reopen(vault)
    #expect(throws: CryptoError.wrongPassword) { try reopened.unlock(password("password")) }
    try reopened.unlock(password("another"))
    #expect(throws: CryptoError.lastSlot) {
      try vault.changed { try $0.removeSlots(vault.keyring.slots.map(\.id)) }
    }
  }

  @Test func `classes that need this device's secret are refused where it has none`() throws {
    let vault = try makeVault()
    for accessClass in AccessClass.allCases where accessClass.isAlways || accessClass.isThisDeviceOnly {
      #expect(throws: CryptoError.noDeviceSecret) {
        try vault.changed { try $0.addKey(named: "x", class: accessClass) }
      }
    }
  }

  @Test func `a key or password of a wrong size is refused before any work`() throws {
    let vault = try makeVault()
    #expect(throws: CryptoError.limitExceeded(.secret)) { try vault.unlock(.rawKey(secret([1]))) }
    vault.adopt(try vault.changed { try $0.addSlot(rawKey(1)) })
    #expect(throws: CryptoError.limitExceeded(.secret)) { try vault.unlock(.rawKey(secret([1]))) }
    #expect(throws: CryptoError.limitExceeded(.secret)) {
      try vault.unlock(.password(secret([UInt8](repeating: 1, count: 4097))))
    }
  }

  @Test func `the schema's MAC needs the root, and is this store's own`() throws {
    let vault = try makeVault()
    let schema = try secret(Array("schema".utf8))
    let other = try secret(Array("Schema".utf8))
    let mac = try vault.schemaMAC(schema.bytes)
    let otherMAC = try vault.schemaMAC(other.bytes)
    #expect(mac != otherMAC)
    let foreign = try makeVault().schemaMAC(schema.bytes)
    #expect(foreign != mac)
    let reopened = try reopen(vault)
    #expect(throws: CryptoError.rootLocked) {
      let message = try secret([1])
      _ = try reopened.schemaMAC(message.bytes)
    }
    try reopened.unlock(password("password"))
    #expect(try reopened.schemaMAC(schema.bytes) == mac)
  }

  @Test func `a vault locked and unlocked from many threads stays whole`() throws {
    let vault = try Keyring.create(storeID: Self.storeID, credential: rawKey(1))
    vault.adopt(try vault.changed { try $0.addKey(named: "notes", class: .whenUnlocked) })
    let reference = try vault.namedKey("notes").current
    let sealed = try vault.sealingKey(reference).seal([9])
    let results = onThreads(8) { thread in
      var failures = 0
      for _ in 0..<50 {
        do {
          switch thread {
          case 0: vault.lock()
          case 1: try vault.unlock(.rawKey(secret([UInt8](repeating: 1, count: 32))))
          default:
            let key = try vault.sealingKey(reference)
            if try key.open(sealed) != [9] { failures += 1 }
          }
        } catch CryptoError.locked(.whenUnlocked) {
        } catch CryptoError.lockedMeanwhile {
          // Another thread locked it while this one was unlocking.
        } catch { failures += 1 }
      }
      return failures
    }
    #expect(results == [Int](repeating: 0, count: 8))
  }
}
