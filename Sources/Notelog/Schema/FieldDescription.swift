// What a field is, apart from the property behind it.

import NotelogJournal

/// A field as a schema declares it: its name, its type, and whether and how it is sealed.
public struct FieldDescription: Hashable, Sendable {
  /// The field's name.
  public var name: String
  /// Names the field had in earlier versions of the schema.
  public var formerNames: [String] = []
  /// The type of its values.
  public var type: FieldType
  /// Whether values may be missing.
  public var isOptional = false
  /// The named key that seals the field; nil for a plain field.
  public var key: String?
  /// Whether an ordered index is kept; only of plain fields. That of a field which became optional later is not used.
  public var isIndexed = false
  /// Whether values are padded before sealing.
  public var isPadded = false
  /// Whether values are compressed, and padded, before sealing.
  public var isCompressed = false

  /// Describes a plain field.
  public static func plain(
    _ name: String, _ type: FieldType, indexed: Bool = false, optional: Bool = false
  ) -> FieldDescription {
    FieldDescription(name: name, type: type, isOptional: optional, isIndexed: indexed)
  }

  /// Describes a sealed field.
  public static func sealed(
    _ name: String, _ type: FieldType, key: String = defaultKeyName, compressed: Bool = false,
    padded: Bool = false,
    optional: Bool = false
  ) -> FieldDescription {
    FieldDescription(
      name: name, type: type, isOptional: optional, key: key, isPadded: padded || compressed,
      isCompressed: compressed)
  }

  /// Whether the field is sealed.
  public var isSealed: Bool { key != nil }

  /// The flags of a value written now.
  var flags: FieldFlags {
    var flags: FieldFlags = []
    if isSealed { flags.insert(.sealed) }
    if isOptional { flags.insert(.optional) }
    if isPadded { flags.insert(.padded) }
    if isCompressed { flags.insert(.compressed) }
    return flags
  }
}

/// A collection as a schema declares it, without the record type behind it.
struct CollectionDescription: Sendable {
  var name: String
  var formerNames: [String] = []
  var fields: [FieldDescription]
  var retired: [String] = []
  /// Fields that other versions of the app use.
  var kept: [String] = []
  /// Fields that are retired once their values have been migrated.
  var migrated: [String] = []
  /// The record type, to name it in messages; nil where there is none: then only what is to be added is declared.
  var typeName: String?
  /// The fields whose values no two records share, one or two a rule; nil where nothing is said, and what is stored stands.
  var unique: [[String]]?

  /// What the declaration itself gets wrong, or nil.
  var mistake: String? {
    let names = fields.map(\.name) + retired + kept + Array(Set(migrated))
    var seen: Set<String> = []
    for name in names where !seen.insert(name).inserted { return "the field '\(name)' is declared twice" }
    if names.count > Limits.fields { return "there are more than \(Limits.fields) fields" }
    for name in names + fields.flatMap(\.formerNames) + [name] {
      if name.isEmpty || name.utf8.count > Limits.nameBytes { return "names have 1 to 255 bytes of UTF-8" }
    }
    for field in fields {
      if field.isIndexed && (field.isSealed || !field.type.isSortable) {
        return "\(field.name) can't be indexed"
      }
      if (field.isPadded || field.isCompressed) && !field.isSealed {
        return "\(field.name) is plain, not padded"
      }
    }
    for rule in unique ?? [] {
      for name in rule where fields.first(where: { $0.name == name })?.isIndexed != true {
        return name.isEmpty ? "what is unique is no field" : "\(name) is unique, and has to be indexed"
      }
      if Set(rule).count < rule.count { return "\(rule[0]) is in a rule twice" }
    }
    if unique?.count ?? 0 > Limits.uniqueRules { return "there are more than \(Limits.uniqueRules) rules" }
    return nil
  }
}
