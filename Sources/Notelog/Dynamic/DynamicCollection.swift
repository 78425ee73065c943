// A collection used without a record type, by the names of its fields.

import NotelogBase
import NotelogCrypto

/// A collection whose records are read and written by field name, as the stored schema describes them.
///
/// Plain fields are read while the store is locked. Writing needs an unlocked store: without a schema in
/// code, the stored one is the only word on what must be sealed, and only the unlocked store can check it.
public struct DynamicCollection: Sendable, Opaque {
  let store: Store
  let plan: CollectionPlan

  /// The collection's name.
  public var name: String { plan.schema.name }
  /// The collection's number.
  public var number: Int { Int(plan.schema.collection) }

  /// All fields that ever were, in ascending order of number.
  public var fields: [FieldInfo] {
    plan.schema.fields.filter { !$0.isDigest }.map { field in
      FieldInfo(
        keyName: field.keys.last.flatMap { store.vault.name(of: KeyReference(rawValue: $0)) },
        keyField: plan.schema.field(field.keyField)?.name, field: field,
        digests: plan.schema.digests(of: field).map { plan.schema.fields[$0] })
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
    guard let stored = try store.read(id, in: plan.number, &buffer) else { return nil }
    return try DynamicEntry(stored, plan, store.opener)
  }

  /// The version of a record that a transaction wrote; nil where the store does not have it any more, or it is
  /// a deletion.
  ///
  /// - Parameters:
  ///   - id: The record's id.
  ///   - revision: The version's revision: see ``Store/versions(of:)``.
  /// - Returns: The version.
  /// - Throws: `damaged`, `closed`, `inputOutput`.
  public func get(_ id: RecordID, revision: UInt64) throws -> DynamicEntry? {
    guard let stored = try store.read(id, in: plan.number, revision: revision) else { return nil }
    return try DynamicEntry(stored, plan, store.opener)
  }

  /// Sets fields of a record; the others are carried over as they are, sealed values unopened.
  ///
  /// - Throws: `notFound`, `locked`, `typeMismatch`.
  public func update(_ id: RecordID, _ values: [String: DynamicValue]) throws {
    try store.write { tx in try tx.update(in: self, id, values) }
  }

  /// Removes a record, also one that can't be read.
  ///
  /// - Returns: Whether there was one.
  /// - Throws: `brokenReference` where another record refers to it, and refuses that; `full`,
  ///   `readOnly`, `closed`.
  @discardableResult
  public func remove(_ id: RecordID) throws -> Bool { try store.write { tx in try tx.delete(id, plan) } }

  /// How many records there are, those that can't be read among them.
  public var count: Int {
    get throws { try store.journal.snapshot().recordCount(in: plan.schema.collection) }
  }
}

// MARK: - A value of any length for a field that is known by its name.

extension DynamicCollection {
  /// Sets a sealed field of bytes of a record to a value that is never in memory as a whole. It is sealed as
  /// it comes, ahead of the record's update, as by `Store.upload`: don't call this inside a write closure.
  ///
  /// - Parameters:
  ///   - id: The record's id.
  ///   - name: The field: sealed, of bytes, neither padded nor compressed. Any other throws
  ///     `invalidArgument`, and says why.
  ///   - values: The values of other fields, set with it.
  ///   - read: Fills a buffer from its start, and returns how many bytes it wrote; 0 at the value's end.
  /// - Throws: `notFound`, `locked`, `typeMismatch`, `invalidArgument`, `limitExceeded`, `conflict`,
  ///   `notUnique`, `brokenReference`, `full`, and what `read` throws.
  public func update(
    _ id: RecordID, streaming name: String, _ values: [String: DynamicValue] = [:],
    reading read: (inout MutableRawSpan) throws -> Int
  ) throws {
    var uploader = try Uploader(store, plan, plan.index(of: name), id)
    try uploader.append(reading: read)
    let content = try uploader.finish()
    // From its end on the uploader no longer keeps the value alive, and later the record does.
    defer { if let value = content.value { store.journal.catalog.chunks.endUpload(value) } }
    try store.write { tx in try tx.update(in: self, id, values, uploaded: (name, content)) }
  }
}

// MARK: - A record read without a record type: what the tool and a dump see.

/// A record whose fields are read by name, as the stored schema describes them.
public struct DynamicEntry: Sendable, Identifiable, Opaque, CustomStringConvertible {
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
    /// How many bytes it takes, its seal included. Of a value that left its record, those of its chunks are
    /// counted, as the record says: that is certain once ``DynamicEntry/content(of:)`` has returned.
    public let storedByteCount: Int
    /// Whether the schema has a field of this number in use. A value that it has none for is carried over, or
    /// goes with the record's next update where its field was retired.
    public let isInSchema: Bool

    /// Whether the value is sealed.
    public var isSealed: Bool { keyNumber != nil }
  }

  let stored: OwnedRecord
  let plan: CollectionPlan
  let opener: FieldOpener
  /// The fields that the record has, in ascending order of number.
  public let fields: [Field]

  init(_ stored: OwnedRecord, _ plan: CollectionPlan, _ opener: FieldOpener) throws(NotelogError) {
    self.stored = stored
    self.plan = plan
    self.opener = opener
    fields = try stored.entries().filter { plan.schema.field($0.number)?.isDigest != true }.map { entry in
      let reference =
        entry.flags.contains(.chunked)
        ? ValueReference(stored.body.rawSpan.extracting(entry.range)) : nil
      let index = plan.index(of: entry.number)
      return Field(
        name: index.map { plan.fields[$0].name } ?? "field \(entry.number)",
        number: Int(entry.number), type: entry.type,
        keyNumber: entry.flags.contains(.sealed) ? entry.keyReference : nil,
        storedByteCount: reference?.sealedByteCount ?? entry.range.count, isInSchema: index != nil)
    }
  }

  /// The record's identity.
  public var id: RecordID { stored.id }
  /// The version of the record: the number of the transaction that wrote it.
  public var revision: UInt64 { stored.revision }
  /// Whether the record may have been changed or removed in something that is lost: see
  /// ``Entry/isPossiblyStale``.
  public var isPossiblyStale: Bool { stored.record.isPossiblyStale }
  /// The name of the record's collection.
  public var collection: String { plan.schema.name }
  /// How many bytes the record takes.
  public var byteCount: Int { stored.body.count }

  /// The value of a field, opened if it is sealed; ``DynamicValue/missing`` where the record has none.
  ///
  /// - Throws: `notFound` if the schema has no such field; `locked`, `missingKey`, `tampered`, `damaged`.
  public func value(_ name: String) throws -> DynamicValue {
    let index = try plan.index(of: name)
    let field = plan.fields[index]
    guard let entry = try stored.find(field.number) else { return .missing }
    return try opener.open(entry, in: stored.body.rawSpan, of: id, index, plan) {
      bytes throws(NotelogError) in
      try DynamicValue(loading: bytes, as: field.type, isOptional: field.isOptional)
    }
  }

  /// Collection, id and revision, and nothing of the record's values.
  public var description: String { "\(collection) \(id) at revision \(revision)" }

  /// The bytes of a field, to be read piece by piece or by range; nil where the record has no value.
  ///
  /// - Throws: `notFound` if the schema has no such field; `locked`, `missingKey`, `tampered`, `damaged`.
  public func content(of name: String) throws -> FieldContent? {
    try opener.content(of: stored, plan.index(of: name), plan)
  }
}

// MARK: - What the store knows of a field, for those who have no record type.

/// A field of a collection as the stored schema describes it.
public struct FieldInfo: Sendable, Hashable {
  /// The field's name.
  public var name: String { field.name }
  /// The name under which it was first declared.
  public var firstName: String { field.firstName }
  /// The field's number, from 1; never used again.
  public var number: Int { Int(field.number) }
  /// The type of its values.
  public var type: FieldType { field.type }
  /// Whether a value may be missing.
  public var isOptional: Bool { field.isOptional }
  /// Whether values are sealed.
  public var isSealed: Bool { field.isSealed }
  /// Whether an ordered index is kept.
  public var isIndexed: Bool { field.isIndexed }
  /// Whether values are padded before sealing.
  public var isPadded: Bool { field.flags.contains(.padded) }
  /// Whether values are compressed before sealing.
  public var isCompressed: Bool { field.flags.contains(.compressed) }
  /// Whether the field was retired.
  public var isRetired: Bool { field.isRetired }
  /// The number of the key that new values are sealed under; nil for a plain field, and where each record
  /// names the key.
  public var keyNumber: UInt32? { field.keys.last }
  /// The name of that key; nil for a plain field, and while names are locked.
  public let keyName: String?
  /// The name of the field that names the key of each record's value; nil where none does.
  public let keyField: String?
  /// Whether digests are kept of the field's values, which reveal those that are equal: see
  /// ``Sealed/revealingEquality(ignoringCase:)``.
  public var revealsEquality: Bool { digests != nil }
  /// Whether texts that differ in the case of ASCII letters only are equal to those digests.
  public var ignoresCase: Bool { digests?.ignoresCase == true }
  /// The keys that may be named there.
  public var keyNames: [String] { field.choices.map(\.name) }
  /// The collection whose records' ids the values are; nil where they refer to none.
  public var target: String? { field.target }
  /// What becomes of a record when the one that it refers to is deleted.
  public var deleteRule: DeleteRule { field.deleteRule }

  fileprivate let field: StoredField
  fileprivate let digests: StoredField?
}

extension FieldDescription {
  /// Describes a field as the store has it: declared so, it stays as it is. With another ``name``, it is
  /// renamed.
  ///
  /// - Parameter field: The field; that of an unlocked store, where it is sealed.
  public init(_ field: FieldInfo) {
    self.init(
      name: field.name, formerNames: [field.name, field.firstName], type: field.type,
      isOptional: field.isOptional, key: field.keyName, keyField: field.keyField, keyNames: field.keyNames,
      isIndexed: field.isIndexed, isPadded: field.isPadded, isCompressed: field.isCompressed,
      revealsEquality: field.revealsEquality, ignoresCase: field.ignoresCase,
      targets: field.target.map { [$0] } ?? [], deleteRule: field.deleteRule)
  }
}
