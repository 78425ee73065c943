// What the store knows of a field, for those who have no record type.

/// A field of a collection as the stored schema describes it.
public struct FieldInfo: Sendable, Hashable {
  /// The field's name.
  public let name: String
  /// The name under which it was first declared.
  public let firstName: String
  /// The field's number, from 1; never used again.
  public let number: Int
  /// The type of its values.
  public let type: FieldType
  /// Whether a value may be missing.
  public let isOptional: Bool
  /// Whether values are sealed.
  public let isSealed: Bool
  /// Whether an ordered index is kept.
  public let isIndexed: Bool
  /// Whether values are padded before sealing.
  public let isPadded: Bool
  /// Whether values are compressed before sealing.
  public let isCompressed: Bool
  /// Whether the field was retired.
  public let isRetired: Bool
  /// The number of the key that new values are sealed under; nil for a plain field.
  public let keyNumber: UInt32?
  /// The name of that key; nil for a plain field, and while names are locked.
  public let keyName: String?

  init(_ field: StoredField, keyName: String?) {
    name = field.name
    firstName = field.firstName
    number = Int(field.number)
    type = field.type
    isOptional = field.isOptional
    isSealed = field.isSealed
    isIndexed = field.isIndexed
    isPadded = field.flags.contains(.padded)
    isCompressed = field.flags.contains(.compressed)
    isRetired = field.isRetired
    keyNumber = field.keys.last
    self.keyName = keyName
  }
}
