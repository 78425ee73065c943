// A field whose values anyone can read.

/// A field kept in the clear: it can be listed, sorted and indexed while the store is locked.
public struct Plain<R: Record, Value: FieldValue> {
  let definition: FieldDefinition<R>

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
  ///   - indexed: Whether an ordered index is kept, for sorting and for conditions. Of an optional property it serves if the property was
  ///     optional when it was first declared; otherwise queries go without.
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

extension Plain where Value == EncodedJSON {
  /// Declares a plain field of any `Codable` type, kept as JSON: `[String]`, for example.
  ///
  /// - Parameters:
  ///   - name: The field's name in the store.
  ///   - path: The property.
  ///   - formerly: Names the field had in earlier versions of the schema.
  @_disfavoredOverload
  public init<Document: Codable & Sendable>(
    _ name: String, json path: FieldPath<R, Document>, formerly: String...
  ) {
    self.init(name, formerly, path, FieldAccess(json: path), indexed: false)
  }
}

extension Plain where Value == EncodedJSON? {
  /// Declares a plain field of an optional of any `Codable` type, kept as JSON where there is a value.
  ///
  /// - Parameters:
  ///   - name: The field's name in the store.
  ///   - path: The property.
  ///   - formerly: Names the field had in earlier versions of the schema.
  public init<Document: Codable & Sendable>(
    _ name: String, json path: FieldPath<R, Document?>, formerly: String...
  ) {
    self.init(name, formerly, path, FieldAccess(json: path), indexed: false)
  }
}
