// A collection's schema as the store keeps it (FORMAT.md 9).

import NotelogBase
import NotelogFormat

/// What the store knows of a collection: its fields, their numbers, and what they were called at first.
struct StoredSchema: Hashable, Sendable {
  /// The collection's number; 0 is the store's own.
  let collection: UInt16
  /// How often the schema changed.
  var revision: UInt32
  /// The name under which the collection was first declared: sealed values are bound to it for ever.
  let firstName: String
  var name: String
  /// All fields that ever were, in ascending order of number.
  var fields: [StoredField]
  /// The numbers of the fields whose values no two records share, one or two a rule.
  var unique: [[UInt16]] = []

  /// The field of a name, retired ones left out.
  func field(named name: String) -> StoredField? { fields.first { $0.name == name && !$0.isRetired } }
}

/// A field as the store knows it.
struct StoredField: Hashable, Sendable {
  let number: UInt16
  let type: FieldType
  let firstName: String
  var name: String
  /// The flags of a value written now.
  var flags: FieldFlags
  var isIndexed: Bool
  var isRetired: Bool
  /// Whether the field was optional when it was first declared: then all of its sort keys say whether there is a value.
  var wasAlwaysOptional = false
  /// For each named key the field was ever sealed under, a reference to one of its generations; the last is in force.
  var keys: [UInt32]
  /// The number of the field that names each value's key; 0 where it is none's.
  var keyField: UInt16 = 0
  /// The keys that may be named there; then ``keys`` is empty.
  var choices: [KeyChoice] = []
  /// The number of the field whose values' digests these are; 0 where it is no such field.
  var digestOf: UInt16 = 0

  var isSealed: Bool { flags.contains(.sealed) }
  var isOptional: Bool { flags.contains(.optional) }
}

/// Where a store keeps its schemas: as records of a collection of their own.
enum SchemaRecord {
  /// The collection that holds the schemas of the others.
  static let collection: UInt16 = 0
  /// The only field of a schema's record.
  static let field: UInt16 = 1

  /// The id of a schema's record.
  static func key(_ collection: UInt16) -> ID16 { ID16(low: UInt64(collection), high: 0) }

  /// The collection whose schema the record of an id is; nothing where it is no schema's.
  static func number(_ key: ID16) -> Int? {
    key.high == 0 && (1...UInt64(Limits.collections)).contains(key.low) ? Int(key.low) : nil
  }
}
