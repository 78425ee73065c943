// The schema in code meets the one in the store, also one that somebody altered.

import Foundation
import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

private struct Old: Record {
  var id = RecordID()
  var name = ""
  var secret = ""
  var gone = 7
  static let schema = Schema<Old>("person") {
    Plain("name", \.name)
    Sealed("secret", \.secret)
    Plain("gone", \.gone)
  }
}

private struct New: Record {
  var id = RecordID()
  var fullName: String? = "none"
  var pin = ""
  var age = 18
  static let schema = Schema<New>("people", formerly: "person") {
    Plain("fullName", \.fullName, formerly: "name")
    Sealed("pin", \.pin, formerly: "secret")
    Sealed("age", \.age)
    Retired("gone")
  }
}

private struct Careless: Record {
  var id = RecordID()
  var secret = ""
  static let schema = Schema<Careless>("person") { Plain("secret", \.secret) }
}

@Suite struct SchemaInStoreTests {
  @Test func `records outlive renamed, added and retired fields and a renamed collection`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let old = Old(name: "Ada", secret: "1815")
    try store.write { tx in try tx.put(old) }
    // Reading follows the new schema without writing anything.
    store.lock()
    #expect(try store.get(New.self, old.id)?.fullName == "Ada")
    try store.unlock(TemporaryFolder.key)
    let entry = try #require(try store.get(New.self, old.id))
    #expect(try entry.pin == "1815" && entry.age == 18)
    let revision = store.info().nextRevision
    try store.write { tx in try tx.update(New.self, old.id) { $0.set(\.age, 36) } }
    #expect(store.info().nextRevision == revision + 1)
    #expect(try store.collection("people").get(old.id)?.fields.map(\.name) == ["fullName", "pin", "age"])
    try store.close()
    store = try folder.open()
    let back = try #require(try store.get(New.self, old.id)).record()
    #expect(back.fullName == "Ada" && back.pin == "1815" && back.age == 36)
    #expect(try store.collection("people").fields.filter(\.isRetired).map(\.name) == ["gone"])
    // The old program, run once more, is told.
    #expect(throws: NotelogError(.schemaConflict, "")) { try store.get(Old.self, old.id) }
  }

  @Test func `a sealed field is never read or written as a plain one`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let old = Old(secret: "x")
    try store.write { tx in try tx.put(old) }
    for isLocked in [false, true] {
      if isLocked { store.lock() }
      #expect(throws: NotelogError(.schemaConflict, "")) { try store.get(Careless.self, old.id) }
      #expect(throws: NotelogError(.schemaConflict, "")) {
        try store.write { tx in try tx.put(Careless(id: old.id, secret: "in the clear")) }
      }
    }
  }

  @Test func `INV-M2 an altered schema is noticed at unlock, and writes nothing in the clear before`() throws
  {
    for change in SchemaChange.allCases {
      let folder = try TemporaryFolder()
      var store = try folder.create()
      let old = Old(name: "Ada", secret: "1815")
      try store.write { tx in try tx.put(old) }
      try store.alter("person", change)
      try store.close()
      #expect(throws: NotelogError(.tampered, ""), "\(change)") { try folder.open() }
      store = try folder.open(nil)
      // Locked, what can be read is what was written, or nothing.
      let found = try? store.get(Old.self, old.id)
      let read = (name: try? found?.name, gone: try? found?.gone, secret: try? found?.secret)
      #expect(read.name == nil || read.name == "Ada", "\(change)")
      #expect(read.gone == nil || read.gone == 7, "\(change)")
      #expect(read.secret == nil, "\(change)")
      #expect(throws: NotelogError.self, "\(change)") {
        try store.write { tx in try tx.put(Old(name: "Eve", secret: "in the clear")) }
      }
      #expect(throws: NotelogError(.locked, ""), "\(change)") {
        try store.collection("person").add(["secret": .text("in the clear")])
      }
      #expect(throws: NotelogError(.tampered, ""), "\(change)") { try store.unlock(TemporaryFolder.key) }
      #expect(!store.isUnlocked)
      try store.close()
      let journal = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        .filter { $0.hasSuffix(".journal") }
        .map { String(decoding: try Data(contentsOf: URL(filePath: folder.path + "/" + $0)), as: UTF8.self) }
      #expect(!journal.joined().contains("in the clear"))
    }
  }

  @Test
  func `collections that were given each other's numbers are noticed at unlock, and show nothing before`()
    throws
  {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let old = Old(name: "Ada", secret: "1815")
    let note = Note(title: "private")
    try store.write { tx in
      try tx.put(old)
      try tx.put(note)
    }
    let schemas = store.registry.withLock { $0.byNumber.values.map(\.self) }
    #expect(schemas.count == 2)
    for (schema, other) in zip(schemas, schemas.reversed()) {
      let number = other.plan.schema.collection
      let moved = StoredSchema(
        collection: number, revision: schema.plan.schema.revision, firstName: schema.plan.schema.firstName,
        name: schema.plan.schema.name, fields: schema.plan.schema.fields)
      try store.put(
        schema: SchemaRegistry.Stored(
          plan: CollectionPlan(moved, storeID: store.storeID), bytes: moved.encoded(), mac: schema.mac),
        at: number)
    }
    try store.close()
    #expect(throws: NotelogError(.tampered, "")) { try folder.open() }
    store = try folder.open(nil)
    #expect(try store.get(Old.self, old.id) == nil)
    #expect((try? store.get(Old.self, note.id)?.name) == nil)
    #expect(throws: NotelogError(.tampered, "")) { try store.unlock(TemporaryFolder.key) }
    #expect(!store.isUnlocked)
  }

  private struct First: Record {
    var id = RecordID()
    var text = ""
    static let schema = Schema<First>("first") { Plain("text", \.text) }
  }

  private struct Second: Record {
    var id = RecordID()
    var text = ""
    static let schema = Schema<Second>("second") { Plain("text", \.text) }
  }

  /// The bug: a collection's number was taken only once its transaction was durable. Two threads that wrote
  /// to two new collections at the same time both got the same, and one schema took the other's place.
  @Test func `collections that come into being at the same time get numbers of their own`() throws {
    for _ in 0..<20 {
      let folder = try TemporaryFolder()
      let store = try folder.create()
      let (first, second) = (First(text: "1"), Second(text: "2"))
      try Threads.run(2) { number in
        try store.write { tx in
          if number == 0 { try tx.put(first) } else { try tx.put(second) }
        }
      }
      #expect(
        Set(store.registry.withLock { $0.byNumber.values.map(\.plan.schema.name) }) == ["first", "second"])
      try store.close()
      let reopened = try folder.open()
      #expect(try reopened.get(First.self, first.id)?.text == "1")
      #expect(try reopened.get(Second.self, second.id)?.text == "2")
    }
  }

  /// INV-M2: nobody who altered a schema gets a valid MAC for it, even while another thread is unlocking.
  @Test func `a schema that was not checked is not given a MAC`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    store.trustSchemas(false)
    #expect(throws: NotelogError(.locked, "")) { try store.write { tx in _ = try tx.put(First()) } }
    try store.unlock(TemporaryFolder.key)
    try store.write { tx in _ = try tx.put(First()) }
  }

  private struct UnderOneKey: Record {
    var id = RecordID()
    var text = ""
    static let schema = Schema<UnderOneKey>("diary") { Sealed("text", \.text, key: "one") }
  }

  private struct UnderAnother: Record {
    var id = RecordID()
    var text = ""
    static let schema = Schema<UnderAnother>("diary") { Sealed("text", \.text, key: "another") }
  }

  /// The bug: what read a type's records while its new key couldn't be looked up was kept, and wrote them
  /// under the old key.
  @Test func `a field that names another key is sealed under it, whatever was read before`() throws {
    for readsLocked in [false, true] {
      let folder = try TemporaryFolder()
      var store = try folder.create()
      let old = UnderOneKey(text: "old")
      try store.write { tx in try tx.put(old) }
      try store.close()
      store = try folder.open(readsLocked ? nil : TemporaryFolder.key)
      _ = try store.query(UnderAnother.self).count()
      _ = try? store.get(UnderAnother.self, old.id)
      if readsLocked { try store.unlock(TemporaryFolder.key) }
      try store.write { tx in try tx.put(UnderAnother(text: "new")) }
      try store.putAll([UnderAnother(text: "new")])
      let field = try #require(store.registry.withLock { $0.find("diary") }?.plan.schema.fields.first)
      #expect(try field.keys.last == store.keyReference("another"))
      #expect(try store.get(UnderAnother.self, old.id)?.text == "old")
    }
  }

  /// The bug: a schema without a valid MAC is followed in memory while the store is locked, and its numbers
  /// overflowed.
  @Test func `numbers at their end are refused, not counted on`() throws {
    var schema = try StoredSchema(declaring: First.schema.description, collection: 1) { _ in 1 }
    var renamed = First.schema.description
    renamed.name = "renamed"
    #expect(throws: NotelogError(.schemaConflict, "")) { try schema.evolve(to: renamed, key: { _, _ in 1 }) }
    renamed.formerNames = ["first"]
    var worn = schema
    worn.revision = .max
    #expect(throws: NotelogError(.limitExceeded, "")) { try worn.evolve(to: renamed, key: { _, _ in 1 }) }
    let only = schema.fields[0]
    schema.fields = [
      StoredField(
        number: .max, type: only.type, firstName: only.firstName, name: only.name, flags: only.flags)
    ]
    var longer = First.schema.description
    longer.fields += UnderOneKey.schema.description.fields.map {
      var field = $0
      field.name = "more"
      return field
    }
    #expect(throws: NotelogError(.limitExceeded, "")) { try schema.evolve(to: longer, key: { _, _ in 1 }) }
  }

  @Test func `a schema in another collection's place is none`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.write { tx in try tx.put(Old()) }
    let stored = try #require(store.registry.withLock { $0.find("person") })
    try store.put(schema: stored, at: 9)
    try store.close()
    let locked = try folder.open(nil)
    #expect(locked.info().schemas == "of collection 9 lost" && locked.collections.map(\.name) == ["person"])
    try locked.close()
  }
}

extension StoredField {
  fileprivate func numbered(_ number: UInt16) -> StoredField {
    StoredField(
      number: number, type: type, firstName: firstName, name: name, flags: flags, isIndexed: isIndexed,
      isRetired: isRetired, keys: keys)
  }
}

private enum SchemaChange: CaseIterable {
  case unsealed, swapped, typeChanged, keyChanged, macChanged, firstNameChanged, renumbered, madeOptional
}

extension Store {
  /// What somebody does who can write the files, but has no key: the MAC can't follow.
  fileprivate func alter(_ name: String, _ change: SchemaChange) throws {
    let stored = try #require(registry.withLock { $0.find(name) })
    var schema = stored.plan.schema
    var mac = stored.mac
    let fields = schema.fields
    switch change {
    case .unsealed:
      schema.fields[1].flags = []
      schema.fields[1].keys = []
    case .swapped:
      schema.fields[0].name = fields[2].name
      schema.fields[2].name = fields[0].name
    case .typeChanged:
      schema.fields[1] = StoredField(
        number: 2, type: .bytes, firstName: "secret", name: "secret", flags: fields[1].flags,
        keys: fields[1].keys)
    case .keyChanged: schema.fields[1].keys = [77]
    case .macChanged: mac[31] ^= 0x80
    case .firstNameChanged:
      schema = StoredSchema(
        collection: schema.collection, revision: schema.revision, firstName: "diary", name: schema.name,
        fields: fields)
    case .renumbered:
      // The sealed field gets the number under which a plain one's values stand, and the other way round.
      schema.fields[1] = fields[2].numbered(2)
      schema.fields[2] = fields[1].numbered(3)
    case .madeOptional: schema.fields[1].flags.insert(.optional)
    }
    try put(
      schema: SchemaRegistry.Stored(
        plan: CollectionPlan(schema, storeID: storeID), bytes: schema.encoded(), mac: mac),
      at: schema.collection)
  }

  fileprivate func put(schema: SchemaRegistry.Stored, at collection: UInt16) throws {
    var batch = Batch()
    let content = schema.bytes + schema.mac
    let entry = FieldEntry(
      number: SchemaRecord.field, type: .bytes, flags: [], keyReference: 0, range: 0..<content.count)
    batch.put(
      SchemaRecord.key(collection), collection: SchemaRecord.collection,
      bodyByteCount: DirectoryWriter.byteCount(fieldCount: 1) + content.count
    ) { body in
      var directory = DirectoryWriter(fieldCount: 1, into: &body)
      body.copy(content.rawSpan, at: directory.add(entry, into: &body).lowerBound)
    }
    try journal.commit(&batch)
  }
}
