// A stored schema made ready for use: what reading and writing a field needs, computed once.

import NotelogBase
import NotelogCrypto

/// A collection, ready for use.
final class CollectionPlan: Sendable {
  /// The number in the plan of a collection that isn't stored: no frame has it (FORMAT.md 5).
  static let unstored = UInt16(Limits.collections) + 1

  /// The place of a record's id among the fields that queries name.
  static let idIndex = -1

  let storeID: ID16
  let schema: StoredSchema
  /// The collection's number, out of the schema.
  let number: UInt16
  /// The fields that are not retired, in ascending order of number.
  let fields: [StoredField]
  /// What sealed values are bound to in the place of each field's name.
  let nameHashes: [ID16]
  /// The keys that new values of each field are sealed under; 0 for a plain field, and where each record
  /// chooses.
  let keyReferences: [UInt32]
  /// Whether any field is indexed.
  let hasIndexes: Bool
  /// Whether records choose the key of any field.
  let hasChosenKeys: Bool
  /// The sealed fields of which digests are kept, and those of the digests, by their places in the plan.
  let digests: [(source: Int, digest: Int)]
  var hasDigests: Bool { !digests.isEmpty }
  /// What no two records share.
  let unique: [UniqueRule]
  /// The fields that refer to records, by their places in the plan.
  let references: [Int]
  private let indexByName: [String: Int]
  /// Says which generations are one key's.
  private let vault: Vault?

  init(_ schema: StoredSchema, storeID: ID16, _ vault: Vault? = nil) throws(NotelogError) {
    self.storeID = storeID
    self.vault = vault
    self.schema = schema
    number = schema.collection
    let fields = schema.fields.filter { !$0.isRetired }
    self.fields = fields
    nameHashes = try fields.map { field throws(NotelogError) in
      try naming(
        "\(schema.name).\(field.name)", ID16(collection: schema.firstName, field: field.firstName))
    }
    keyReferences = fields.map { $0.keys.last ?? 0 }
    hasIndexes = fields.contains(where: \.isIndexed)
    hasChosenKeys = fields.contains(where: \.isKeyChosen)
    digests = fields.indices.filter { fields[$0].isDigest }.compactMap { digest in
      fields.firstIndex { $0.number == fields[digest].digestOf }.map { (source: $0, digest: digest) }
    }
    unique = schema.unique.map { UniqueRule($0, in: schema) }
    references = fields.indices.filter { fields[$0].target != nil }
    let named = fields.enumerated().filter { !$1.isDigest }
    indexByName = Dictionary(uniqueKeysWithValues: named.map { ($1.name, $0) })
  }

  /// Whether something is to be held against other records when a record is written.
  var hasRules: Bool { !unique.isEmpty || !references.isEmpty }

  /// Whether records are held to the same rules under another plan of the collection.
  func hasSameRules(as other: CollectionPlan) -> Bool {
    schema.unique == other.schema.unique && digests.count == other.digests.count
      && references.map { fields[$0].number } == other.references.map { other.fields[$0].number }
      && references.map { fields[$0].target } == other.references.map { other.fields[$0].target }
  }

  /// Whether the collection is stored: otherwise it has no records.
  var isStored: Bool { number != Self.unstored }

  /// The field at a place, or what stands for the id.
  func field(at index: Int) -> StoredField { index == Self.idIndex ? .id : fields[index] }

  /// The field of a name.
  func index(of name: String) throws(NotelogError) -> Int {
    guard let index = indexByName[name] else {
      throw NotelogError(.notFound, "collection \(schema.name) has no field \(name)")
    }
    return index
  }

  /// The place of a declared field, by its name or a former one; nil where it was retired.
  func index(of field: FieldDescription) -> Int? {
    if let index = indexByName[field.name] { return index }
    return schema.position(of: field).flatMap { index(of: schema.fields[$0].number) }
  }

  /// The field of a number, or nil where this version of the schema doesn't know it.
  func index(of number: UInt16) -> Int? {
    let index = fields.firstPlace(notBelow: UInt32(number)) { UInt32($0.number) }
    return index < fields.count && fields[index].number == number ? index : nil
  }

  /// Compares what a directory says of a value with what the schema permits, and with the key that the record
  /// names for it.
  ///
  /// - Throws: `tampered`, `typeMismatch`.
  func check(_ entry: FieldEntry, _ index: Int, _ id: RecordID, in body: RawSpan) throws(NotelogError) {
    guard entry.flags.contains(.sealed) == fields[index].isSealed else {
      throw NotelogError(.tampered, "\(place(index, id)): the value is not sealed as the schema says")
    }
    guard entry.type == fields[index].type else {
      throw NotelogError(
        .typeMismatch,
        "\(place(index, id)) holds a \(entry.type.name) value, not a \(fields[index].type.name) one")
    }
    guard fields[index].isOptional || !entry.flags.contains(.optional) else {
      throw NotelogError(.typeMismatch, "\(place(index, id)) holds an optional value")
    }
    // The key in force is that of nearly all values.
    if entry.keyReference == keyReferences[index] { return }
    if fields[index].isKeyChosen { return try checkChosenKey(entry, index, id, in: body) }
    let keys = fields[index].keys
    guard
      !fields[index].isSealed || keys.contains(entry.keyReference)
        || isNewer(entry.keyReference, than: keys)
    else { throw NotelogError(.tampered, "\(place(index, id)): sealed under a key that the field never had") }
  }

  /// Whether a generation is one of a key that a field lists: one that came after this plan was made.
  func isNewer(_ reference: UInt32, than keys: [UInt32]) -> Bool {
    guard let keyring = vault?.keyring, let key = keyring.dataKey(KeyReference(rawValue: reference)) else {
      return false
    }
    return keys.contains {
      keyring.dataKey(KeyReference(rawValue: $0))?.number == key.number && $0 < reference
    }
  }

  /// What a value must be bound to, its type, flags and key as the directory says, all else as we expect it.
  func additionalData(_ entry: FieldEntry, _ index: Int, _ id: RecordID) -> AdditionalData {
    AdditionalData(
      store: storeID, record: id.bytes, name: nameHashes[index], type: entry.type.rawValue,
      flags: UInt16(entry.flags.rawValue), key: KeyReference(rawValue: entry.keyReference))
  }
}
