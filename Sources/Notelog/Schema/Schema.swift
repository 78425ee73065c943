// What the app's record types conform to.

/// A value that a store keeps as a record: its schema says which properties are fields, and which are sealed.
///
/// ```swift
/// struct Note: Record {
///   var id = RecordID()
///   var time = Date()
///   var title = ""
///   static let schema = Schema<Note>("note") {
///     Plain("time", \.time, indexed: true)
///     Sealed("title", \.title)
///   }
/// }
/// ```
///
/// Properties that the schema doesn't name aren't stored; they have their initial value when a record is
/// read.
public protocol Record: Sendable {
  /// Creates a record with the initial values that fields missing from a stored record take.
  init()
  /// The record's identity in the store.
  var id: RecordID { get set }
  /// The record's fields, by name.
  static var schema: Schema<Self> { get }
}

// MARK: - A record type's fields, as code declares them (FORMAT.md 9).

/// The fields of a record type, and the collection that keeps its records.
///
/// The store keeps a copy, by which fields are numbered, tools read the store, and changes are checked:
/// fields may be added, retired, renamed and migrated; a field's type, and whether it is sealed, never
/// change. A schema that adds fields names all that the store has: what is neither declared nor ``Retired``,
/// ``Migrated`` or ``Kept`` would be out of sight, and is refused with `schemaConflict`. One that adds
/// nothing may leave fields out: then it is an older version of the app's, or a part.
public struct Schema<R: Record>: Sendable {
  fileprivate let declared: CollectionDescription
  /// The names of the collections that fields refer to, former ones last, by the fields' places. Types may refer to one another:
  /// none is asked before all are made.
  private let targets: [Int: @Sendable () -> [String]]
  let fields: [FieldDefinition<R>]
  /// What migrates fields: each is a `Migrated`.
  let migrations: [any Sendable]

  /// The collection's name.
  public var name: String { declared.name }

  /// The collection as it is declared.
  var description: CollectionDescription {
    var description = declared
    for (index, names) in targets { description.fields[index].targets = names() }
    return description
  }

  /// Declares a schema.
  ///
  /// - Parameters:
  ///   - name: The collection's name in the store.
  ///   - formerly: Names the collection had in earlier versions of the schema.
  ///   - elements: The fields.
  public init(_ name: String, formerly: String..., @SchemaElements<R> elements: () -> SchemaElements<R>) {
    let elements = elements()
    func fieldName(of path: any PartialKeyPath<R> & Sendable) -> String {
      let field = elements.fields.first { ($0.path as PartialKeyPath<R>) == (path as PartialKeyPath<R>) }
      return field?.description.name ?? ""
    }
    var fields = elements.fields
    for index in fields.indices { fields[index].description.keyField = fields[index].keyPath.map(fieldName) }
    declared = CollectionDescription(
      name: name, formerNames: formerly, fields: fields.map(\.description), retired: elements.retired,
      kept: elements.kept, migrated: elements.migrated, typeName: "\(R.self)",
      unique: elements.unique.map { $0.map(fieldName) })
    targets = Dictionary(
      uniqueKeysWithValues: fields.indices.compactMap { index in fields[index].target.map { (index, $0) } })
    self.fields = fields
    migrations = elements.migrations
    // Not a precondition: optimised, those don't say what is wrong.
    if let mistake = declared.mistake { fatalError("schema \(name): \(mistake)") }
  }
}

/// Lines of a schema, as its closure collects them.
@resultBuilder
public struct SchemaElements<R: Record>: Sendable {
  var fields: [FieldDefinition<R>] = []
  var retired: [String] = []
  var kept: [String] = []
  var migrated: [String] = []
  /// What migrates fields: each is a `Migrated`.
  var migrations: [any Sendable] = []
  var unique: [[any PartialKeyPath<R> & Sendable]] = []

  /// Takes a plain field.
  public static func buildExpression<Value>(_ field: Plain<R, Value>) -> SchemaElements<R> {
    SchemaElements(fields: [field.definition])
  }

  /// Takes a sealed field.
  public static func buildExpression<Value>(_ field: Sealed<R, Value>) -> SchemaElements<R> {
    SchemaElements(fields: [field.definition])
  }

  /// Takes a retired field.
  public static func buildExpression(_ field: Retired) -> SchemaElements<R> {
    SchemaElements(retired: [field.name])
  }

  /// Takes a field that other versions of the app use.
  public static func buildExpression(_ field: Kept) -> SchemaElements<R> {
    SchemaElements(kept: [field.name])
  }

  /// Takes a rule.
  public static func buildExpression(_ rule: Unique<R>) -> SchemaElements<R> {
    SchemaElements(unique: [rule.paths])
  }

  /// Collects the lines.
  public static func buildBlock(_ lines: SchemaElements<R>...) -> SchemaElements<R> {
    lines.reduce(into: SchemaElements()) { all, line in
      all.fields += line.fields
      all.retired += line.retired
      all.kept += line.kept
      all.migrated += line.migrated
      all.migrations += line.migrations
      all.unique += line.unique
    }
  }
}

// MARK: - A field whose values anyone can read.

/// A field kept in the clear: it can be listed, sorted and indexed while the store is locked.
public struct Plain<R: Record, Value: FieldValue> {
  private(set) var definition: FieldDefinition<R>

  /// Declares a plain field.
  ///
  /// - Parameters:
  ///   - name: The field's name in the store.
  ///   - path: The property.
  ///   - formerly: Names the field had in earlier versions of the schema.
  @inlinable
  public init(_ name: String, _ path: FieldPath<R, Value>, formerly: String...) {
    self.init(name, formerly, path, FieldAccess(path), indexed: false)
  }

  /// Declares a plain field that may have an ordered index.
  ///
  /// - Parameters:
  ///   - name: The field's name in the store.
  ///   - path: The property.
  ///   - indexed: Whether an ordered index is kept, for sorting and for conditions. Of an optional property
  ///     it serves if the property was optional when it was first declared; otherwise queries go without.
  ///   - formerly: Names the field had in earlier versions of the schema.
  @inlinable
  public init(_ name: String, _ path: FieldPath<R, Value>, indexed: Bool, formerly: String...)
  where Value.Stored: SortableValue {
    self.init(name, formerly, path, FieldAccess(path), indexed: indexed)
  }

  @usableFromInline
  init(
    _ name: String, _ formerly: [String], _ path: any PartialKeyPath<R> & Sendable, _ access: FieldAccess<R>,
    indexed: Bool
  ) {
    definition = FieldDefinition(
      description: FieldDescription(
        name: name, formerNames: formerly, type: Value.Stored.fieldType, isOptional: Value.Stored.isOptional,
        isIndexed: indexed),
      path: path, access: access)
  }
}

extension Plain {
  /// Has the field refer to a record of a type: no record refers to one that is not there.
  ///
  /// ```swift
  /// Plain("account", \.account, indexed: true).referring(to: Account.self, whenDeleted: .cascade)
  /// ```
  ///
  /// A transaction or a batch, by this type or by field names, in this process or another, that would leave a
  /// record which refers to none throws `brokenReference` when it is committed, with the record; so it may
  /// write both in any order. What became of the records that refer to one which is deleted is part of the same
  /// transaction, which may grow over its limit by that. What a record referred to before the rule, or before
  /// something was lost, it may keep. The rule goes when a type declares the field without it.
  ///
  /// - Parameters:
  ///   - type: The type of the record that is referred to; it may be this one.
  ///   - rule: What becomes of a record when the one that it refers to is deleted.
  /// - Returns: The field: an indexed ``RecordID`` or `UUID`, and optional where the rule is `nullify`.
  public func referring<Target: Record>(to type: Target.Type, whenDeleted rule: DeleteRule) -> Plain {
    var field = self
    field.definition.description.targets = ["\(type)"]
    field.definition.target = { Target.schema.declared.allNames }
    field.definition.description.deleteRule = rule
    return field
  }

  /// Declares a plain field of any `Codable` type, kept as JSON: `[String]`, for example.
  ///
  /// - Parameters:
  ///   - name: The field's name in the store.
  ///   - path: The property.
  ///   - formerly: Names the field had in earlier versions of the schema.
  @_disfavoredOverload
  public init<Document: Codable & Sendable>(
    _ name: String, json path: FieldPath<R, Document>, formerly: String...
  ) where Value == EncodedJSON {
    self.init(name, formerly, path, FieldAccess(json: path), indexed: false)
  }

  /// Declares a plain field of an optional of any `Codable` type, kept as JSON where there is a value.
  ///
  /// - Parameters:
  ///   - name: The field's name in the store.
  ///   - path: The property.
  ///   - formerly: Names the field had in earlier versions of the schema.
  public init<Document: Codable & Sendable>(
    _ name: String, json path: FieldPath<R, Document?>, formerly: String...
  ) where Value == EncodedJSON? {
    self.init(name, formerly, path, FieldAccess(json: path), indexed: false)
  }

  /// What a property gets whose type is no ``FieldValue``: the compiler says what to do.
  @available(
    *, unavailable,
    message: "this type is no FieldValue: keep a Codable one as JSON by Plain(\"name\", json: \\.property)"
  )
  @_disfavoredOverload
  public init<Other>(_ name: String, _ path: FieldPath<R, Other>, indexed: Bool = false, formerly: String...)
  where Value == EncodedJSON { fatalError("it is unavailable") }
}

// MARK: - A field whose values only a key opens.

/// The name of the key that seals fields which name no other.
public let defaultKeyName = "default"

/// A field sealed on its own: encrypted, authenticated, and bound to its place in the store.
public struct Sealed<R: Record, Value: FieldValue> {
  private(set) var definition: FieldDefinition<R>

  /// Declares a sealed field.
  ///
  /// - Parameters:
  ///   - name: The field's name in the store. Names aren't secret.
  ///   - path: The property.
  ///   - key: The named key that seals the field; it is made when the store first sees the schema.
  ///   - compressed: Whether values are compressed before sealing, which implies `padded`. Not where others
  ///     may choose a part of a value and another part is secret: sizes give that away, letter by letter.
  ///   - padded: Whether values are padded before sealing, so that their lengths show less.
  ///   - formerly: Names the field had in earlier versions of the schema.
  @inlinable
  public init(
    _ name: String, _ path: FieldPath<R, Value>, key: String = defaultKeyName,
    compressed: Bool = false, padded: Bool = false, formerly: String...
  ) {
    self.init(name, formerly, path, FieldAccess(path), key, compressed, padded)
  }

  /// Has each record name the key of its value, in a plain field: so a record has the access class of the key
  /// that it chooses.
  ///
  /// ```swift
  /// Plain("protection", \.protection)
  /// Sealed("secret", \.secret).key(from: \.protection)
  /// ```
  ///
  /// Each case's stored text is a key's name, and in the clear. A value opens only under the key that its
  /// record names: a record whose `protection` was altered on the disk is `tampered`. Setting `protection`
  /// seals the record's values anew, which needs the old key and the new one; while one of them is locked it
  /// throws `locked`. Which field names the key never changes; cases may be added.
  ///
  /// - Parameter path: The property: the schema declares it as a plain field, not optional.
  /// - Returns: The field.
  public func key<Choice: FieldValue & CaseIterable>(from path: FieldKeyPath<R, Choice>) -> Sealed
  where Choice.Stored == String {
    key(from: path, among: Array(Choice.allCases))
  }

  /// Has each record name the key of its value, in a plain field, among some keys.
  ///
  /// - Parameters:
  ///   - path: The property: the schema declares it as a plain field, not optional.
  ///   - choices: What it may be, up to 255: each one's stored text is a key's name. More may be added later.
  ///     What is none of them, no record with a value for this field can have: putting it throws
  ///     `invalidArgument`.
  /// - Returns: The field.
  public func key<Choice: FieldValue>(from path: FieldKeyPath<R, Choice>, among choices: [Choice]) -> Sealed
  where Choice.Stored == String {
    var field = self
    // A case that can't be stored names no key: the schema then says so.
    field.definition.description.keyNames = choices.map { (try? $0.stored) ?? "" }
    field.definition.keyPath = path
    // A key of another name was asked for, and contradicts this: the schema then says so.
    if definition.description.key == defaultKeyName { field.definition.description.key = nil }
    return field
  }

  /// Has conditions that the field has some value (`is`, `in`) find records without opening the others, and
  /// lets ``Unique`` speak of the field. It reveals to whoever has the files which values are equal: among
  /// the records, and with what they and deleted ones had before.
  ///
  /// ```swift
  /// Sealed("domain", \.domain).revealingEquality(ignoringCase: true)
  /// ```
  ///
  /// A digest of each value is kept beside it, in the clear, under a key that is derived from the field's:
  /// without that key nobody tells what a value is, nor tries guesses, nor compares stores or fields. The
  /// key's rotation makes the digests anew, and once it is shredded they are of no use.
  ///
  /// Records from before have no digest until their value is set again, and as long as one has none, or the
  /// field's key is locked, conditions go through all records. So it is after a change of `ignoringCase`.
  ///
  /// - Parameter ignoringCase: Whether texts are equal that differ in the case of ASCII letters only: for
  ///   conditions that ignore it, too, and for ``Unique``.
  /// - Returns: The field: under one key, not JSON, its values at most ``Limits/digestedBytes`` long.
  public func revealingEquality(ignoringCase: Bool = false) -> Sealed {
    var field = self
    field.definition.description.revealsEquality = true
    field.definition.description.ignoresCase = ignoringCase
    return field
  }

  @usableFromInline
  init(
    _ name: String, _ formerly: [String], _ path: any PartialKeyPath<R> & Sendable, _ access: FieldAccess<R>,
    _ key: String, _ compressed: Bool, _ padded: Bool
  ) {
    definition = FieldDefinition(
      description: FieldDescription(
        name: name, formerNames: formerly, type: Value.Stored.fieldType, isOptional: Value.Stored.isOptional,
        key: key, isPadded: padded || compressed, isCompressed: compressed),
      path: path, access: access)
  }

  /// Declares a sealed field of any `Codable` type, kept as JSON: `[String]`, for example.
  ///
  /// - Parameters:
  ///   - name: The field's name in the store. Names aren't secret.
  ///   - path: The property.
  ///   - key: The named key that seals the field.
  ///   - compressed: Whether values are compressed before sealing: see
  ///     ``init(_:_:key:compressed:padded:formerly:)``.
  ///   - padded: Whether values are padded before sealing.
  ///   - formerly: Names the field had in earlier versions of the schema.
  @_disfavoredOverload
  public init<Document: Codable & Sendable>(
    _ name: String, json path: FieldPath<R, Document>, key: String = defaultKeyName,
    compressed: Bool = false, padded: Bool = false, formerly: String...
  ) where Value == EncodedJSON {
    self.init(name, formerly, path, FieldAccess(json: path), key, compressed, padded)
  }

  /// Declares a sealed field of an optional of any `Codable` type, kept as JSON where there is a value.
  ///
  /// - Parameters:
  ///   - name: The field's name in the store. Names aren't secret.
  ///   - path: The property.
  ///   - key: The named key that seals the field.
  ///   - compressed: Whether values are compressed before sealing: see
  ///     ``init(_:_:key:compressed:padded:formerly:)``.
  ///   - padded: Whether values are padded before sealing.
  ///   - formerly: Names the field had in earlier versions of the schema.
  public init<Document: Codable & Sendable>(
    _ name: String, json path: FieldPath<R, Document?>, key: String = defaultKeyName,
    compressed: Bool = false, padded: Bool = false, formerly: String...
  ) where Value == EncodedJSON? {
    self.init(name, formerly, path, FieldAccess(json: path), key, compressed, padded)
  }

  /// What a property gets whose type is no ``FieldValue``: the compiler says what to do.
  @available(
    *, unavailable,
    message: "this type is no FieldValue: keep a Codable one as JSON by Sealed(\"name\", json: \\.property)"
  )
  @_disfavoredOverload
  public init<Other>(
    _ name: String, _ path: FieldPath<R, Other>, key: String = defaultKeyName,
    compressed: Bool = false, padded: Bool = false, formerly: String...
  ) where Value == EncodedJSON { fatalError("it is unavailable") }
}

// MARK: - A line of a schema that says what no two records share.

/// A rule of a schema: no two records have the same value in a field, or the same two values in two.
///
/// ```swift
/// static let schema = Schema<Account>("account") {
///   Plain("site", \.site, indexed: true)
///   Plain("user", \.user, indexed: true)
///   Unique(\.site, \.user)
/// }
/// ```
///
/// Whoever would write such a record, in a transaction or a batch, in this process or another, with this type
/// or by field names, is refused with `notUnique`, which names the record that has the value. The commit says
/// it, as a transaction is looked at as it is in the end; ``Transaction/checkUnique()`` asks earlier. A record
/// that has nil in one of the fields, or lacks it, is in nobody's way. Text is compared by its bytes, unless the
/// field is sealed and reveals equality ignoring case.
///
/// The fields are plain and indexed, or sealed and say what the rule reveals,
/// ``Sealed/revealingEquality(ignoringCase:)``: an index leads to the records that may have the value. Writing
/// a sealed one needs the field's key, and every other one that it was sealed under before. (Where some record
/// lacks a field, as it was written before there was one, no index does, and all are gone through for each
/// record that is written.) The rule is for what is written
/// from then on; records that there are already aren't looked at. It goes when a type declares its fields
/// without it, and stays when one leaves them out.
public struct Unique<R: Record> {
  let paths: [any PartialKeyPath<R> & Sendable]

  /// No two records have the same value in a field.
  public init<Value: FieldValue>(_ path: FieldKeyPath<R, Value>) { paths = [path] }

  /// No two records have the same two values in two fields.
  public init<First: FieldValue, Second: FieldValue>(
    _ first: FieldKeyPath<R, First>, _ second: FieldKeyPath<R, Second>
  ) {
    paths = [first, second]
  }
}

// MARK: - Fields that a record type has no property for: retired, or used by other versions of the app.

/// The name of a field that is no more: its values go with each record's next update, and its name isn't used
/// again.
///
/// An older version of the app, which still has the property, reads its initial value.
public struct Retired {
  let name: String

  /// Retires a field.
  public init(_ name: String) { self.name = name }
}

/// The name of a field that other versions of the app use: this one leaves its values as they are.
///
/// Only a schema that adds fields has to name it; see ``Schema``.
public struct Kept {
  let name: String

  /// Keeps a field.
  public init(_ name: String) { self.name = name }
}
