// A collection's schema as the store keeps it (FORMAT.md 9).

import NotelogBase

/// What the store knows of a collection: its fields, their numbers, and what they were called at first.
struct StoredSchema: Hashable, Sendable {
  /// The collection's number; 0 is the store's own.
  let collection: UInt16
  /// How often the schema changed.
  var revision: UInt32 = 0
  /// The name under which the collection was first declared: sealed values are bound to it for ever.
  let firstName: String
  var name: String
  /// All fields that ever were, in ascending order of number.
  var fields: [StoredField] = []
  /// The numbers of the fields whose values no two records share, one or two a rule.
  var unique: [[UInt16]] = []

  /// Whether the library itself keeps it.
  var isOwn: Bool { firstName.hasPrefix(CollectionDescription.ownPrefix) }

  /// The field of a number, be it retired or not.
  func field(_ number: UInt16) -> StoredField? { fields.find(UInt32(number)) { UInt32($0.number) } }
}

/// A field as the store knows it.
struct StoredField: Hashable, Sendable {
  /// What stands for a record's id, which no schema lists.
  static let id = StoredField(number: 0, type: .uuid, firstName: "id", name: "id")

  let number: UInt16
  let type: FieldType
  let firstName: String
  var name: String
  /// The flags of a value written now.
  var flags: FieldFlags = []
  var isIndexed = false
  var isRetired = false
  /// Whether the field was optional when it was first declared: then all of its sort keys say whether there
  /// is a value.
  var wasAlwaysOptional = false
  /// For each named key the field was ever sealed under, a reference to one of its generations; the last is
  /// in force.
  var keys: [UInt32] = []
  /// The number of the field that names each value's key; 0 where it is none's.
  var keyField: UInt16 = 0
  /// The keys that may be named there; then ``keys`` is empty.
  var choices: [KeyChoice] = []
  /// The number of the field whose values' digests these are; 0 where it is no such field.
  var digestOf: UInt16 = 0
  /// Whether those digests ignore the case of ASCII letters.
  var ignoresCase = false
  /// The name of the collection that its values are ids of; nil where they refer to none.
  var target: String?
  /// What becomes of a record when the one that it refers to is deleted.
  var deleteRule = DeleteRule.refuse

  var isSealed: Bool { flags.contains(.sealed) }
  var isOptional: Bool { flags.contains(.optional) }

  /// Takes the field out of use for good.
  mutating func retire() {
    isRetired = true
    isIndexed = false
  }
}

/// Where a store keeps its schemas: as records of a collection of their own.
enum SchemaRecord {
  /// The collection that holds the schemas of the others.
  static let collection: UInt16 = 0
  /// The only field of a schema's record.
  static let field: UInt16 = 1

  /// The id of a schema's record.
  static func key(_ collection: UInt16) -> ID16 { ID16(low: UInt64(collection), high: 0) }

  /// The collection whose schema the record of an id is; nothing where it is no schema's.
  static func number(_ key: ID16) -> Int? {
    key.high == 0 && (1...UInt64(Limits.collections)).contains(key.low) ? Int(key.low) : nil
  }
}

// MARK: - The bytes of a stored schema (FORMAT.md 9.1).

extension StoredSchema {
  static let version: UInt8 = 1
  static let macByteCount = 32

  /// The collection that a schema's bytes name; nothing where they are too few.
  static func collection(of bytes: RawSpan) -> UInt16? {
    bytes.byteCount < 4 ? nil : bytes.load(UInt16.self, at: 2)
  }

  /// The schema's bytes, the MAC not among them.
  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: Self.version, UInt8(unique.count), collection, revision)
    bytes.append(name: firstName)
    bytes.append(name: name)
    bytes.append(littleEndian: UInt16(fields.count))
    for field in fields {
      let state: UInt8 =
        (field.isRetired ? 1 : 0) | (field.isIndexed ? 2 : 0) | (field.wasAlwaysOptional ? 4 : 0)
        | (field.isKeyChosen ? 8 : 0) | (field.isDigest ? 16 : 0) | (field.ignoresCase ? 32 : 0)
        | (field.target == nil ? 0 : 64)
      bytes.append(littleEndian: field.number, field.type.rawValue, field.flags.rawValue, state)
      bytes.append(keys: field.keys)
      bytes.append(name: field.firstName)
      bytes.append(name: field.name)
      if field.isKeyChosen {
        bytes.append(littleEndian: field.keyField, UInt8(field.choices.count))
        for choice in field.choices {
          bytes.append(name: choice.name)
          bytes.append(keys: choice.keys)
        }
      }
      if field.isDigest { bytes.append(littleEndian: field.digestOf) }
      if let target = field.target {
        bytes.append(littleEndian: field.deleteRule.rawValue)
        bytes.append(name: target)
      }
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
    for _ in 0..<count {
      let field = try StoredField(parsing: &cursor)
      guard field.number > fields.last?.number ?? 0, field.number <= Limits.maximumFieldNumber else {
        throw NotelogError(
          .damaged, "the fields of schema \(name) don't ascend, or one has no field's number")
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
    for field in fields where field.isDigest && !hasDigestibleValues(for: field) {
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
    ignoresCase = state & 32 != 0
    if state & 64 != 0 {
      let rule = DeleteRule(rawValue: try cursor.integer(as: UInt8.self, "a field's rule of deletion"))
      target = try cursor.name("the collection that a field refers to")
      guard let rule, type == .uuid, !flags.contains(.sealed), flags.contains(.optional) || rule != .nullify
      else { throw NotelogError(.damaged, "the schema's field \(name) can't refer to records as it says") }
      deleteRule = rule
    }
    let (isKeyChosen, isDigest) = (keyField != 0, digestOf != 0)
    guard let type, flags.isValid, state < 128, isDigest == (state & 16 != 0), isDigest || !ignoresCase,
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

extension [UInt8] {
  fileprivate mutating func append(keys: [UInt32]) {
    append(littleEndian: UInt8(keys.count))
    for key in keys { append(littleEndian: key) }
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

// MARK: - How a stored schema follows the one in code, and when it refuses to (FORMAT.md 21.3).

/// How far a migration has come when a schema is followed.
enum MigrationStage {
  /// There is none: fields that are yet to be migrated are refused, as what is written meanwhile would lose
  /// their values.
  case none
  /// It may be under way: fields to be migrated are still there.
  case underWay
  /// All values have been migrated: the fields are retired.
  case done
}

extension StoredSchema {
  /// The schema of a collection that the store doesn't have yet. `key` gives the reference of a named key's
  /// current generation.
  init(
    declaring declared: CollectionDescription, collection: UInt16,
    key: (String) throws(NotelogError) -> UInt32
  ) throws(NotelogError) {
    self.collection = collection
    firstName = declared.name
    name = declared.name
    try evolve(to: declared) { name, _ throws(NotelogError) in try key(name) }
    revision = 1
  }

  /// Follows a declaration: fields are added, renamed, retired; a type or a seal that would change is
  /// refused.
  ///
  /// - Parameters:
  ///   - declared: What code declares.
  ///   - migration: How far a migration has come.
  ///   - key: The reference of a named key's current generation, for a field that is new or not; nil where
  ///     names are locked: what the store knows then stands.
  /// - Returns: Whether anything changed.
  /// - Throws: `schemaConflict`; `locked` where a new field's key can't be looked up.
  @discardableResult
  mutating func evolve(
    to declared: CollectionDescription, _ migration: MigrationStage = .none,
    key: (String, _ isNew: Bool) throws(NotelogError) -> UInt32?
  ) throws(NotelogError) -> Bool {
    let before = self
    if migration == .none, let field = unmigrated(of: declared).first {
      throw NotelogError(
        .schemaConflict,
        "\(name).\(field.name) is yet to be migrated: call store.migrate(\(declared.typeName ?? "").self) first"
      )
    }
    guard declared.allNames.contains(firstName) else {
      throw NotelogError(
        .schemaConflict,
        "collection \(declared.name) was first declared as \(firstName): add that to its former names")
    }
    // Who doesn't know the name in force is an older version of the app, and leaves it.
    if declared.allNames.contains(name) { name = declared.name }
    var new: [FieldDescription] = []
    for field in declared.fields {
      guard let index = try index(of: field, in: declared) else {
        new.append(field)
        continue
      }
      guard !fields[index].isRetired else { continue }
      let before = fields[index]
      try fields[index].evolve(to: field, in: name, key: key)
      // Who has no record type takes nothing away.
      if declared.typeName == nil {
        fields[index].flags.formUnion(before.flags)
        fields[index].isIndexed = fields[index].isIndexed || before.isIndexed
      }
      if field.target != nil || declared.typeName != nil {
        (fields[index].target, fields[index].deleteRule) = (field.target, field.deleteRule)
      }
      try fields[index].addChoices(of: field, in: name, key: key)
    }
    try refuseForgotten(by: declared, adding: new)
    for field in new { try add(field, key: key) }
    try linkKeyFields(of: declared)
    for name in declared.retired + (migration == .done ? declared.migrated : []) {
      guard let index = fields.firstIndex(where: { $0.name == name || $0.firstName == name }) else {
        continue
      }
      fields[index].retire()
    }
    try checkKeyFields()
    try followDigests(of: declared)
    unique = rules(of: declared)
    guard unique.count <= Limits.uniqueRules else {
      throw NotelogError(
        .limitExceeded, "\(name) would have more than \(Limits.uniqueRules) rules of what is unique")
    }
    guard self != before else { return false }
    try revise()
    return true
  }

  /// Counts a change.
  mutating func revise() throws(NotelogError) {
    guard revision < .max else {
      throw NotelogError(.limitExceeded, "the schema of \(name) was changed too often")
    }
    revision += 1
  }

  /// Whether fields can be a rule: they are plain, and indexed.
  func isRule(_ numbers: [UInt16]) -> Bool {
    (1...2).contains(numbers.count) && Set(numbers).count == numbers.count
      && numbers.allSatisfy { number in
        fields.contains { $0.number == number && $0.isIndexed && !$0.isSealed && !$0.isRetired }
      }
  }

  /// Where the declared field stands, by its name or a former one.
  ///
  /// The name under which it was first declared must be among those the code knows: a schema that was
  /// tampered with then can't pass one field's values off as another's.
  private func index(
    of field: FieldDescription, in declared: CollectionDescription
  ) throws(NotelogError) -> Int? {
    guard let found = position(of: field) else { return nil }
    guard field.allNames.contains(fields[found].firstName), !fields[found].isDigest else {
      throw NotelogError(
        .schemaConflict,
        "\(name).\(field.name) was first declared as \(fields[found].firstName): add that to its former names"
      )
    }
    // The same field in a record type is that of an older version of the app.
    let isOlder =
      declared.typeName != nil && fields[found].name == field.name && fields[found].type == field.type
      && fields[found].isSealed == field.isSealed
    guard !fields[found].isRetired || isOlder else {
      throw NotelogError(
        .schemaConflict, "\(name).\(field.name) was retired, and its name isn't used again: choose another")
    }
    return found
  }

  /// Where a declared field stands, if it does.
  func position(of field: FieldDescription) -> Int? {
    field.allNames.lazy.compactMap { name in
      fields.firstIndex { $0.name == name } ?? fields.firstIndex { $0.firstName == name }
    }.first
  }

  /// The fields in use that a declaration has yet to migrate.
  func unmigrated(of declared: CollectionDescription) -> [StoredField] {
    fields.filter { field in
      !field.isRetired && declared.migrated.contains { $0 == field.name || $0 == field.firstName }
    }
  }

  /// Refuses a record type that adds fields, and leaves others out that are in use: a field that was renamed,
  /// or another type's collection.
  private func refuseForgotten(
    by declared: CollectionDescription, adding new: [FieldDescription]
  ) throws(NotelogError) {
    guard let type = declared.typeName, let first = new.first else { return }
    let known = Set(
      declared.fields.flatMap(\.allNames) + declared.retired + declared.kept + declared.migrated)
    let forgotten = fields.filter {
      !$0.isRetired && !$0.isDigest && !known.contains($0.name) && !known.contains($0.firstName)
    }
    guard let other = forgotten.first else { return }
    if new.count == declared.fields.count, forgotten.count == fields.count {
      throw NotelogError(
        .schemaConflict,
        "collection \(name) has the fields \(Self.list(forgotten.map(\.name))), and \(type) declares none of them but \(Self.list(new.map(\.name))): two record types need two names"
      )
    }
    for field in new {
      guard let old = forgotten.first(where: { $0.type == field.type && $0.isSealed == field.isSealed })
      else { continue }
      throw NotelogError(
        .schemaConflict,
        "\(type) adds \(name).\(field.name), and no longer names \(name).\(old.name): if that was renamed, add formerly: \"\(old.name)\" to \(field.name); if it is gone, add Retired(\"\(old.name)\"); if other versions of the app use it, Kept(\"\(old.name)\")"
      )
    }
    throw NotelogError(
      .schemaConflict,
      "\(type) adds \(name).\(first.name), and no longer names \(name).\(other.name): if that is gone, add Retired(\"\(other.name)\"); if its values become others, Migrated(\"\(other.name)\"); if other versions of the app use it, Kept(\"\(other.name)\")"
    )
  }

  /// Some names: the first five, and that there are more.
  static func list(_ names: [String]) -> String {
    names.prefix(5).joined(separator: ", ") + (names.count > 5 ? " and others" : "")
  }

  private mutating func add(
    _ field: FieldDescription, key: (String, Bool) throws(NotelogError) -> UInt32?
  ) throws(NotelogError) {
    let lastNumber = fields.last?.number ?? 0
    guard fields.count < Limits.fields, lastNumber < Limits.maximumFieldNumber else {
      throw NotelogError(
        .limitExceeded, "\(name) has \(Limits.fields) fields already, retired ones among them")
    }
    var keys: [UInt32] = []
    if let keyName = field.key {
      guard let reference = try key(keyName, true) else {
        throw NotelogError(.locked, "\(name).\(field.name) is new and sealed: unlock the store to add it")
      }
      keys = [reference]
    }
    var new = StoredField(
      number: lastNumber + 1, type: field.type, firstName: field.name, name: field.name,
      flags: field.flags, isIndexed: field.isIndexed,
      wasAlwaysOptional: field.isOptional && !field.isSealed, keys: keys)
    (new.target, new.deleteRule) = (field.target, field.deleteRule)
    try new.addChoices(of: field, in: name, key: key)
    fields.append(new)
  }
}

extension StoredField {
  fileprivate mutating func evolve(
    to field: FieldDescription, in collection: String, key: (String, Bool) throws(NotelogError) -> UInt32?
  ) throws(NotelogError) {
    let place = "\(collection).\(field.name)"
    guard type == field.type else {
      throw NotelogError(
        .schemaConflict,
        "\(place) holds \(type.name) values, not \(field.type.name): add a field of another name, and retire this one"
      )
    }
    guard isSealed == field.isSealed else {
      throw NotelogError(
        .schemaConflict,
        isSealed
          ? "\(place) is sealed and never becomes plain: add a plain field of another name, and retire this one"
          : "\(place) is plain: add a sealed field of another name, and retire this one")
    }
    guard isKeyChosen == (field.keyField != nil) else {
      throw NotelogError(
        .schemaConflict,
        isKeyChosen
          ? "each record names the key of \(place): add a field of another name for one key, and retire this one"
          : "\(place) is sealed under one key: add a field of another name for keys that records name, and retire this one"
      )
    }
    guard !isOptional || field.isOptional else {
      throw NotelogError(.schemaConflict, "\(place) may be missing in records: keep its property optional")
    }
    // Who doesn't know the name in force is an older version of the app, and leaves it.
    if field.allNames.contains(name) { name = field.name }
    flags = field.flags
    isIndexed = field.isIndexed
    if let keyName = field.key, let reference = try key(keyName, false) {
      try keys.putInForce(reference, of: place)
    }
  }
}
