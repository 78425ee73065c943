// Records by field name in a transaction.

import NotelogBase

extension Transaction {
  /// Writes a record by field names, in the place of an earlier version if there is one.
  ///
  /// - Parameters:
  ///   - collection: The collection.
  ///   - id: The record's id.
  ///   - values: The values by field name; a field left out has no value.
  ///   - condition: What must be so.
  /// - Returns: The record's id.
  /// - Throws: `locked`, `notFound` for a name that isn't a field's, `typeMismatch`; `alreadyExists`
  ///   and `conflict` where the condition is not met.
  @discardableResult
  public mutating func put(
    in collection: DynamicCollection, _ id: RecordID, _ values: [String: DynamicValue],
    if condition: WriteCondition = .always
  ) throws -> RecordID {
    let plan = try checkedPlan(of: collection)
    try check(condition, id, plan)
    try merge(id, over: nil, plan, values)
    return id
  }

  /// Sets fields of a record by name; the others are carried over as they are, sealed values unopened.
  ///
  /// - Parameters:
  ///   - collection: The collection.
  ///   - id: The record's id.
  ///   - values: The values by field name.
  ///   - condition: What must be so.
  /// - Throws: `notFound`, `locked`, `typeMismatch`, `conflict`.
  public mutating func update(
    in collection: DynamicCollection, _ id: RecordID, _ values: [String: DynamicValue],
    if condition: WriteCondition = .always
  ) throws {
    let plan = try checkedPlan(of: collection)
    try merge(id, over: existing(id, plan, if: condition), plan, values)
  }

  /// The same, with a value that was sealed ahead.
  mutating func update(
    in collection: DynamicCollection, _ id: RecordID, _ values: [String: DynamicValue],
    uploaded: (name: String, content: SealedContent)
  ) throws {
    let plan = try checkedPlan(of: collection)
    let stored = try existing(id, plan, if: .always)
    let index = try plan.index(of: uploaded.name)
    try plan.checkKey(of: uploaded.content, index, id)
    try merge(id, over: stored, plan, values, [index: uploaded.content])
  }

  /// Deletes a record. It needs no key.
  ///
  /// - Parameters:
  ///   - collection: The collection.
  ///   - id: The record's id.
  /// - Returns: Whether there was one.
  /// - Throws: `inputOutput`; the transaction's commit throws `brokenReference` where another record
  ///   refuses it.
  @discardableResult
  public mutating func delete(in collection: DynamicCollection, _ id: RecordID) throws -> Bool {
    try delete(id, collection.plan)
  }

  private mutating func checkedPlan(of collection: DynamicCollection) throws(NotelogError) -> CollectionPlan {
    guard store.schemasAreVerified.isSet else {
      throw NotelogError(
        .locked, "the schema of \(collection.name) can't be checked: unlock the store to write by field name")
    }
    // The collection may have been asked for long ago: what is written follows the schema of now.
    let number = collection.plan.number
    let plan =
      schemas[number]?.plan ?? store.registry.withLock { $0.byNumber[number]?.plan } ?? collection.plan
    prepare(plan)
    return plan
  }

  /// Writes a record's next version by the names of its fields.
  private mutating func merge(
    _ id: RecordID, over stored: OwnedRecord?, _ plan: CollectionPlan, _ values: [String: DynamicValue],
    _ ready: [Int: SealedContent] = [:]
  ) throws(NotelogError) {
    var byIndex: [Int: DynamicValue] = [:]
    for (name, value) in values { byIndex[try plan.index(of: name)] = value }
    let changed = Set(byIndex.keys).union(ready.keys)
    try merge(id, over: stored, plan, changed: changed, ready) { index, scratch in
      let field = plan.fields[index]
      do throws(NotelogError) {
        try byIndex[index]?.store(as: field.type, isOptional: field.isOptional, into: &scratch)
      } catch { throw NotelogError(error.code, "\(field.name): \(error.message)") }
    }
  }
}
