// A new unlock root: what the old one opens afterwards, and crashes on the way (SECURITY.md, A7).

@testable import NotelogBase
@testable import NotelogFormat
@testable import Notelog
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import NotelogCrypto

@Suite struct RekeyTests {
  private static let old = Notelog.Credential.key([UInt8](repeating: 42, count: 32))
  private static let new = Notelog.Credential.key([UInt8](repeating: 43, count: 32))
  private static let third = Notelog.Credential.key([UInt8](repeating: 44, count: 32))

  private static let small: Store.Options = {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    return options
  }()

  private static func makeDisk() throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: old, options: small)
    try store.putAll([Note(title: "before", body: "before")])
    try store.addCredential(third)
    try store.grant(["personal"], to: .key([UInt8](repeating: 45, count: 32)))
    try store.close()
    // Without its history: crashes are of what comes next.
    return disk.copy()
  }

  private static func open(_ disk: SimulatedDisk, _ credential: Notelog.Credential?) throws -> Store {
    try Store.open(in: disk, unlocking: credential, options: small)
  }

  @Test func `afterwards the new credential alone opens the store, and all of it`() throws {
    let disk = try Self.makeDisk()
    var store = try Self.open(disk, Self.old)
    try store.rekey(Self.old, to: Self.new)
    #expect(store.isUnlocked && store.info().slots.count == 1)
    try store.putAll([Note(title: "after", body: "after")])
    try store.close()
    for credential in [Self.old, Self.third, .key([UInt8](repeating: 45, count: 32))] {
      #expect(throws: NotelogError(.wrongPassword, "")) { try Self.open(disk, credential) }
    }
    store = try Self.open(disk, Self.new)
    #expect(
      try store.query(Note.self).entries().map { try $0.title + $0.body }.sorted() == [
        "afterafter", "beforebefore",
      ])
    #expect(store.info().keys.allSatisfy { $0.generations.count == 2 && $0.name != nil })
    // The former schemas' key has gone: nothing that is under the old root counts any more.
    #expect(!store.vault.isRootChangeUnfinished)
    for name in ["default", "personal"] { #expect(try store.rotate(name).isFinished) }
    #expect(try store.query(Note.self).count() == 2)
    try store.close()
    #expect(try Store.verify(in: disk, unlocking: Self.new).findings.isEmpty)
  }

  /// The attacker has the password, the keyring of before, and whatever is written later.
  @Test func `who has the old root opens nothing that is written afterwards`() throws {
    let disk = try Self.makeDisk()
    let keyring = try #require(disk.contents("keyring"))
    let store = try Self.open(disk, Self.old)
    try store.rekey(Self.old, to: Self.new)
    try store.putAll([Note(title: "after", body: "after")])
    try store.createKey("later", .whenUnlocked)
    let changed = store.vault.keyring
    // All keys that the old root leads to.
    let attacker = Vault(try Keyring(parsing: keyring))
    try attacker.unlock(.rawKey(Secret(copying: [UInt8](repeating: 42, count: 32).rawSpan)))
    let known = attacker.keyring.dataKeys.map(\.reference)
    var opened: Set<UInt32> = []
    try store.forEachSealed(in: store.journal.snapshot(), part: 0, of: 1, damaged: {}) { _, references in
      opened.formUnion(references)
    }
    let later = changed.dataKeys.map(\.reference).filter { !known.contains($0) }
    #expect(later.count == 3 && known.count == 3)
    // The later record's values are under later keys, and no wrap of those opens with anything that the old
    // root leads to.
    #expect(opened.count == 4 && later.prefix(2).allSatisfy { opened.contains($0.rawValue) })
    let root = try attacker.keyring.openSlot(
      .rawKey(Secret(copying: [UInt8](repeating: 42, count: 32).rawSpan))
    ).key
    for entry in changed.wrappingKeys {
      #expect(throws: CryptoError.wrongKey) {
        let key = try changed.open(entry, under: root.secret)
        _ = key.byteCount
      }
    }
    let wrapping = try attacker.keyring.open(attacker.keyring.wrappingKeys, root: root, nil)
    for row in changed.dataKeys {
      for key in wrapping.values {
        #expect(throws: CryptoError.wrongKey) {
          let opened = try row.unwrap(under: key.secret, storeID: changed.storeID)
          _ = opened.byteCount
        }
      }
    }
    try store.close()
  }

  /// INV-M5: in between, both kinds of MACs count.
  @Test func `a crash at any call of it leaves the old root or the new one, and every record opens`() throws {
    let disk = try Self.makeDisk()
    let store = try Self.open(disk, Self.old)
    let start = disk.callCount
    try store.rekey(Self.old, to: Self.new)
    let calls = start..<disk.callCount
    #expect(calls.count >= 30)
    var (underOld, tried) = (0, 0)
    let losses = LossModel.allCases
    for (index, call) in disk.crashPoints.filter(calls.contains).enumerated() {
      for loss in (0..<5).map({ losses[(5 * index + $0) % losses.count] }) {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let place = "after \(disk.describe(call: call)), \(loss)"
        tried += 1
        var opened: Store?
        for credential in [Self.old, Self.new] {
          do {
            opened = try Self.open(image, credential)
            if case .key(let bytes) = credential, bytes[0] == 42 { underOld += 1 }
            break
          } catch let error as NotelogError where error.code == .wrongPassword { continue }
        }
        let store = try #require(opened, "\(place)")
        // A writer has finished what was left to do.
        #expect(!store.vault.isRootChangeUnfinished, "\(place)")
        #expect(
          try store.query(Note.self).entries().map { try $0.title + $0.body } == ["beforebefore"], "\(place)")
        try store.putAll([Note(title: "later", body: "later")])
        try store.close()
        // Where the last change reached one of the keyring's files only, that is said.
        let findings = try Store.verify(in: image, unlocking: nil).findings
        #expect(findings.filter(\.isDamage).isEmpty, "\(place): \(findings)")
        #expect(findings.allSatisfy { $0.part == .keyring }, "\(place): \(findings)")
      }
    }
    #expect(tried >= 150 && underOld > 0 && underOld < tried, "\(tried), \(underOld)")
  }

  /// The bug: between its two steps whatever schema the old root had made counted. Whoever kept the keyring
  /// of that moment put it back with a schema of theirs, and the owner's new password wrote in the clear.
  @Test(arguments: [false, true])
  func `INV-M5 between its two steps the former schemas count, and none that the old root makes`(
    isInFile: Bool
  ) throws {
    let disk = try Self.makeDisk()
    let attacker = try Self.open(disk.copy(), Self.old)
    let between = try Self.betweenItsSteps(disk)
    // As it is, it opens, for who reads and who writes.
    var reading = Self.small
    reading.isReadOnly = true
    try Store.open(in: between, unlocking: Self.new, options: reading).close()
    try Self.open(between.copy(), Self.new).close()
    let note = try #require(attacker.registry.withLock { $0.find("note") }).plan.schema
    var forged = note
    forged.revision += 1
    for index in forged.fields.indices { (forged.fields[index].flags, forged.fields[index].keys) = ([], []) }
    let stored = try attacker.sealSchema(forged)
    try attacker.close()
    let image = between.copy()
    if isInFile {
      image.replace("schemas", with: try SchemaFile.encoded([stored], of: attacker.storeID))
      try Self.damageSchema(of: image)
    } else {
      let journal = try Journal.open(in: image, options: JournalOptions())
      var batch = Batch()
      stored.put(in: &batch)
      _ = try journal.commit(&batch, .durable)
      try journal.close()
    }
    #expect(throws: NotelogError(.tampered, "")) { try Self.open(image, Self.new) }
  }

  /// Flips a bit in the record of the first collection's schema.
  private static func damageSchema(of disk: SimulatedDisk) throws {
    let store = try Store.open(in: disk.copy(), unlocking: nil, options: small)
    let place = try #require(try store.journal.catalog.location(of: SchemaRecord.key(1)))
    try store.close()
    let name = FileName.segment(place.segment)
    var bytes = try #require(disk.contents(name))
    bytes[Int(place.offset) + 60] ^= 1
    disk.replace(name, with: bytes)
  }

  /// The disk of a process that ended between the two steps.
  private static func betweenItsSteps(_ disk: SimulatedDisk) throws -> SimulatedDisk {
    let store = try open(disk, old)
    let start = disk.callCount
    try store.rekey(old, to: new)
    try store.close()
    for call in disk.crashPoints where call > start {
      let image = disk.crashImage(after: call, .processKilled, seed: 1)
      let keyring = try Keyring(parsing: #require(image.contents("keyring")))
      if keyring.wrappingKeys.contains(where: { $0.role == 7 }) { return image }
    }
    throw NotelogError(.notFound, "no process ends there")
  }

  /// Where the second step can't be done, the first schema that is stored takes all others along: the former
  /// ones count together only.
  @Test func `a collection that is made between its two steps leaves no schema under the old root`() throws {
    let disk = try Self.betweenItsSteps(Self.makeDisk())
    let store = try Self.open(disk, nil)
    // The reserve does not help either.
    disk.plan(Fault(.error(SystemErrno.noSpace), of: [.write], passing: 0, lasts: true))
    try store.unlock(Self.new)
    disk.forgetFaults()
    #expect(store.vault.isRootChangeUnfinished)
    try store.createCollection("later", fields: [.plain("name", .text)])
    #expect(store.vault.isRootChangeUnfinished)
    try store.close()
    let again = try Self.open(disk, Self.new)
    #expect(again.collections.map(\.name) == ["note", "later"])
    #expect(try again.query(Note.self).first()?.title == "before")
    try again.close()
  }
}
