// Fields whose values become those of others.

/// Fields whose values become those of others, once and for all.
///
/// ```swift
/// static let schema = Schema<Person>("person") {
///   Plain("years", \.years)
///   Migrated("age") { old, person in
///     if case .text(let age) = try old.value("age") { person.set(\.years, Int(age) ?? 0) }
///   }
/// }
/// ```
///
/// `Store.migrate(_:)` calls the closure for each record that has a value in one of the fields, and retires them. Until that has been done, a
/// store that has such a field refuses the record type with `schemaConflict`.
public struct Migrated<R: Record>: Sendable {
  let names: [String]
  let transform: @Sendable (DynamicEntry, inout Draft<R>) throws -> Void

  /// Migrates fields.
  ///
  /// - Parameters:
  ///   - names: The fields' names.
  ///   - transform: Sets fields of a record, given what it was. It may be called again for the same record, where its result could not be written.
  public init(
    _ names: String...,
    transform: @escaping @Sendable (_ old: DynamicEntry, _ record: inout Draft<R>) throws -> Void
  ) {
    self.names = names
    self.transform = transform
  }
}

extension SchemaBuilder {
  /// Takes fields whose values become others.
  public static func buildExpression(_ fields: Migrated<R>) -> SchemaElement<R> {
    .migrated(fields.names, step: fields)
  }
}
