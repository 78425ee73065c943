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
  /// - Returns: Whether anything changed.
  /// - Throws: `schemaConflict`; `locked` where a new field's key can't be looked up.
  @discardableResult
  mutating func evolve(
    to declared: CollectionDescription, key: (String) throws(NotelogError) -> UInt32?,
    newKey: ((String) throws(NotelogError) -> UInt32?)? = nil
  ) throws(NotelogError) -> Bool {
    let before = self
    guard ([declared.name] + declared.formerNames).contains(firstName) else {
      throw NotelogError(
        .schemaConflict,
        "collection \(declared.name) was first declared as \(firstName): add that to its former names")
    }
    name = declared.name
    for field in declared.fields {
      if let index = try index(of: field) {
        try fields[index].evolve(to: field, in: name, key: key)
      } else if let newKey {
        try add(field, key: newKey)
      } else {
        try add(field, key: key)
      }
    }
    for name in declared.retired {
      guard let index = fields.firstIndex(where: { $0.name == name || $0.firstName == name }) else {
        continue
      }
      fields[index].isRetired = true
      fields[index].isIndexed = false
    }
    if let rules = declared.unique {
      unique = rules.map { names in names.compactMap { field(named: $0)?.number } }
    } else {
      // Whoever knows nothing of rules may have retired what one is about.
      unique = unique.filter { isRule($0) }
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
  private func index(of field: FieldDescription) throws(NotelogError) -> Int? {
    let names = [field.name] + field.formerNames
    let found = names.lazy.compactMap { name in
      fields.firstIndex { $0.name == name } ?? fields.firstIndex { $0.firstName == name }
    }.first
    guard let found else { return nil }
    guard names.contains(fields[found].firstName) else {
      throw NotelogError(
        .schemaConflict,
        "\(name).\(field.name) was first declared as \(fields[found].firstName): add that to its former names"
      )
    }
    guard !fields[found].isRetired else {
      throw NotelogError(
        .schemaConflict, "\(name).\(field.name) was retired, and its name isn't used again: choose another")
    }
    return found
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
    fields.append(
      StoredField(
        number: lastNumber + 1, type: field.type, firstName: field.name, name: field.name,
        flags: field.flags, isIndexed: field.isIndexed, isRetired: false,
        wasAlwaysOptional: field.isOptional && !field.isSealed, keys: keys))
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
    guard !isOptional || field.isOptional else {
      throw NotelogError(.schemaConflict, "\(place) may be missing in records: keep its property optional")
    }
    name = field.name
    flags = field.flags
    isIndexed = field.isIndexed
    if let keyName = field.key, let reference = try key(keyName), keys.last != reference {
      guard keys.count < Limits.keysOfField else {
        throw NotelogError(.limitExceeded, "\(place) was sealed under \(keys.count) keys already")
      }
      keys.removeAll { $0 == reference }
      keys.append(reference)
    }
  }
}
