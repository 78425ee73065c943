// Schemas that are stored anew because keys or the root changed: docs/format-keyring.md.

import NotelogBase
import NotelogCrypto

extension Store {
  /// Has all fields of a schema seal under the generations in force; the schema is stored anew in any case.
  func followAll(_ schema: inout StoredSchema) throws(NotelogError) -> Bool {
    for key in vault.keyring.namedKeys { _ = try follow(&schema, key.number) }
    return true
  }

  /// Has the fields that are sealed under a key seal under its generation in force.
  ///
  /// - Returns: Whether anything changed.
  func follow(_ schema: inout StoredSchema, _ number: UInt16) throws(NotelogError) -> Bool {
    let keyring = vault.keyring
    guard let current = keyring.namedKey(number)?.current.rawValue, current != 0 else { return false }
    var isChanged = false
    for index in schema.fields.indices {
      let place = "\(schema.name).\(schema.fields[index].name)"
      try schema.fields[index].changeKeys { keys throws(NotelogError) in
        guard let last = keys.last, keyring.dataKey(KeyReference(rawValue: last))?.number == number else {
          return
        }
        if try keys.putInForce(current, of: place) { isChanged = true }
      }
    }
    return isChanged
  }
}

extension Transaction {
  /// Changes stored schemas, and stores those anew that were changed; all, where a change of the root is not finished: INV-M5.
  mutating func storeSchemas(
    _ change: (inout StoredSchema) throws(NotelogError) -> Bool
  ) throws(NotelogError) {
    turn.batch.isOfKeys = true
    let isAll = store.vault.isRootChangeUnfinished
    for stored in store.registry.withLock({ Array($0.byNumber.values) }) {
      var schema = stored.plan.schema
      guard try change(&schema) || isAll else { continue }
      guard schema.revision < .max else {
        throw NotelogError(.limitExceeded, "the schema of \(schema.name) was changed too often")
      }
      schema.revision += 1
      let stored = try store.sealSchema(schema)
      put(stored)
    }
  }
}
