// How a stored schema follows the one in code, and when it refuses to (FORMAT.md 21.3).

extension StoredSchema {
  /// The schema of a collection that the store doesn't have yet. `key` gives the reference of a named key's current
  /// generation.
  init(
    declaring declared: CollectionDescription, collection: UInt16,
    key: (String) throws(NotelogError) -> UInt32
  ) throws(NotelogError) {
    self.collection = collection
    revision = 0
    firstName = declared.name
    name = declared.name
    fields = []
    try evolve(to: declared, key: key)
    revision = 1
  }

  /// Follows a declaration: fields are added, renamed, retired; a type or a seal that would change is refused.
  ///
  /// - Parameters:
  ///   - declared: What code declares.
  ///   - key: The reference of a named key's current generation; nil where names are locked: what the store knows
  ///     then stands.
  ///   - newKey: The same for fields that are new, where it differs.
  ///   - isMigrated: Whether the values of fields that are to be migrated have been; the fields are then retired.
  /// - Returns: Whether anything changed.
  /// - Throws: `schemaConflict`; `locked` where a new field's key can't be looked up.
  @discardableResult
  mutating func evolve(
    to declared: CollectionDescription, key: (String) throws(NotelogError) -> UInt32?,
    newKey: ((String) throws(NotelogError) -> UInt32?)? = nil, isMigrated: Bool = false
  ) throws(NotelogError) -> Bool {
    let before = self
    func keyOfNew(_ name: String) throws(NotelogError) -> UInt32? {
      if let newKey { try newKey(name) } else { try key(name) }
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
      try fields[index].evolve(to: field, in: name, key: key)
      try fields[index].addChoices(of: field, in: name, key: key, newKey: keyOfNew)
    }
    try refuseForgotten(by: declared, adding: new)
    for field in new {
      try add(field, key: keyOfNew)
    }
    try linkKeyFields(of: declared)
    for name in declared.retired + (isMigrated ? declared.migrated : []) {
      guard let index = fields.firstIndex(where: { $0.name == name || $0.firstName == name }) else {
        continue
      }
      fields[index].isRetired = true
      fields[index].isIndexed = false
    }
    try checkKeyFields()
    try followDigests(of: declared)
    // Whoever knows nothing of rules may have retired what one is about.
    unique = rules(of: declared)
    guard unique.count <= Limits.uniqueRules else {
      throw NotelogError(
        .limitExceeded, "\(name) would have more than \(Limits.uniqueRules) rules of what is unique")
    }
    guard self != before else { return false }
    guard revision < .max else {
      throw NotelogError(.limitExceeded, "the schema of \(name) was changed too often")
    }
    revision += 1
    return true
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
  /// The name under which it was first declared must be among those the code knows: a schema that was tampered with
  /// then can't pass one field's values off as another's.
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

  /// Refuses a record type that adds fields, and leaves others out that are in use: a field that was renamed, or another type's collection.
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
    _ field: FieldDescription, key: (String) throws(NotelogError) -> UInt32?
  ) throws(NotelogError) {
    let lastNumber = fields.last?.number ?? 0
    guard fields.count < Limits.fields, lastNumber < .max else {
      throw NotelogError(
        .limitExceeded, "\(name) has \(Limits.fields) fields already, retired ones among them")
    }
    var keys: [UInt32] = []
    if let keyName = field.key {
      guard let reference = try key(keyName) else {
        throw NotelogError(.locked, "\(name).\(field.name) is new and sealed: unlock the store to add it")
      }
      keys = [reference]
    }
    var new = StoredField(
      number: lastNumber + 1, type: field.type, firstName: field.name, name: field.name,
      flags: field.flags, isIndexed: field.isIndexed, isRetired: false,
      wasAlwaysOptional: field.isOptional && !field.isSealed, keys: keys)
    try new.addChoices(of: field, in: name, key: key, newKey: key)
    fields.append(new)
  }
}

extension StoredField {
  fileprivate mutating func evolve(
    to field: FieldDescription, in collection: String, key: (String) throws(NotelogError) -> UInt32?
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
    if let keyName = field.key, let reference = try key(keyName) {
      try keys.putInForce(reference, of: place)
    }
  }
}
