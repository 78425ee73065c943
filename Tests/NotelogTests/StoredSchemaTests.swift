// The schema that the store keeps: its bytes, and what may change (FORMAT.md 9).

@testable import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

private let keys: [String: UInt32] = ["default": 1, "personal": 2]

private func key(_ name: String) throws(NotelogError) -> UInt32 {
  guard let reference = keys[name] else { throw NotelogError(.missingKey, name) }
  return reference
}

private func key(_ name: String, _ isNew: Bool) throws(NotelogError) -> UInt32? { try key(name) }

private func note() throws -> StoredSchema {
  try StoredSchema(declaring: Note.schema.description, collection: 3, key: key)
}

private func declaration(_ fields: [FieldDescription], retired: [String] = []) -> CollectionDescription {
  CollectionDescription(name: "note", fields: fields, retired: retired)
}

private func parse(_ bytes: [UInt8]) throws(NotelogError) -> StoredSchema {
  try StoredSchema(parsing: bytes.rawSpan)
}

@Suite struct StoredSchemaTests {
  @Test func `INV-M1 a schema reads back as it was written, and cut anywhere it is refused`() throws {
    let schema = try StoredSchema(declaring: Everything.schema.description, collection: 700, key: key)
    let bytes = schema.encoded()
    #expect(try parse(bytes) == schema)
    #expect(schema.fields.map(\.number) == Array(1...16))
    for length in 0..<bytes.count {
      #expect(throws: NotelogError(.damaged, "")) { try parse(Array(bytes.prefix(length))) }
    }
    #expect(throws: NotelogError(.damaged, "")) { try parse(bytes + [0]) }
  }

  @Test func `the number that is kept for seals of records is no field's`() throws {
    var schema = try note()
    schema.fields.append(field(Limits.maximumFieldNumber))
    #expect(try parse(schema.encoded()) == schema)
    schema.fields[schema.fields.count - 1] = field(.max)
    #expect(throws: NotelogError(.damaged, "")) { try parse(schema.encoded()) }
    func field(_ number: UInt16) -> StoredField {
      StoredField(number: number, type: .boolean, firstName: "last", name: "last")
    }
  }

  @Test(arguments: 0..<4) func `a damaged schema never traps`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let bytes = try note().encoded()
    for _ in 0..<20_000 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        damaged[Int.random(in: 0..<damaged.count, using: &generator)] = .random(
          in: 0...255, using: &generator)
      }
      if let schema = try? parse(damaged) { #expect(schema.encoded() == damaged) }
    }
  }

  @Test func `nothing changes when the declaration is the same`() throws {
    var schema = try note()
    let before = schema
    #expect(try !schema.evolve(to: Note.schema.description, key: key))
    #expect(schema == before)
  }

  @Test func `fields are added, renamed and retired, and keep their numbers and first names`() throws {
    var schema = try note()
    var heading = FieldDescription.sealed("heading", .text)
    heading.formerNames = ["title"]
    var declared = declaration(
      [.plain("time", .date), heading, .plain("stars", .integer)], retired: ["body"])
    // A record type says all of its fields; who has none takes no index away.
    declared.typeName = "Note"
    let changed = try schema.evolve(to: declared, key: key)
    #expect(changed && schema.revision == 2)
    #expect(schema.fields.map(\.number) == [1, 2, 3, 4])
    #expect(schema.fields.map(\.name) == ["time", "heading", "body", "stars"])
    #expect(schema.fields[1].firstName == "title")
    #expect(schema.fields[2].isRetired && !schema.fields[0].isIndexed)
  }

  @Test func `a field that code doesn't know stays`() throws {
    var schema = try note()
    #expect(try !schema.evolve(to: declaration([.plain("time", .date, indexed: true)]), key: key))
    #expect(schema.fields.count == 3)
  }

  @Test(arguments: [
    FieldDescription.plain("time", .text), .plain("title", .text), .sealed("time", .date),
    .sealed("title", .bytes),
  ])
  func `a changed type, a sealed field made plain and a plain one made sealed are refused`(
    field: FieldDescription
  ) throws {
    var schema = try note()
    #expect(throws: NotelogError(.schemaConflict, "")) {
      try schema.evolve(to: declaration([field]), key: key)
    }
  }

  @Test func `an optional field stays optional, and any field may become so`() throws {
    var schema = try note()
    try schema.evolve(to: declaration([.plain("time", .date, optional: true)]), key: key)
    #expect(throws: NotelogError(.schemaConflict, "")) {
      try schema.evolve(to: declaration([.plain("time", .date)]), key: key)
    }
  }

  @Test func `a retired name isn't used again`() throws {
    var schema = try note()
    try schema.evolve(to: declaration([], retired: ["body"]), key: key)
    #expect(throws: NotelogError(.schemaConflict, "")) {
      try schema.evolve(to: declaration([.sealed("body", .text)]), key: key)
    }
  }

  @Test func `a name that now stands for another field's values is refused`() throws {
    var schema = try note()
    // What somebody would write who wants "title" to show what "body" holds.
    schema.fields[1].name = "body"
    schema.fields[2].name = "title"
    #expect(throws: NotelogError(.schemaConflict, "")) {
      try schema.evolve(to: Note.schema.description, key: key)
    }
  }

  @Test func `a new sealed field needs unlocked names, and a known one doesn't`() throws {
    var schema = try note()
    #expect(try !schema.evolve(to: Note.schema.description) { _, _ throws(NotelogError) in nil })
    #expect(throws: NotelogError(.locked, "")) {
      try schema.evolve(to: declaration([.sealed("extra", .text)])) { _, _ throws(NotelogError) in nil }
    }
  }
}
