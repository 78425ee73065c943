// Changes that a store goes through once, in their order, whatever interrupts them.

import Foundation
import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog

private struct Account: Record {
  var id = RecordID()
  var site = ""
  var count = 0
  static let schema = Schema<Account>("account") {
    Sealed("site", \.site)
    Plain("count", \.count, indexed: true)
  }
}

private struct Folder: Record {
  var id = RecordID()
  var name = ""
  static let schema = Schema<Folder>("folder") { Plain("name", \.name) }
}

private struct Large: Record {
  var id = RecordID()
  var bytes: [UInt8] = []
  var count = 0
  static let schema = Schema<Large>("large") {
    Plain("bytes", \.bytes)
    Plain("count", \.count)
  }
}

private struct Interrupted: Error {}

@Suite struct NamedMigrationTests {
  private static let makeFolder = Migration("make a folder") { tx in
    try tx.put(Folder(name: "inbox"))
    try tx.updateAll(Account.self) { $0.set(\.site, try $0.site + "!") }
  }
  private static let countUp = Migration("count up", of: Account.self) { account in
    account.set(\.count, try account.count + 1)
  }

  /// The same, but it throws at its 700th record.
  private static func interrupted() -> Migration {
    let calls = Lock(0)
    return Migration("count up", of: Account.self) { account in
      let call = calls.withLock { count in
        count += 1
        return count
      }
      if call == 700 { throw Interrupted() }
      account.set(\.count, try account.count + 1)
    }
  }

  private static func create(_ disk: SimulatedDisk) throws -> Store {
    try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
  }

  private static func open(_ disk: SimulatedDisk) throws -> Store {
    try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
  }

  /// What anybody can do who has the files: a transaction without a key.
  private static func forge(_ disk: SimulatedDisk, _ write: (inout Batch) -> Void) throws {
    let journal = try Journal.open(in: disk)
    var batch = Batch()
    write(&batch)
    try journal.commit(&batch, .durable)
    try journal.close()
  }

  private static func fill(_ store: Store, _ count: Int) throws {
    try store.putAll((0..<count).map { Account(site: "site \($0)") })
  }

  /// Whether each account was changed once, and there is one folder.
  private static func check(_ store: Store, _ count: Int) throws {
    #expect(try store.query(Account.self).where(\.count, is: 1).count() == count)
    #expect(
      try store.query(Account.self).filter(\.site) { $0.hasSuffix("!") && !$0.hasSuffix("!!") }.count()
        == count)
    #expect(try store.query(Folder.self).count() == 1)
  }

  @Test func `each is made once, in its order, and another one that is put at the end`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try Self.fill(store, 600)
    #expect(try store.migrate([Self.makeFolder, Self.countUp]).recordCount == 600)
    try Self.check(store, 600)
    #expect(try store.migrate([Self.makeFolder, Self.countUp]).recordCount == 0)
    try store.close()
    let again = try folder.open()
    let revision = again.snapshot().revision
    try again.migrate([Self.makeFolder, Self.countUp])
    try Self.check(again, 600)
    #expect(again.snapshot().revision == revision)
    try again.migrate([
      Self.makeFolder, Self.countUp,
      Migration("remove the folder") { tx in try tx.deleteAll(Folder.self) },
    ])
    #expect(try again.query(Folder.self).count() == 0)
    try again.close()
  }

  @Test func `what throws has changed nothing, and is made when it is asked for again`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try Self.fill(store, 3)
    let fails = Migration("make a folder") { tx in
      try tx.put(Folder(name: "half"))
      throw Interrupted()
    }
    #expect(throws: Interrupted.self) { try store.migrate([fails, Self.countUp]) }
    #expect(try store.query(Folder.self).count() == 0)
    #expect(try store.query(Account.self).where(\.count, is: 0).count() == 3)
    try store.migrate([Self.makeFolder, Self.countUp])
    try Self.check(store, 3)
    try store.close()
  }

  @Test func `one in several transactions goes on where it was`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try Self.fill(store, 1_000)
    #expect(throws: Interrupted.self) { try store.migrate([Self.interrupted()]) }
    #expect(try store.query(Account.self).where(\.count, is: 1).count() == 512)
    try store.close()
    let again = try folder.open()
    try again.compact()
    #expect(try again.migrate([Self.countUp]).recordCount == 1_000 - 512)
    #expect(try again.query(Account.self).where(\.count, is: 0).count() == 0)
    try again.close()
  }

  @Test func `names are there once, and in the order that the store went through`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    func expectRefused(_ migrations: [Migration]) {
      #expect(throws: NotelogError(.invalidArgument, "")) { try store.migrate(migrations) }
    }
    expectRefused([Self.makeFolder, Self.makeFolder])
    expectRefused([Migration("") { _ in }])
    expectRefused([Self.makeFolder, Migration("a\nb") { _ in }])
    #expect(try store.query(Folder.self).count() == 0)
    expectRefused([Migration(String(repeating: "a", count: 201)) { _ in }])
    try store.migrate([Self.makeFolder])
    expectRefused([Self.countUp, Self.makeFolder])
    #expect(try store.query(Folder.self).count() == 1)
    // An older version of the app knows fewer.
    try store.migrate([Self.makeFolder, Self.countUp])
    try store.migrate([Self.makeFolder])
    store.lock()
    #expect(throws: NotelogError(.locked, "")) { try store.migrate([Self.makeFolder, Self.countUp]) }
    // It is the library's own.
    #expect(store.collections.map(\.name) == ["folder"])
    #expect(throws: NotelogError(.invalidArgument, "")) {
      try store.createCollection("notelog.mine", fields: [.plain("x", .text)])
    }
    try store.close()
  }

  private static var leased: Store.Options {
    var options = Store.Options()
    options.writing = .leased(idle: .zero)
    options.lockTimeout = .seconds(600)
    return options
  }

  @Test func `of two stores that share a folder one makes each`() throws {
    let folder = try TemporaryFolder()
    let (options, key) = (Self.leased, TemporaryFolder.key)
    let first = try Store.create(at: folder.path, unlocking: key, options: options)
    try Self.fill(first, 1_000)
    let second = try Store.open(at: folder.path, unlocking: key, options: options)
    let count = Lock(0)
    try Threads.run(2) { thread in
      let store = thread == 0 ? first : second
      let changed = try store.migrate([Self.makeFolder, Self.countUp]).recordCount
      count.withLock { $0 += changed }
    }
    #expect(count.withLock { $0 } == 1_000)
    try second.refresh()
    try Self.check(second, 1_000)
    try first.close()
    try second.close()
  }

  /// The bug: records were listed as this process knew them, before it had its turn.
  @Test func `what another process wrote before is changed too`() throws {
    let folder = try TemporaryFolder()
    let (options, key) = (Self.leased, TemporaryFolder.key)
    let first = try Store.create(at: folder.path, unlocking: key, options: options)
    let second = try Store.open(at: folder.path, unlocking: key, options: options)
    try Self.fill(first, 300)
    #expect(try second.migrate([Self.countUp]).recordCount == 300)
    try first.close()
    try second.close()
  }

  @Test func `a crash at any call leaves each to be made once`() throws {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    try Self.fill(store, 300)
    let start = disk.callCount
    try store.migrate([Self.makeFolder, Self.countUp])
    let calls = start..<disk.callCount
    var changed: Set<Int> = []
    for call in disk.crashPoints where calls.contains(call) {
      for loss in LossModel.allCases {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let survivor = try Store.open(in: image, unlocking: TemporaryFolder.key, options: options)
        changed.insert(try survivor.migrate([Self.makeFolder, Self.countUp]).recordCount)
        try Self.check(survivor, 300)
        try survivor.close()
      }
    }
    #expect(changed.isSuperset(of: [0, 44, 300]), "\(changed)")
  }

  /// Whoever can write the files puts back those from before, but for the keyring: it counts more schemas.
  @Test func `nobody without the key has a change made twice`() throws {
    let disk = SimulatedDisk()
    let store = try Self.create(disk)
    try Self.fill(store, 3)
    try store.close()
    let earlier = disk.copy()
    let again = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    try again.migrate([Self.makeFolder, Self.countUp])
    try again.close()
    for name in ["keyring", "keyring.copy"] {
      earlier.replace(name, with: disk.contents(name))
    }
    let forged = try Store.open(in: earlier, unlocking: TemporaryFolder.key, options: Store.Options())
    #expect(throws: NotelogError(.tampered, "")) { try forged.migrate([Self.makeFolder, Self.countUp]) }
    try forged.close()
  }

  @Test func `an earlier schema in the log has no change made twice`() throws {
    let disk = SimulatedDisk()
    let store = try Self.create(disk)
    let second = Migration("second") { tx in try tx.put(Folder(name: "second")) }
    try store.migrate([second])
    let earlier = try #require(store.registry.withLock { $0.find("folder") })
    try store.createCollection("folder", fields: [.plain("colour", .text)])
    try store.close()
    try Self.forge(disk) { earlier.put(in: &$0) }
    let forged = try Self.open(disk)
    #expect(throws: NotelogError(.tampered, "")) { try forged.migrate([second, Self.makeFolder]) }
    #expect(try forged.query(Folder.self).count() == 1)
    try forged.close()
  }

  /// Without the schema nobody sees that the change was made, but its record has the id that it would get.
  @Test func `files of before beside the log of now have no change made twice`() throws {
    let disk = SimulatedDisk()
    let store = try Self.create(disk)
    try Self.fill(store, 3)
    try store.close()
    let earlier = disk.copy()
    let again = try Self.open(disk)
    try again.migrate([Self.makeFolder])
    let found = try #require(again.registry.withLock { $0.find("notelog.migrations") })
    try again.close()
    try Self.forge(disk) {
      $0.delete(SchemaRecord.key(found.plan.number), collection: SchemaRecord.collection)
    }
    for name in ["keyring", "keyring.copy", "schemas"] { disk.replace(name, with: earlier.contents(name)) }
    let forged = try Self.open(disk)
    #expect(throws: NotelogError(.alreadyExists, "")) { try forged.migrate([Self.makeFolder]) }
    #expect(try forged.query(Folder.self).count() == 1)
    try forged.close()
  }

  @Test func `a forged record of a change is heard, and is for that change only`() throws {
    let disk = SimulatedDisk()
    let store = try Self.create(disk)
    try store.migrate([Self.makeFolder])
    let number = try #require(store.registry.withLock { $0.find("notelog.migrations") }).plan.number
    try store.close()
    let forgedID = try RecordID(of: "count up", in: "notelog.migrations")
    try Self.forge(disk) {
      for id in [forgedID.bytes, ID16.randomValue] {
        let junk: [UInt8] = [1, 2, 3]
        $0.put(id, collection: number, bodyByteCount: junk.count) { $0.copy(junk.rawSpan, at: 0) }
      }
    }
    let again = try Self.open(disk)
    try Self.fill(again, 3)
    #expect(throws: NotelogError(.damaged, "")) { try again.migrate([Self.makeFolder, Self.countUp]) }
    #expect(try again.query(Account.self).where(\.count, is: 0).count() == 3)
    // Who has looked at it takes it away.
    #expect(try again.collection("notelog.migrations").remove(forgedID))
    #expect(try again.migrate([Self.makeFolder, Self.countUp]).recordCount == 3)
    try again.close()
  }

  @Test func `a rotation between an interruption and the rest leaves no record as it was`() throws {
    let store = try Self.create(SimulatedDisk())
    try Self.fill(store, 1_000)
    #expect(throws: Interrupted.self) { try store.migrate([Self.interrupted()]) }
    try store.beginRotation(of: defaultKeyName)
    _ = try store.rotate(defaultKeyName)
    #expect(try store.migrate([Self.countUp]).recordCount == 1_000 - 512)
    #expect(try store.query(Account.self).where(\.count, is: 1).count() == 1_000)
    try store.close()
  }

  @Test func `large records are changed in steps`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let bytes = [UInt8](repeating: 7, count: 300_000)
    for _ in 0..<6 {
      try store.write(.buffered) { tx in for _ in 0..<50 { try tx.put(Large(bytes: bytes)) } }
    }
    let migration = Migration("count", of: Large.self) { $0.set(\.count, 1) }
    #expect(try store.migrate([migration]).recordCount == 300)
    #expect(try store.query(Large.self).where(\.count, is: 1).count() == 300)
    try store.close()
  }

  /// One flipped bit: whatever can be read is changed, and what can't is named.
  @Test func `damage keeps no other record from being changed`() throws {
    let disk = SimulatedDisk()
    let store = try Self.create(disk)
    try Self.fill(store, 60)
    try store.close()
    let name = try #require(disk.fileNames.filter { $0.hasSuffix(".journal") }.sorted().first)
    let bytes = try #require(disk.contents(name))
    var damaged = 0
    for offset in stride(from: 0, to: bytes.count, by: 61) {
      let copy = disk.copy()
      var altered = bytes
      altered[offset] ^= 0x10
      copy.replace(name, with: altered)
      guard let store = try? Self.open(copy) else { continue }
      let before = try store.query(Account.self).onDamage { _ in }.count()
      if before < 60 { damaged += 1 }
      do {
        let summary = try store.migrate([Self.makeFolder, Self.countUp])
        #expect(summary.recordCount >= before, "at \(offset)")
        #expect(try store.query(Account.self).onDamage { _ in }.where(\.count, is: 0).count() == 0)
      } catch let error as NotelogError { #expect(error.code == .tampered, "at \(offset): \(error)") }
      try? store.close()
    }
    #expect(damaged > 10)
  }

  @Test func `a value that was tampered with keeps the others from nothing`() throws {
    let disk = SimulatedDisk()
    let store = try Self.create(disk)
    let account = Account(site: "one")
    try store.putAll([account, Account(site: "two")])
    var stored = ReadBuffer()
    let found = try #require(try store.journal.records.read(account.id.bytes, into: &stored))
    var forged = stored.body.array()
    try store.close()
    // Somewhere in the sealed value: it stands before the plain one or behind it.
    for place in [forged.count - 1, forged.count - 13] { forged[place] ^= 1 }
    try Self.forge(disk) {
      $0.put(account.id.bytes, collection: found.collection, bodyByteCount: forged.count) {
        $0.copy(forged.rawSpan, at: 0)
      }
    }
    let again = try Self.open(disk)
    let summary = try again.migrate([
      Migration("trim", of: Account.self) { draft in draft.set(\.site, try draft.site + "!") }
    ])
    #expect(summary.recordCount == 1)
    #expect(summary.findings.map(\.record) == [account.id])
    try again.close()
  }

  @Test func `the order is compared with what another process has made`() throws {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.writing = .leased(idle: .zero)
    options.lockTimeout = .seconds(600)
    let first = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    try Self.fill(first, 3)
    let second = try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    try first.migrate([Self.makeFolder, Self.countUp])
    let between = Migration("between") { tx in try tx.put(Folder(name: "between")) }
    #expect(throws: NotelogError(.invalidArgument, "")) {
      try second.migrate([Self.makeFolder, between, Self.countUp])
    }
    #expect(try second.query(Folder.self).where(\.name, is: "between").count() == 0)
    try first.close()
    try second.close()
  }
}
