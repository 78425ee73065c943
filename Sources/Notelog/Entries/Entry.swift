// A record whose fields are opened when they are read.

import NotelogJournal

/// A record read from a store: each field is opened when it is read, and no other.
///
/// ```swift
/// let entry = try store.get(Note.self, id)
/// print(try entry.title)    // opens the title; the body stays sealed
/// ```
///
/// An entry holds the record's bytes as they were when it was read; later changes don't show in it. Reading a sealed
/// field needs its key at that moment: after ``Store/lock(_:)`` it throws `locked`.
@dynamicMemberLookup
public struct Entry<R: Record>: Sendable, Identifiable {
  let stored: StoredRecord
  let plan: RecordPlan<R>
  let opener: FieldOpener

  /// The record's identity.
  public var id: RecordID { stored.id }
  /// The version of the record: the number of the transaction that wrote it.
  public var revision: UInt64 { stored.revision }

  /// The value of a field; what the stored record lacks has its initial value.
  ///
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public subscript<Value>(dynamicMember path: KeyPath<R, Value>) -> Value {
    get throws { try value(of: path) }
  }

  /// The value of a field; what the stored record lacks has its initial value.
  ///
  /// - Parameter path: A property that the schema declares as a field.
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public func value<Value>(of path: KeyPath<R, Value>) throws -> Value {
    let slot = plan.slots[try plan.slot(of: path)]
    var record = plan.prototype
    try load(slot, into: &record)
    return record[keyPath: path]
  }

  /// The whole record, every field opened.
  ///
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public func record() throws -> R {
    var record = plan.prototype
    record.id = id
    for slot in plan.slots { try load(slot, into: &record) }
    return record
  }

  private func load(_ slot: RecordPlan<R>.Slot, into record: inout R) throws {
    let collection = plan.collection
    guard let entry = try stored.find(collection.fields[slot.index].field.number) else { return }
    let result = try opener.open(entry, in: stored.body.rawSpan, of: id, slot.index, collection) { bytes in
      Result { try slot.definition.access.decode(&record, bytes) }
    }
    try result.get()
  }
}
