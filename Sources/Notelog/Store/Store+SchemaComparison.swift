// Record types compared with the stored schemas, before any of them is used.

import NotelogBase

extension Store {
  /// Refuses record types that don't fit the stored schemas, and collections that were renamed unsaid. Nothing is stored.
  func compareSchemas(of types: [any Record.Type]) throws(NotelogError) {
    if types.isEmpty { return }
    let declarations = types.map { declaration(of: $0) }
    var unclaimed = registry.withLock { $0.byNumber.mapValues(\.plan.schema) }
    var new: [CollectionDescription] = []
    for declared in declarations {
      guard var schema = registry.withLock({ $0.find(declared)?.plan.schema }) else {
        new.append(declared)
        continue
      }
      unclaimed[schema.collection] = nil
      try schema.evolve(
        to: declared, key: { name throws(NotelogError) in try self.keyReference(name) },
        newKey: { name throws(NotelogError) in try self.keyReference(name) ?? UInt32.max })
    }
    for declared in new {
      guard let type = declared.typeName, let old = unclaimed.values.first(where: declared.hasAllFields)
      else { continue }
      throw NotelogError(
        .schemaConflict,
        "\(type) declares collection \(declared.name), which is new, and no type declares the stored \(old.name), all of whose fields it has: if it was renamed, add formerly: \"\(old.name)\" to its schema"
      )
    }
  }

  private func declaration<R: Record>(of type: R.Type) -> CollectionDescription { R.schema.description }
}

extension CollectionDescription {
  /// Whether all fields in use of a stored schema are declared, of the same type and sealed alike.
  fileprivate func hasAllFields(of schema: StoredSchema) -> Bool {
    let inUse = schema.fields.filter { !$0.isRetired && !$0.isDigest }
    return !inUse.isEmpty
      && inUse.allSatisfy { old in
        fields.contains { $0.name == old.name && $0.type == old.type && $0.isSealed == old.isSealed }
      }
  }
}
