// What the store knows of a field, for those who have no record type.

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
  /// The number of the key that new values are sealed under; nil for a plain field, and where each record names the key.
  public var keyNumber: UInt32? { field.keys.last }
  /// The name of that key; nil for a plain field, and while names are locked.
  public let keyName: String?
  /// The name of the field that names the key of each record's value; nil where none does.
  public let keyField: String?
  /// Whether digests are kept of the field's values, which reveal those that are equal: see ``Unique``.
  public let revealsEquality: Bool
  /// The keys that may be named there.
  public var keyNames: [String] { field.choices.map(\.name) }

  private let field: StoredField

  init(_ field: StoredField, keyName: String?, keyField: String?, revealsEquality: Bool) {
    self.field = field
    self.keyName = keyName
    self.keyField = keyField
    self.revealsEquality = revealsEquality
  }
}
