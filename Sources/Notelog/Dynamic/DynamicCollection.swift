// A collection used without a record type, by the names of its fields.

import NotelogBase
import NotelogFormat
import NotelogCrypto
import Synchronization

/// A collection whose records are read and written by field name, as the stored schema describes them.
///
/// Plain fields are read while the store is locked. Writing needs an unlocked store: without a schema in code, the stored
/// one is the only word on what must be sealed, and only the unlocked store can check it.
public struct DynamicCollection: Sendable {
  let store: Store
  let plan: CollectionPlan

  /// The collection's name.
  public var name: String { plan.schema.name }
  /// The collection's number.
  public var number: Int { Int(plan.schema.collection) }

  /// All fields that ever were, in ascending order of number.
  public var fields: [FieldInfo] {
    let revealed = Set(plan.schema.fields.filter { $0.isDigest && !$0.isRetired }.map(\.digestOf))
    return plan.schema.fields.filter { !$0.isDigest }.map { field in
      FieldInfo(
        field, keyName: field.keys.last.flatMap { store.vault.name(of: KeyReference(rawValue: $0)) },
        keyField: plan.schema.fields.find(UInt32(field.keyField)) { UInt32($0.number) }?.name,
        revealsEquality: revealed.contains(field.number))
    }
  }

  /// Adds records.
  ///
  /// - Parameters:
  ///   - records: The values of each record by field name; a field left out has no value.
  ///   - durability: What the commit survives.
  /// - Returns: The records' ids.
  /// - Throws: `locked`, `notFound` for a name that isn't a field's, `typeMismatch`.
  @discardableResult
  public func add(
    _ records: [[String: DynamicValue]], _ durability: Durability = .durable
  ) throws -> [RecordID] {
    try store.write(durability) { tx in
      try records.map { values in try tx.put(in: self, RecordID(), values) }
    }
  }

  /// Adds a record.
  ///
  /// - Parameter values: The values by field name; a field left out has no value.
  /// - Returns: The record's id.
  /// - Throws: `locked`, `notFound` for a name that isn't a field's, `typeMismatch`.
  @discardableResult
  public func add(_ values: [String: DynamicValue]) throws -> RecordID {
    try store.write { tx in try tx.put(in: self, RecordID(), values) }
  }

  /// The record with an id; nil where there is none.
  public func get(_ id: RecordID) throws -> DynamicEntry? {
    var buffer = ReadBuffer()
    return try get(id, &buffer)
  }

  /// Sets fields of a record; the others are carried over as they are, sealed values unopened.
  ///
  /// - Throws: `notFound`, `locked`, `typeMismatch`.
  public func update(_ id: RecordID, _ values: [String: DynamicValue]) throws {
    try store.write { tx in try tx.update(in: self, id, values) }
  }

  /// Removes a record.
  ///
  /// - Returns: Whether there was one.
  @discardableResult
  public func remove(_ id: RecordID) throws -> Bool {
    try store.write { tx in try tx.delete(id, plan) }
  }

  /// Calls `body` with each record, in the order of ids, until it returns false.
  ///
  /// A record that can't be read is handed to `damaged`, and the rest follows.
  ///
  /// - Complexity: O(*n* log *n*); in memory 16 bytes for each record of the collection, as that order is not the disk's.
  public func forEach(
    _ body: (DynamicEntry) throws -> Bool,
    damaged: (RecordID, NotelogError) throws -> Bool = { _, error in throw error }
  ) throws {
    var buffer = ReadBuffer()
    let keys = try store.journal.records(in: plan.schema.collection)
    for key in keys {
      let id = RecordID(key)
      let entry: DynamicEntry?
      do throws(NotelogError) {
        entry = try get(id, &buffer)
      } catch {
        guard try damaged(id, error) else { return }
        continue
      }
      if let entry, try !body(entry) { return }
    }
  }

  private func get(_ id: RecordID, _ buffer: inout ReadBuffer) throws(NotelogError) -> DynamicEntry? {
    guard let stored = try store.read(id, in: plan.number, &buffer) else { return nil }
    return try DynamicEntry(stored, plan, store.opener)
  }

  /// How many records there are, those that can't be read among them.
  public var count: Int {
    get throws {
      try store.journal.snapshot().recordCount(in: plan.schema.collection)
    }
  }
}
