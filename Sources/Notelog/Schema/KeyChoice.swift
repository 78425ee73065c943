// The keys that a field of the record chooses among (FORMAT.md 9.1).

import NotelogBase

/// A named key that records may choose for a field, by having its name in another field.
struct KeyChoice: Hashable, Sendable {
  let name: String
  /// The key's generations that values may be sealed under; the last is in force.
  var keys: [UInt32]

  /// Whether bytes are its name.
  func isNamed(by bytes: RawSpan) -> Bool { name.withUTF8Bytes { $0.elementsEqual(bytes) } }
}

extension StoredField {
  /// Whether each record names the key of its value, in another field.
  var isKeyChosen: Bool { keyField != 0 }

  /// Changes each list of generations that are one key's, or were the field's keys one after another.
  mutating func changeKeys<Thrown: Error>(_ change: (inout [UInt32]) throws(Thrown) -> Void) throws(Thrown) {
    try change(&keys)
    for index in choices.indices { try change(&choices[index].keys) }
  }

  /// Takes in the keys that a declaration lists, in the generations in force. Those that it doesn't list
  /// stay.
  mutating func addChoices(
    of field: FieldDescription, in collection: String, key: (String, Bool) throws(NotelogError) -> UInt32?
  ) throws(NotelogError) {
    let place = "\(collection).\(field.name)"
    for name in field.keyNames {
      let index = choices.firstIndex { $0.name == name }
      guard let reference = try key(name, index == nil) else {
        if index != nil { continue }
        throw NotelogError(.locked, "the key \(name) is new for \(place): unlock the store to add it")
      }
      guard index != nil || choices.count < Limits.keysOfField else {
        throw NotelogError(.limitExceeded, "\(place) has \(choices.count) keys to choose among already")
      }
      if index == nil { choices.append(KeyChoice(name: name, keys: [])) }
      try choices[index ?? choices.count - 1].keys.putInForce(reference, of: place)
    }
  }

  /// Whether what was sealed by an older version of the field is under keys that are in force still.
  func keepsKeysInForce(of older: StoredField) -> Bool {
    guard isKeyChosen else { return keys.last == older.keys.last }
    return older.choices.allSatisfy { old in
      choices.contains { $0.name == old.name && $0.keys.last == old.keys.last }
    }
  }
}

extension [UInt32] {
  /// Has values that are written from now on sealed under a key, or a generation of one.
  ///
  /// - Returns: Whether that is another one than before.
  @discardableResult
  mutating func putInForce(_ reference: UInt32, of place: @autoclosure () -> String) throws(NotelogError)
    -> Bool
  {
    guard last != reference else { return false }
    guard count < Limits.keysOfField else {
      throw NotelogError(.limitExceeded, "\(place()) was sealed under \(count) keys already")
    }
    removeAll { $0 == reference }
    append(reference)
    return true
  }
}

extension StoredSchema {
  /// Whether a field can name the key of others: it is plain text, never missing, and in use.
  func isKeyField(_ number: UInt16) -> Bool {
    fields.contains { $0.number == number && $0.type == .text && $0.flags.isEmpty && !$0.isRetired }
  }

  /// Says of fields that were just added which field names their keys; of others that is what it was.
  mutating func linkKeyFields(of declared: CollectionDescription) throws(NotelogError) {
    for field in declared.fields {
      guard let keyName = field.keyField, let index = position(of: field), !fields[index].isRetired,
        let keyField = declared.fields.first(where: { $0.name == keyName }),
        let number = position(of: keyField).map({ fields[$0].number })
      else { continue }
      if fields[index].keyField == 0 { fields[index].keyField = number }
      guard fields[index].keyField == number else {
        throw NotelogError(
          .schemaConflict,
          "\(name).\(field.name) has its key named by another field than \(keyName), and that stays so: add a field of another name"
        )
      }
    }
  }

  /// Refuses that what names keys is retired, or may be missing, while it is needed.
  func checkKeyFields() throws(NotelogError) {
    for field in fields where field.isKeyChosen && !field.isRetired && !isKeyField(field.keyField) {
      let keyField = self.field(field.keyField)?.name ?? "what names it"
      throw NotelogError(
        .schemaConflict,
        "\(name).\(keyField) names the key of \(field.name): it stays plain text, and not optional, and is retired only with that"
      )
    }
  }
}

extension CollectionPlan {
  /// The choice that a record makes for a field; nil where it lacks the field that makes it.
  ///
  /// - Throws: `tampered` where that names none, or is not as its schema says.
  func choice(for index: Int, in body: RawSpan) throws(NotelogError) -> KeyChoice? {
    guard let entry = try RecordBody(checked: body).find(fields[index].keyField) else { return nil }
    guard entry.type == .text, entry.flags.isEmpty, entry.range.upperBound <= body.byteCount else {
      throw NotelogError(
        .tampered, "\(schema.name).\(keyFieldName(of: index)) is not plain text as the schema says")
    }
    return try choice(for: index, named: body.extracting(entry.range), or: .tampered)
  }

  /// The choice of a name.
  ///
  /// - Throws: An error of a code where there is none.
  func choice(
    for index: Int, named name: RawSpan, or code: NotelogError.Code
  ) throws(NotelogError) -> KeyChoice {
    if let choice = fields[index].choices.first(where: { $0.isNamed(by: name) }) { return choice }
    throw NotelogError(
      code,
      "\(schema.name).\(keyFieldName(of: index)) names none of the keys that \(fields[index].name) may be sealed under: "
        + StoredSchema.list(fields[index].choices.map(\.name)))
  }

  /// The name of the field that names a field's key.
  func keyFieldName(of index: Int) -> String {
    self.index(of: fields[index].keyField).map { fields[$0].name } ?? "a field"
  }

  /// Refuses a value that is not under the key that its record names: INV-M6.
  func checkChosenKey(
    _ entry: FieldEntry, _ index: Int, _ id: RecordID, in body: RawSpan
  ) throws(NotelogError) {
    if let choice = try choice(for: index, in: body), isOne(of: choice, entry.keyReference) { return }
    throw NotelogError(
      .tampered, "\(place(index, id)): sealed under another key than \(keyFieldName(of: index)) names")
  }

  /// Whether a reference is one of a choice's, or a newer one of the same key.
  func isOne(of choice: KeyChoice, _ reference: UInt32) -> Bool {
    choice.keys.contains(reference) || isNewer(reference, than: choice.keys)
  }

  /// The reference that a value is sealed under when it is sealed anew: the one in force of its own key,
  /// where each record has its own.
  func keyReference(replacing reference: UInt32, _ index: Int) -> UInt32 {
    guard fields[index].isKeyChosen else { return keyReferences[index] }
    return fields[index].choices.first { isOne(of: $0, reference) }?.keys.last ?? reference
  }
}
