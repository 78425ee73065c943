// A record type's fields, as code declares them (FORMAT.md 9).

/// The fields of a record type, and the collection that keeps its records.
///
/// The store keeps a copy, by which fields are numbered, tools read the store, and changes are checked: fields may be added, retired,
/// renamed and migrated; a field's type, and whether it is sealed, never change. A schema that adds fields names all that the store has:
/// what is neither declared nor ``Retired``, ``Migrated`` or ``Kept`` would be out of sight, and is refused with `schemaConflict`. One that adds
/// nothing may leave fields out: then it is an older version of the app's, or a part.
public struct Schema<R: Record>: Sendable {
  let description: CollectionDescription
  let fields: [FieldDefinition<R>]
  /// What migrates fields: each is a `Migrated`.
  let migrations: [any Sendable]

  /// The collection's name.
  public var name: String { description.name }

  /// Declares a schema.
  ///
  /// - Parameters:
  ///   - name: The collection's name in the store.
  ///   - formerly: Names the collection had in earlier versions of the schema.
  ///   - elements: The fields.
  public init(_ name: String, formerly: String..., @SchemaBuilder<R> elements: () -> [SchemaElement<R>]) {
    let elements = elements()
    let declared: [FieldDefinition<R>] = elements.compactMap {
      if case .field(let field) = $0 { field } else { nil }
    }
    let fields = declared.map { $0.naming(keyFieldAmong: declared) }
    var description = CollectionDescription(
      name: name, formerNames: formerly, fields: fields.map(\.description),
      retired: elements.compactMap { if case .retired(let name) = $0 { name } else { nil } },
      kept: elements.compactMap { if case .kept(let name) = $0 { name } else { nil } },
      migrated: elements.compactMap { if case .migrated(let names, _) = $0 { names } else { nil } }
        .flatMap(\.self), typeName: "\(R.self)")
    var rules: [[String]] = []
    for case .unique(let paths, let revealsEquality) in elements {
      let names = paths.map { path in
        fields.first { ($0.path as PartialKeyPath<R>) == (path as PartialKeyPath<R>) }?.description.name ?? ""
      }
      rules.append(names)
      if revealsEquality { description.revealed.formUnion(names) }
    }
    description.unique = rules
    self.fields = fields
    self.description = description
    migrations = elements.compactMap { if case .migrated(_, let step) = $0 { step } else { nil } }
    // Not a precondition: optimised, those don't say what is wrong.
    if let mistake = description.mistake { fatalError("schema \(name): \(mistake)") }
  }
}

/// Collects the lines of a schema.
@resultBuilder
public enum SchemaBuilder<R: Record> {
  /// Takes a plain field.
  public static func buildExpression<Value>(_ field: Plain<R, Value>) -> SchemaElement<R> {
    .field(field.definition)
  }

  /// Takes a sealed field.
  public static func buildExpression<Value>(_ field: Sealed<R, Value>) -> SchemaElement<R> {
    .field(field.definition)
  }

  /// Takes a retired field.
  public static func buildExpression(_ field: Retired) -> SchemaElement<R> { .retired(field.name) }

  /// Takes a field that other versions of the app use.
  public static func buildExpression(_ field: Kept) -> SchemaElement<R> { .kept(field.name) }

  /// Takes a rule.
  public static func buildExpression(_ rule: Unique<R>) -> SchemaElement<R> {
    .unique(rule.paths, revealsEquality: rule.revealsEquality)
  }

  /// Collects the lines.
  public static func buildBlock(_ elements: SchemaElement<R>...) -> [SchemaElement<R>] { elements }
}
