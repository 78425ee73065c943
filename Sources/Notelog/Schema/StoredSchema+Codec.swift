// The bytes of a stored schema (FORMAT.md 9.1).

import NotelogBase

extension StoredSchema {
  static let version: UInt8 = 1
  static let macByteCount = 32

  /// The schema's bytes, the MAC not among them.
  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: Self.version)
    bytes.append(littleEndian: UInt8(unique.count))
    bytes.append(littleEndian: collection)
    bytes.append(littleEndian: revision)
    bytes.append(name: firstName)
    bytes.append(name: name)
    bytes.append(littleEndian: UInt16(fields.count))
    for field in fields {
      bytes.append(littleEndian: field.number)
      bytes.append(littleEndian: field.type.rawValue)
      bytes.append(littleEndian: field.flags.rawValue)
      bytes.append(
        littleEndian: (field.isRetired ? 1 : 0) | (field.isIndexed ? 2 : 0)
          | (field.wasAlwaysOptional ? 4 : 0) | (field.isKeyChosen ? 8 : 0)
          | (field.isDigest ? 16 : 0) as UInt8)
      bytes.append(littleEndian: UInt8(field.keys.count))
      for key in field.keys { bytes.append(littleEndian: key) }
      bytes.append(name: field.firstName)
      bytes.append(name: field.name)
      if field.isKeyChosen { field.appendChoices(to: &bytes) }
      if field.isDigest { bytes.append(littleEndian: field.digestOf) }
    }
    for rule in unique {
      bytes.append(littleEndian: UInt8(rule.count))
      for number in rule { bytes.append(littleEndian: number) }
    }
    return bytes
  }

  /// Reads a schema, and refuses what could not have been written: **INV-M1**.
  init(parsing bytes: RawSpan) throws(NotelogError) {
    var cursor = SchemaCursor(bytes)
    let version = try cursor.integer(as: UInt8.self, "the schema's version")
    guard version == Self.version else {
      throw NotelogError(.unsupportedVersion, "a schema has layout \(version), this version reads 1")
    }
    let ruleCount = try cursor.integer(as: UInt8.self, "the number of rules")
    collection = try cursor.integer("the collection's number")
    revision = try cursor.integer("the schema's revision")
    firstName = try cursor.name("the collection's first name")
    name = try cursor.name("the collection's name")
    let count = Int(try cursor.integer(as: UInt16.self, "the number of fields"))
    guard (1...Limits.collections).contains(Int(collection)), count <= Limits.fields else {
      throw NotelogError(
        .damaged, "a schema has a number that no collection has, or more than \(Limits.fields) fields")
    }
    fields = []
    for _ in 0..<count {
      let field = try StoredField(parsing: &cursor)
      guard field.number > fields.last?.number ?? 0 else {
        throw NotelogError(.damaged, "the fields of schema \(name) don't ascend")
      }
      fields.append(field)
    }
    for _ in 0..<ruleCount {
      let count = try cursor.integer(as: UInt8.self, "a rule's fields")
      guard (1...2).contains(count) else {
        throw NotelogError(.damaged, "a rule of schema \(name) has \(count) fields")
      }
      var rule: [UInt16] = []
      for _ in 0..<count { rule.append(try cursor.integer("a rule's field")) }
      guard isRule(rule) else {
        throw NotelogError(.damaged, "a rule of schema \(name) is about what is not plain and indexed")
      }
      unique.append(rule)
    }
    for field in fields where field.isKeyChosen && !field.isRetired && !isKeyField(field.keyField) {
      throw NotelogError(
        .damaged, "the schema's field \(field.name) has its key named by what can't name one")
    }
    for field in fields where field.isDigest && !hasDigestibleValues(field.digestOf) {
      throw NotelogError(.damaged, "the schema's field \(field.name) has digests of what has none")
    }
    guard cursor.remaining == 0 else { throw NotelogError(.damaged, "bytes follow the schema \(name)") }
    let names = fields.filter { !$0.isRetired }.map(\.name)
    guard Set(names).count == names.count, Set(fields.map(\.firstName)).count == fields.count else {
      throw NotelogError(.damaged, "two fields of schema \(name) have one name")
    }
  }
}

extension StoredField {
  fileprivate func appendChoices(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: keyField)
    bytes.append(littleEndian: UInt8(choices.count))
    for choice in choices {
      bytes.append(name: choice.name)
      bytes.append(littleEndian: UInt8(choice.keys.count))
      for key in choice.keys { bytes.append(littleEndian: key) }
    }
  }

  init(parsing cursor: inout SchemaCursor) throws(NotelogError) {
    number = try cursor.integer("a field's number")
    let type = FieldType(rawValue: try cursor.integer(as: UInt8.self, "a field's type"))
    flags = FieldFlags(rawValue: try cursor.integer(as: UInt8.self, "a field's flags"))
    let state = try cursor.integer(as: UInt8.self, "a field's state")
    isRetired = state & 1 != 0
    isIndexed = state & 2 != 0
    wasAlwaysOptional = state & 4 != 0
    keys = try cursor.keys()
    firstName = try cursor.name("a field's first name")
    name = try cursor.name("a field's name")
    if state & 8 != 0 {
      keyField = try cursor.integer("a field's key field")
      choices = try cursor.choices()
    }
    if state & 16 != 0 { digestOf = try cursor.integer("the field of a field's digests") }
    let (isKeyChosen, isDigest) = (keyField != 0, digestOf != 0)
    guard let type, flags.isValid, state < 32, isDigest == (state & 16 != 0),
      !isDigest || type == .bytes && flags == .optional && wasAlwaysOptional, isKeyChosen == (state & 8 != 0),
      isKeyChosen ? keys.isEmpty && !choices.isEmpty : keys.isEmpty != flags.contains(.sealed),
      !isKeyChosen || flags.contains(.sealed), !keys.contains(0),
      !choices.contains(where: { $0.keys.isEmpty || $0.keys.contains(0) }),
      Set(choices.map(\.name)).count == choices.count,
      !(isIndexed && (flags.contains(.sealed) || !type.isSortable)),
      !wasAlwaysOptional || flags.contains(.optional) && !flags.contains(.sealed)
    else { throw NotelogError(.damaged, "the schema's field \(name) contradicts itself") }
    self.type = type
  }
}

/// Reads a stored schema, or a file of them.
typealias SchemaCursor = ByteCursor<NotelogError>

extension SchemaCursor {
  @_lifetime(copy bytes)
  init(_ bytes: RawSpan) {
    self.init(bytes) { fault, what, offset in
      let words =
        switch fault {
        case .end: "\(what) goes beyond its structure's end"
        case .reserved: "reserved bytes of \(what) are not zero"
        case .text: "\(what) is empty or not UTF-8"
        }
      return NotelogError(.damaged, words, offset: offset)
    }
  }

  fileprivate mutating func keys() throws(NotelogError) -> [UInt32] {
    let count = try integer(as: UInt8.self, "a field's keys")
    var keys: [UInt32] = []
    for _ in 0..<count { keys.append(try integer("a field's key")) }
    return keys
  }

  fileprivate mutating func choices() throws(NotelogError) -> [KeyChoice] {
    let count = try integer(as: UInt8.self, "a field's choices of keys")
    var choices: [KeyChoice] = []
    for _ in 0..<count {
      let name = try name("the name of a field's key")
      guard name.utf8.count <= Limits.keyNameBytes else {
        throw NotelogError(.damaged, "the name of a field's key is too long")
      }
      choices.append(KeyChoice(name: name, keys: try keys()))
    }
    return choices
  }
}
