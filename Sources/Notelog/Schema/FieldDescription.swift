// What a field is, apart from the property behind it.

public import NotelogBase

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
  /// The named key that seals the field; nil for a plain field, and where each record names the key.
  public var key: String?
  /// The field that names the key of each record's value: plain text, never optional. nil where one key seals
  /// all, or none does.
  public var keyField: String?
  /// The keys that may be named there.
  public var keyNames: [String] = []
  /// Whether an ordered index is kept; only of plain fields. That of a field which became optional later is
  /// not used.
  public var isIndexed = false
  /// Whether values are padded before sealing.
  public var isPadded = false
  /// Whether values are compressed, and padded, before sealing.
  public var isCompressed = false
  /// Whether digests of sealed values are kept, which reveal those that are equal.
  public var revealsEquality = false
  /// Whether texts that differ in the case of ASCII letters only are equal to those digests.
  public var ignoresCase = false
  /// The collection whose records' ids the values are; nil where they refer to none.
  public var target: String? {
    get { targets.first }
    set { targets = newValue.map { [$0] } ?? [] }
  }
  /// Its name, and those of before.
  var targets: [String] = []
  /// What becomes of a record when the one that it refers to is deleted.
  public var deleteRule = DeleteRule.refuse

  /// Describes a plain field.
  public static func plain(
    _ name: String, _ type: FieldType, indexed: Bool = false, optional: Bool = false
  ) -> FieldDescription {
    FieldDescription(name: name, type: type, isOptional: optional, isIndexed: indexed)
  }

  /// Describes a sealed field.
  ///
  /// - Parameters:
  ///   - name: The field's name.
  ///   - type: The type of its values.
  ///   - key: The named key that seals the field, unless each record names one.
  ///   - keyField: The field that names the key: plain text, not optional.
  ///   - keyNames: The keys that may be named there.
  ///   - compressed: Whether values are compressed, and padded, before sealing.
  ///   - padded: Whether values are padded before sealing.
  ///   - optional: Whether values may be missing.
  ///   - revealingEquality: Whether digests are kept, by which conditions find values, and which reveal those
  ///     that are equal: see ``Sealed/revealingEquality(ignoringCase:)``.
  ///   - ignoringCase: Whether texts that differ in the case of ASCII letters only are equal to them.
  /// - Returns: The field.
  public static func sealed(
    _ name: String, _ type: FieldType, key: String = defaultKeyName, keyFrom keyField: String? = nil,
    among keyNames: [String] = [], compressed: Bool = false, padded: Bool = false, optional: Bool = false,
    revealingEquality: Bool = false, ignoringCase: Bool = false
  ) -> FieldDescription {
    // A field has one or the other; who gives both hears of it where the collection is made.
    FieldDescription(
      name: name, type: type, isOptional: optional,
      key: keyField == nil || key != defaultKeyName ? key : nil, keyField: keyField,
      keyNames: keyNames, isPadded: padded || compressed, isCompressed: compressed,
      revealsEquality: revealingEquality, ignoresCase: ignoringCase)
  }

  /// Its name, and those of before.
  var allNames: [String] { [name] + formerNames }

  /// Whether the field is sealed.
  public var isSealed: Bool { key != nil || keyField != nil }

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

/// What becomes of a record when the one that it refers to is deleted.
public enum DeleteRule: UInt8, Sendable, Hashable {
  /// The transaction is refused.
  case refuse = 1
  /// The record refers to none.
  case nullify = 2
  /// It is deleted too, and so on.
  case cascade = 3
}

extension FieldDescription {
  /// What is wrong with the records that it refers to, or nil.
  var mistakeInReference: String? {
    guard let target else { return nil }
    if target.isEmpty || target.utf8.count > Limits.nameBytes || target.hasControlCharacters {
      return "\(name) refers to a collection without a name"
    }
    if type != .uuid || isSealed || !isIndexed {
      return "\(name) refers to records: it has to be their id, plain and indexed"
    }
    return deleteRule == .nullify && !isOptional ? "\(name) is to become nil, and has to be optional" : nil
  }
}

/// A collection as a schema declares it, without the record type behind it.
struct CollectionDescription: Sendable {
  /// What the names of the library's own collections begin with.
  static let ownPrefix = "notelog."

  var name: String
  var formerNames: [String] = []
  var fields: [FieldDescription]
  var retired: [String] = []
  /// Fields that other versions of the app use.
  var kept: [String] = []
  /// Fields that are retired once their values have been migrated.
  var migrated: [String] = []
  /// The record type, to name it in messages; nil where there is none: then only what is to be added is
  /// declared.
  var typeName: String?
  /// The fields whose values no two records share, one or two a rule; nil where nothing is said, and what is
  /// stored stands.
  var unique: [[String]]?

  /// Its name, and those of before.
  var allNames: [String] { [name] + formerNames }

  /// What the declaration itself gets wrong, or nil.
  var mistake: String? {
    let names = fields.map(\.name) + retired + kept + Array(Set(migrated))
    var seen: Set<String> = []
    for name in names where !seen.insert(name).inserted { return "the field '\(name)' is declared twice" }
    if names.count > Limits.fields { return "there are more than \(Limits.fields) fields" }
    for name in names + fields.flatMap(\.formerNames) + [name] {
      if name.isEmpty || name.utf8.count > Limits.nameBytes { return "names have 1 to 255 bytes of UTF-8" }
    }
    // Names of before may be older than this rule.
    for name in [name] + fields.flatMap({ [$0.name] + $0.keyNames }) where name.hasControlCharacters {
      return "the name \(name.debugDescription) has control characters"
    }
    for field in fields {
      if field.isIndexed && (field.isSealed || !field.type.isSortable) {
        return "\(field.name) can't be indexed"
      }
      if (field.isPadded || field.isCompressed) && !field.isSealed {
        return "\(field.name) is plain, not padded"
      }
      if let mistake = mistakeInKeys(of: field) ?? mistakeInDigests(of: field) ?? field.mistakeInReference {
        return mistake
      }
    }
    for rule in unique ?? [] {
      for name in rule {
        guard let field = fields.first(where: { $0.name == name }) else {
          return "what is unique is no field"
        }
        if field.isSealed ? !field.revealsEquality : !field.isIndexed {
          return "\(name) is unique, and has to be \(field.isSealed ? "revealing equality" : "indexed")"
        }
      }
      if Set(rule).count < rule.count { return "\(rule[0]) is in a rule twice" }
    }
    if unique?.count ?? 0 > Limits.uniqueRules { return "there are more than \(Limits.uniqueRules) rules" }
    return nil
  }

  /// What is wrong with the digests that are to be kept of a field, or nil.
  private func mistakeInDigests(of field: FieldDescription) -> String? {
    let name = field.name
    guard field.revealsEquality else {
      return field.ignoresCase ? "\(name) is to ignore case, and doesn't reveal equality" : nil
    }
    if !field.isSealed { return "\(name) is plain, and has no equality to reveal: index it" }
    if field.keyField != nil {
      return "\(name) is under keys that records name: under two, equal values have other digests"
    }
    if !field.type.isSortable { return "\(name) is JSON: equal values may be other bytes" }
    if field.ignoresCase, field.type != .text { return "\(name) is not text, and has no case to ignore" }
    return nil
  }

  /// What is wrong with how a field's key is chosen, or nil.
  private func mistakeInKeys(of field: FieldDescription) -> String? {
    guard let keyField = field.keyField else {
      return field.keyNames.isEmpty ? nil : "\(field.name) lists keys, and no field names one of them"
    }
    if field.key != nil { return "\(field.name) has a key, and a field that names another" }
    let isText = fields.contains { $0.name == keyField && $0.type == .text && !$0.isSealed && !$0.isOptional }
    guard isText else {
      return "the key of \(field.name) is named by a field that is plain text, and not optional"
    }
    let names = field.keyNames
    if names.isEmpty || names.count > Limits.keysOfField || Set(names).count < names.count {
      return "the key of \(field.name) is one of 1 to \(Limits.keysOfField), each listed once"
    }
    if names.contains(where: { $0.isEmpty || $0.utf8.count > Limits.keyNameBytes }) {
      return "names of keys have 1 to \(Limits.keyNameBytes) bytes of UTF-8"
    }
    return nil
  }
}

// MARK: - A field as code declares it: its name, its traits, and how to take it from a record and put it back.

/// A property's key path.
public typealias FieldPath<R, Value> = any WritableKeyPath<R, Value> & Sendable

/// A property's key path, to read it by.
public typealias FieldKeyPath<R, Value> = any KeyPath<R, Value> & Sendable

/// A field as a schema in code declares it.
struct FieldDefinition<R: Record>: Sendable {
  var description: FieldDescription
  let path: any PartialKeyPath<R> & Sendable
  let access: FieldAccess<R>
  /// The property that names the key of each record's value.
  var keyPath: (any PartialKeyPath<R> & Sendable)?
  /// The names of the collection that it refers to, once all schemas are made.
  var target: (@Sendable () -> [String])?
}

/// A property's way into bytes and back, as closures made where the property's type is known.
@usableFromInline
struct FieldAccess<R: Record>: Sendable {
  let encode: @Sendable (borrowing R, inout Buffer) throws -> Void
  let decode: @Sendable (inout R, RawSpan) throws -> Void

  @inlinable
  init<Value: FieldValue>(_ path: FieldPath<R, Value>) {
    // A key path costs three times what the rest of encoding a short value does. Computed and observed
    // properties have no offset, and go through it.
    guard let offset = MemoryLayout<R>.offset(of: path) else {
      self.init(
        encode: { record, scratch in scratch.append(try record[keyPath: path].stored) },
        decode: { record, bytes in record[keyPath: path] = try Value(stored: Value.Stored(_loading: bytes)) })
      return
    }
    self.init(
      encode: { record, scratch in scratch.append(try loadProperty(Value.self, of: record, at: offset).stored)
      },
      decode: { record, bytes in
        storeProperty(try Value(stored: Value.Stored(_loading: bytes)), to: &record, at: offset)
      })
  }

  @usableFromInline
  init(
    encode: @escaping @Sendable (borrowing R, inout Buffer) throws -> Void,
    decode: @escaping @Sendable (inout R, RawSpan) throws -> Void
  ) {
    self.encode = encode
    self.decode = decode
  }
}

// MARK: - Properties of any Codable type, kept as JSON documents (FORMAT.md 7.3).

extension FieldAccess {
  /// A property of any `Codable` type, kept as JSON.
  init<Document: Codable & Sendable>(json path: FieldPath<R, Document>) {
    self.init(path, { try EncodedJSON(encoding: $0) }, { try $0.decoded(as: Document.self) })
  }

  /// The same of an optional property: nil is no document, but a missing value.
  init<Document: Codable & Sendable>(json path: FieldPath<R, Document?>) {
    self.init(
      path, { try $0.map { try EncodedJSON(encoding: $0) } }, { try $0?.decoded(as: Document.self) })
  }

  private init<Property, Stored: StoredValue>(
    _ path: FieldPath<R, Property>, _ stored: @escaping @Sendable (Property) throws -> Stored,
    _ property: @escaping @Sendable (Stored) throws -> Property
  ) {
    self.init(
      encode: { record, scratch in scratch.append(try stored(record[keyPath: path])) },
      decode: { record, bytes in record[keyPath: path] = try property(Stored(_loading: bytes)) })
  }
}
