// The schema in code meets the one in the store, also one that somebody altered.

import Foundation
import NotelogConcurrency
import NotelogJournal
import Testing

@testable import Notelog

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
    let revision = store.info.nextRevision
    try store.write { tx in try tx.update(New.self, old.id) { $0.set(\.age, 36) } }
    #expect(store.info.nextRevision == revision + 1)
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

  @Test func `a schema in another collection's place is refused at open`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.write { tx in try tx.put(Old()) }
    let stored = try #require(store.registry.withLock { $0.find("person") })
    try store.put(schema: stored, at: 9)
    try store.close()
    #expect(throws: NotelogError(.tampered, "")) { try folder.open(nil) }
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
        isIndexed: false,
        isRetired: false, keys: fields[1].keys)
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
    batch.put(
      Self.schemaKey(collection), collection: Self.schemaCollection, bodyByteCount: schema.bodyByteCount
    ) { schema.write(into: &$0) }
    try journal.commit(&batch)
  }
}
