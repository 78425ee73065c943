// A record whose fields are opened when they are read.

import NotelogBase

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
  let stored: OwnedRecord
  let reader: RecordReader<R>

  /// The record's identity.
  public var id: RecordID { stored.id }
  /// The version of the record: the number of the transaction that wrote it.
  public var revision: UInt64 { stored.revision }
  /// Whether the record may have been changed or removed in something that is lost. Only in a store that was opened although it
  /// lost something nobody can name: see ``Store/Options/acceptsUnprovenDamage``.
  public var isPossiblyStale: Bool { stored.isPossiblyStale }

  /// The value of a field; what the stored record lacks has its initial value.
  ///
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public subscript<Value>(dynamicMember path: KeyPath<R, Value>) -> Value {
    get throws { try value(of: path) }
  }

  /// The value of a field; what the stored record lacks has its initial value.
  ///
  /// - Parameter path: A property that the schema declares as a field.
  /// - Returns: The value.
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public func value<Value>(of path: KeyPath<R, Value>) throws -> Value {
    try reader.value(of: path, id, stored.body.rawSpan)
  }

  /// The whole record, every field opened.
  ///
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public func record() throws -> R {
    try reader.record(id, stored.body.rawSpan)
  }
}

extension Entry: CustomStringConvertible {
  /// Collection, id and revision, and nothing of the record's values.
  public var description: String { "\(R.schema.name) \(id) at revision \(revision)" }
}

extension RecordReader {
  /// A record to keep.
  func entry(_ record: ScannedRecord) throws(NotelogError) -> Entry<R> {
    Entry(stored: try OwnedRecord(record, in: plan.collection.number), reader: self)
  }
}
