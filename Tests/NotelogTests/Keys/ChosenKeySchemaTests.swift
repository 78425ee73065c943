// Schemas that have records name keys: what they may become, and what is refused (FORMAT.md 9.1, 21.3).

import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog

private struct First: Record {
  var id = RecordID()
  var place = "home"
  var secret = ""
  static let schema = Schema<First>("thing") {
    Plain("place", \.place)
    Sealed("secret", \.secret).key(from: \.place, among: ["home", "work"])
  }
}

/// More keys, another name for the field that names them, and another field whose key it names.
private struct Second: Record {
  var id = RecordID()
  var shelter = "home"
  var secret = ""
  var tags: [String] = []
  static let schema = Schema<Second>("thing") {
    Plain("shelter", \.shelter, formerly: "place")
    Sealed("secret", \.secret).key(from: \.shelter, among: ["away"])
    Sealed("tags", json: \.tags).key(from: \.shelter, among: ["home", "away"])
  }
}

private func declared(
  _ fields: [FieldDescription], retired: [String] = []
) -> CollectionDescription {
  CollectionDescription(name: "thing", fields: fields, retired: retired)
}

private func key(_ name: String) throws(NotelogError) -> UInt32 {
  guard let key = ["default": 1, "home": 2, "work": 3, "away": 4][name] as UInt32? else {
    throw NotelogError(.missingKey, name)
  }
  return key
}

private func key(_ name: String, _ isNew: Bool) throws(NotelogError) -> UInt32? { try key(name) }

private let place = FieldDescription.plain("place", .text)
private let secret = FieldDescription.sealed("secret", .text, keyFrom: "place", among: ["home", "work"])

@Suite struct ChosenKeySchemaTests {
  @Test func `keys are added, and none is taken away`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let old = First(place: "work", secret: "s")
    try store.putAll([old])
    #expect(Set(store.info().keys.compactMap(\.name)) == ["home", "work"])
    // A newer version of the app that reads a store which is locked.
    store.lock(.everything)
    #expect(try store.get(Second.self, old.id)?.shelter == "work")
    #expect(throws: NotelogError(.locked, "")) { try store.get(Second.self, old.id)?.secret }
    #expect(throws: NotelogError(.locked, "")) { try store.putAll([Second()]) }
    try store.unlock(TemporaryFolder.key)
    #expect(try store.get(Second.self, old.id)?.secret == "s")
    let new = Second(shelter: "away", secret: "t", tags: ["a"])
    try store.putAll([new])
    #expect(Set(store.info().keys.compactMap(\.name)) == ["home", "work", "away"])
    let field = try #require(try store.collection("thing").fields.first { $0.name == "secret" })
    #expect(field.keyField == "shelter" && field.keyNames == ["home", "work", "away"])
    #expect(field.keyName == nil && field.keyNumber == nil && field.isSealed)
    // The older version reads what the newer one wrote, and leaves what it doesn't know.
    #expect(try store.get(First.self, new.id)?.secret == "t")
    try store.write { tx in try tx.put(First(id: new.id, place: "away", secret: "u")) }
    #expect(try store.get(Second.self, new.id)?.tags == ["a"])
    // A key that one of the fields may not be under.
    let message = #expect(throws: NotelogError.self) {
      try store.write { tx in try tx.update(Second.self, new.id) { $0.set(\.shelter, "work") } }
    }
    #expect(message?.code == .invalidArgument && message?.message.contains("tags") == true)
    try store.close()
    #expect(try folder.open().get(Second.self, new.id)?.secret == "u")
  }

  @Test(arguments: [
    [FieldDescription.sealed("secret", .text), place],
    [.plain("place", .text, optional: true)],
    [place, .plain("other", .text), .sealed("secret", .text, keyFrom: "other", among: ["home"])],
    [.plain("secret", .text)],
  ])
  func `whether records name a field's key, and where, never changes`(_ fields: [FieldDescription]) throws {
    var schema = try StoredSchema(declaring: declared([place, secret]), collection: 1, key: key)
    #expect(throws: NotelogError(.schemaConflict, "")) { try schema.evolve(to: declared(fields), key: key) }
    var fixed = try StoredSchema(
      declaring: declared([place, .sealed("secret", .text)]), collection: 1, key: key)
    #expect(throws: NotelogError(.schemaConflict, "")) {
      try fixed.evolve(to: declared([place, secret]), key: key)
    }
  }

  @Test func `what names keys is retired with the last field that needs it, and not before`() throws {
    var schema = try StoredSchema(declaring: declared([secret, place]), collection: 1, key: key)
    var changed = schema
    let error = #expect(throws: NotelogError.self) {
      try changed.evolve(to: declared([], retired: ["place"]), key: key)
    }
    #expect(error?.code == .schemaConflict && error?.message.contains("secret") == true)
    try schema.evolve(to: declared([], retired: ["place", "secret"]), key: key)
    #expect(try StoredSchema(parsing: schema.encoded().rawSpan) == schema)
  }

  @Test(arguments: [
    ([place, .sealed("secret", .text, keyFrom: "nowhere", among: ["home"])], "plain text"),
    ([.plain("place", .integer), secret], "plain text"),
    ([.plain("place", .text, optional: true), secret], "plain text"),
    ([.sealed("place", .text), secret], "plain text"),
    ([place, .sealed("secret", .text, key: "home", keyFrom: "place", among: ["home"])], "has a key, and"),
    ([place, .sealed("secret", .text, keyFrom: "place", among: [])], "one of 1 to 255"),
    ([place, .sealed("secret", .text, keyFrom: "place", among: ["a", "a"])], "listed once"),
    (
      [place, .sealed("secret", .text, keyFrom: "place", among: (0...255).map { "\($0)" })], "one of 1 to 255"
    ),
    ([place, .sealed("secret", .text, keyFrom: "place", among: [""])], "1 to 63 bytes"),
    (
      [place, .sealed("secret", .text, keyFrom: "place", among: [String(repeating: "x", count: 64)])],
      "1 to 63 bytes"
    ),
  ])
  func `a declaration that has keys named in the wrong way is refused`(
    _ fields: [FieldDescription], _ words: String
  ) throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let error = #expect(throws: NotelogError.self) { try store.createCollection("thing", fields: fields) }
    #expect(
      error?.code == .invalidArgument && error?.message.contains(words) == true, "\(error?.message ?? "")")
    #expect(store.collections.isEmpty && store.info().keys.isEmpty)
  }

  @Test func `a schema whose records name keys reads back as it was written, and damaged it never traps`()
    throws
  {
    let schema = try StoredSchema(declaring: declared([place, secret]), collection: 1, key: key)
    let bytes = schema.encoded()
    #expect(try StoredSchema(parsing: bytes.rawSpan) == schema)
    for length in 0..<bytes.count {
      #expect(throws: NotelogError(.damaged, "")) {
        try StoredSchema(parsing: Array(bytes.prefix(length)).rawSpan)
      }
    }
    var (generator, readable) = (SeededGenerator(seed: 1), 0)
    for _ in 0..<40_000 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let place = Int.random(in: 0..<damaged.count, using: &generator)
        damaged[place] = .random(in: 0...255, using: &generator)
      }
      guard let found = try? StoredSchema(parsing: damaged.rawSpan) else { continue }
      readable += 1
      #expect(found.encoded() == damaged)
      for field in found.fields where field.isKeyChosen && !field.isRetired {
        #expect(found.isKeyField(field.keyField) && field.keys.isEmpty && !field.choices.isEmpty)
        #expect(Set(field.choices.map(\.name)).count == field.choices.count)
      }
    }
    #expect(readable > 100)
  }

  /// INV-M6 of what somebody else wrote.
  @Test func `a stored schema that has keys named by what can't name one is refused`() throws {
    let sound = try StoredSchema(declaring: declared([place, secret]), collection: 1, key: key)
    let changes: [(inout StoredSchema) -> Void] = [
      { $0.fields[1].keyField = 7 }, { $0.fields[1].keyField = 2 }, { $0.fields[0].isRetired = true },
      { $0.fields[0].flags = .optional }, { $0.fields[1].choices = [] },
      { $0.fields[1].choices[0].keys = [] }, { $0.fields[1].choices[0].keys = [0] },
      { $0.fields[1].choices.append($0.fields[1].choices[0]) }, { $0.fields[1].keys = [1] },
      {
        $0.fields[0].choices = $0.fields[1].choices; $0.fields[0].keyField = 1
      },
    ]
    for change in changes {
      var schema = sound
      change(&schema)
      #expect(throws: NotelogError(.damaged, "")) { try StoredSchema(parsing: schema.encoded().rawSpan) }
    }
  }
}
