// Schemas that somebody without a key took away, or put earlier ones in the place of: INV-M7.

import NotelogBase
import NotelogCrypto
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct MissingSchemaTests {
  private static let plain = [FieldDescription.plain("text", .text)]
  private static let note = [FieldDescription.plain("name", .text), .sealed("body", .text)]
  private static let longer = note + [.plain("one", .integer)]
  private static let longest = longer + [.plain("two", .integer)]

  /// A disk with a store, and its files as they were before something was changed.
  private struct Sample {
    let disk = SimulatedDisk()
    let earlier: [String: [UInt8]]

    /// - Parameter change: What changes the store.
    /// - Throws: What making it throws.
    init(_ change: (Store) throws -> Void) throws {
      let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
      let notes = try store.createCollection("note", fields: note)
      try notes.add(["name": .text("name"), "body": .text("body")])
      try store.close()
      var files: [String: [UInt8]] = [:]
      for name in disk.fileNames { files[name] = disk.contents(name) }
      earlier = files
      let again = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
      try change(again)
      try again.close()
    }

    /// Puts the earlier files back: the keyring's, or all others.
    func putBack(keyring isKeyring: Bool, on disk: SimulatedDisk) {
      for name in Set(disk.fileNames).union(earlier.keys) where name.hasPrefix("keyring") == isKeyring {
        disk.replace(name, with: earlier[name])
      }
    }
  }

  private func open(_ storage: any Storage, isReadOnly: Bool = false) throws -> Store {
    var options = Store.Options()
    options.isReadOnly = isReadOnly
    return try Store.open(in: storage, unlocking: TemporaryFolder.key, options: options)
  }

  private func expectRefused(_ disk: SimulatedDisk, missing count: Int) throws {
    let revisions = count == 1 ? "a revision" : "\(count) revisions"
    let words =
      "schemas are missing, or are earlier ones: the keyring counts \(revisions) more; restore the store, or accept its schemas"
    for credential in [nil, TemporaryFolder.key] {
      let found = try Store.verify(in: disk, unlocking: credential)
      #expect(found.findings.filter(\.isDamage).map(\.message) == [words])
    }
    let store = try open(disk)
    #expect(store.missingSchemaRevisions == count)
    #expect(store.info().schemas == words && store.info().verdict.isDamaged)
    // What is there is served, and written.
    let notes = try store.collection("note")
    let id = try notes.add(["name": .text("another"), "body": .text("body")])
    #expect(try notes.get(id) != nil && notes.query().entries().count == 2)
    let keyring = disk.contents("keyring")
    let refusals: [(Store) throws -> Void] = [
      { _ = try $0.createCollection("secret", fields: Self.plain) },
      { _ = try $0.createCollection("secret", fields: [.sealed("text", .text, key: "new")]) },
      { _ = try $0.createCollection("note", fields: Self.note + [.plain("other", .integer)]) },
      { _ = try $0.rotate("default") },
      { try $0.rekey(TemporaryFolder.key, to: .key([UInt8](repeating: 7, count: 32))) },
    ]
    for refusal in refusals {
      let error = #expect(throws: NotelogError.self) { try refusal(store) }
      #expect(error?.code == .tampered && error?.message.hasSuffix(words) == true)
    }
    // A refusal comes before anything is done.
    #expect(disk.contents("keyring") == keyring)
    try store.close()
    // Neither is the count forgotten by whoever opens the store, nor by another change of the keyring.
    let again = try open(disk)
    try again.addCredential(.key([UInt8](repeating: 9, count: 32)))
    #expect(again.missingSchemaRevisions == count)
    try again.acceptSchemas()
    #expect(again.missingSchemaRevisions == 0)
    try again.createCollection("secret", fields: Self.plain)
    try again.close()
    #expect(try Store.verify(in: disk, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  /// The bug: a collection whose schema was dropped was made anew by the next import, plain.
  @Test func `INV-M7 where a schema was taken away no collection is made`() throws {
    let sample = try Sample { store in
      try store.createCollection("secret", fields: [.sealed("text", .text)])
    }
    sample.putBack(keyring: false, on: sample.disk)
    try expectRefused(sample.disk, missing: 1)
  }

  @Test func `INV-M7 where an earlier schema stands in another's place none is stored`() throws {
    let sample = try Sample { store in
      try store.createCollection("note", fields: Self.longer)
      try store.createCollection("note", fields: Self.longest)
    }
    sample.putBack(keyring: false, on: sample.disk)
    try expectRefused(sample.disk, missing: 2)
  }

  /// A crash between the transaction and the keyring.
  @Test func `INV-M7 who unlocks the store next has the keyring count what was stored`() throws {
    let sample = try Sample { store in try store.createCollection("secret", fields: Self.plain) }
    sample.putBack(keyring: true, on: sample.disk)
    try open(sample.disk).close()
    sample.putBack(keyring: false, on: sample.disk)
    try expectRefused(sample.disk, missing: 1)
  }

  /// The keyring counts what is durable: otherwise a crash would look like somebody's work.
  @Test func `INV-M7 a crash at any call leaves no schema missing, though the commit was buffered`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    let start = disk.callCount
    for fields in [Self.note, Self.longer, Self.longest] {
      let declared = CollectionDescription(name: "note", fields: fields)
      try store.write(.buffered) { tx in _ = try tx.collection(for: declared) }
    }
    var counts: Set<UInt64> = []
    for call in disk.crashPoints where call >= start {
      for loss in LossModel.allCases {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let reader = try open(image, isReadOnly: true)
        #expect(reader.missingSchemaRevisions == 0, "after \(disk.describe(call: call)), \(loss)")
        counts.insert(reader.vault.keyring.schemaRevisions)
        try reader.close()
      }
    }
    #expect(counts == [0, 1, 2, 3])
    try store.close()
  }

  /// Somebody stores a schema just before the keyring is read, which then counts more than the log that was
  /// read before.
  @Test func `a reader misses no schema that is stored while it opens, or looks at what others did`() throws {
    let disk = SimulatedDisk()
    let storage = StoppedStorage(disk)
    let writer = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    try writer.createCollection("note", fields: Self.note)
    storage.plan(before: "keyring") { _ = try? writer.createCollection("note", fields: Self.longer) }
    let reader = try open(storage, isReadOnly: true)
    #expect(reader.missingSchemaRevisions == 0 && reader.info().schemas == "sound")
    // Other keys have it read the keyring again.
    try writer.createKey("other", .whenUnlocked)
    storage.plan(before: "keyring") { _ = try? writer.createCollection("note", fields: Self.longest) }
    try reader.refresh()
    #expect(reader.missingSchemaRevisions == 0 && reader.info().schemas == "sound")
    #expect(reader.vault.keyring.schemaRevisions == 3)
    try reader.close()
    try writer.close()
  }

  /// The bug: the copy of the log was of before, the keyring of after, and the restored store said that
  /// somebody took a schema away.
  @Test func `INV-M7 an archive misses no schema that is stored while it is shipped`() throws {
    let (disk, backup, restored) = (SimulatedDisk(), SimulatedDisk(), SimulatedDisk())
    let storage = StoppedStorage(disk)
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    try store.createCollection("note", fields: Self.note)
    // The keyring is read before the log, and once more behind it.
    storage.plan(before: "keyring") {
      storage.plan(before: "keyring") { _ = try? store.createCollection("note", fields: Self.longer) }
    }
    #expect(try Shipper(storage, to: backup.archive).ship().findings.isEmpty)
    #expect(try Store.restore(backup.archive, to: restored).findings.isEmpty)
    let copy = try open(restored)
    #expect(copy.missingSchemaRevisions == 0 && copy.vault.keyring.schemaRevisions == 2)
    try copy.close()
    try store.close()
  }

  @Test func `a round ends where schemas are stored faster than they are shipped`() throws {
    let (disk, backup) = (SimulatedDisk(), SimulatedDisk())
    let storage = StoppedStorage(disk)
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    let count = Lock(0)
    // Many times more often than a round looks again.
    @Sendable func storeAnother() {
      storage.plan(before: "keyring") {
        let number = count.withLock { count in
          count += 1
          return count
        }
        _ = try? store.createCollection("note \(number)", fields: Self.plain)
        if number < 200 { storeAnother() }
      }
    }
    storeAnother()
    #expect(throws: NotelogError(.busy, "")) { try Shipper(storage, to: backup.archive).ship() }
    #expect(throws: NotelogError.self) { try Store.restore(backup.archive, to: SimulatedDisk()) }
    try store.close()
  }
}
