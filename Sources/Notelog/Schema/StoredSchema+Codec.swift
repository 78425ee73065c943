// The bytes of a stored schema (FORMAT.md 9.1).

import NotelogJournal

extension StoredSchema {
  static let version: UInt8 = 1
  static let macByteCount = 32

  /// The schema's bytes, the MAC not among them.
  func encoded() -> [UInt8] {
    var writer = ByteWriter()
    writer.integer(Self.version)
    writer.integer(0 as UInt8)
    writer.integer(collection)
    writer.integer(revision)
    writer.name(firstName)
    writer.name(name)
    writer.integer(UInt16(fields.count))
    for field in fields {
      writer.integer(field.number)
      writer.integer(field.type.rawValue)
      writer.integer(field.flags.rawValue)
      writer.integer((field.isRetired ? 1 : 0) | (field.isIndexed ? 2 : 0) as UInt8)
      writer.integer(UInt8(field.keys.count))
      for key in field.keys { writer.integer(key) }
      writer.name(field.firstName)
      writer.name(field.name)
    }
    return writer.bytes
  }

  /// Reads a schema, and refuses what could not have been written: **INV-M1**.
  init(parsing bytes: RawSpan) throws(NotelogError) {
    var cursor = ByteCursor(bytes)
    let version = try cursor.u8("the schema's version")
    guard version == Self.version else {
      throw NotelogError(.unsupportedVersion, "a schema has layout \(version), this version reads 1")
    }
    try cursor.zeros(1, "a schema")
    collection = try cursor.u16("the collection's number")
    revision = try cursor.u32("the schema's revision")
    firstName = try cursor.name("the collection's first name")
    name = try cursor.name("the collection's name")
    let count = Int(try cursor.u16("the number of fields"))
    guard collection != 0, count <= Limits.fields else {
      throw NotelogError(.damaged, "a schema has collection number 0 or more than \(Limits.fields) fields")
    }
    fields = []
    for _ in 0..<count {
      let field = try StoredField(parsing: &cursor)
      guard field.number > fields.last?.number ?? 0 else {
        throw NotelogError(.damaged, "the fields of schema \(name) don't ascend")
      }
      fields.append(field)
    }
    guard cursor.remaining == 0 else { throw NotelogError(.damaged, "bytes follow the schema \(name)") }
    let names = fields.filter { !$0.isRetired }.map(\.name)
    guard Set(names).count == names.count, Set(fields.map(\.firstName)).count == fields.count else {
      throw NotelogError(.damaged, "two fields of schema \(name) have one name")
    }
  }
}

extension StoredField {
  init(parsing cursor: inout ByteCursor) throws(NotelogError) {
    number = try cursor.u16("a field's number")
    let type = FieldType(rawValue: try cursor.u8("a field's type"))
    flags = FieldFlags(rawValue: try cursor.u8("a field's flags"))
    let state = try cursor.u8("a field's state")
    isRetired = state & 1 != 0
    isIndexed = state & 2 != 0
    let keyCount = try cursor.u8("a field's keys")
    keys = []
    for _ in 0..<keyCount { keys.append(try cursor.u32("a field's key")) }
    firstName = try cursor.name("a field's first name")
    name = try cursor.name("a field's name")
    guard let type, flags.isValid, state < 4, keys.isEmpty != flags.contains(.sealed), !keys.contains(0),
      !(isIndexed && (flags.contains(.sealed) || !type.isSortable))
    else { throw NotelogError(.damaged, "the schema's field \(name) contradicts itself") }
    self.type = type
  }
}
