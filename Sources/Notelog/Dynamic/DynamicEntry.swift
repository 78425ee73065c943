// A record read without a record type: what the tool and a dump see.

import NotelogBase

/// A record whose fields are read by name, as the stored schema describes them.
public struct DynamicEntry: Sendable, Identifiable {
  /// A field as it lies in a record.
  public struct Field: Sendable, Hashable {
    /// The field's name; `field 7` where the schema doesn't know the number.
    public let name: String
    /// The field's number.
    public let number: Int
    /// The type of its value.
    public let type: FieldType
    /// The number of the key that the value is sealed under; nil for a plain value.
    public let keyNumber: UInt32?
    /// How many bytes it takes, its seal included. Of a value that left its record, those of its chunks are counted, as the record
    /// says: that is certain once ``DynamicEntry/content(of:)`` has returned.
    public let storedByteCount: Int
    /// Whether the schema has a field of this number in use. A value that it has none for is carried over, or goes with the record's next
    /// update where its field was retired.
    public let isInSchema: Bool

    /// Whether the value is sealed.
    public var isSealed: Bool { keyNumber != nil }
  }

  let stored: OwnedRecord
  let plan: CollectionPlan
  let opener: FieldOpener
  /// The record's directory, in ascending order of number.
  private let entries: [FieldEntry]
  /// The fields that the record has, in ascending order of number.
  public let fields: [Field]

  init(_ stored: OwnedRecord, _ plan: CollectionPlan, _ opener: FieldOpener) throws(NotelogError) {
    self.stored = stored
    self.plan = plan
    self.opener = opener
    entries = try stored.entries()
    fields = entries.filter { !plan.isDigest($0.number) }.map { entry in
      let reference =
        entry.flags.contains(.chunked)
        ? ValueReference(stored.body.rawSpan.extracting(entry.range)) : nil
      let index = plan.index(of: entry.number)
      return Field(
        name: index.map { plan.fields[$0].field.name } ?? "field \(entry.number)",
        number: Int(entry.number), type: entry.type,
        keyNumber: entry.flags.contains(.sealed) ? entry.keyReference : nil,
        storedByteCount: reference?.sealedByteCount ?? entry.range.count, isInSchema: index != nil)
    }
  }

  /// The record's identity.
  public var id: RecordID { stored.id }
  /// The version of the record: the number of the transaction that wrote it.
  public var revision: UInt64 { stored.revision }
  /// Whether the record may have been changed or removed in something that is lost: see ``Entry/isPossiblyStale``.
  public var isPossiblyStale: Bool { stored.isPossiblyStale }
  /// The name of the record's collection.
  public var collection: String { plan.schema.name }
  /// How many bytes the record takes.
  public var byteCount: Int { stored.body.count }

  /// The value of a field, opened if it is sealed; ``DynamicValue/missing`` where the record has none.
  ///
  /// - Throws: `notFound` if the schema has no such field; `locked`, `missingKey`, `tampered`, `damaged`.
  public func value(_ name: String) throws -> DynamicValue {
    let index = try plan.index(of: name)
    let field = plan.fields[index].field
    guard let entry = entries.find(UInt32(field.number), by: { UInt32($0.number) }) else { return .missing }
    return try opener.open(entry, in: stored.body.rawSpan, of: id, index, plan) {
      bytes throws(NotelogError) in
      try DynamicValue(loading: bytes, as: field.type, isOptional: field.isOptional)
    }
  }
}

extension DynamicEntry: CustomStringConvertible {
  /// Collection, id and revision, and nothing of the record's values.
  public var description: String { "\(collection) \(id) at revision \(revision)" }
}

extension DynamicEntry {
  /// The bytes of a field, to be read piece by piece or by range; nil where the record has no value.
  ///
  /// - Throws: `notFound` if the schema has no such field; `locked`, `missingKey`, `tampered`, `damaged`.
  public func content(of name: String) throws -> FieldContent? {
    let index = try plan.index(of: name)
    guard let entry = try stored.find(plan.fields[index].number) else { return nil }
    return try opener.content(entry, of: stored, index, plan)
  }
}
