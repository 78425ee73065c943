// A field whose values only a key opens.

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
  ///   - compressed: Whether values are compressed before sealing, which implies `padded`. Not where others may choose a part of a value
  ///     and another part is secret: sizes give that away, letter by letter.
  ///   - padded: Whether values are padded before sealing, so that their lengths show less.
  ///   - formerly: Names the field had in earlier versions of the schema.
  @inlinable
  public init(
    _ name: String, _ path: FieldPath<R, Value>, key: String = defaultKeyName,
    compressed: Bool = false, padded: Bool = false, formerly: String...
  ) {
    self.init(name, formerly, path, FieldAccess(path), key, compressed, padded)
  }

  /// Has each record name the key of its value, in a plain field: so a record has the access class of the key that it chooses.
  ///
  /// ```swift
  /// Plain("protection", \.protection)
  /// Sealed("secret", \.secret).key(from: \.protection)
  /// ```
  ///
  /// Each case's stored text is a key's name, and in the clear. A value opens only under the key that its record names: a record whose
  /// `protection` was altered on the disk is `tampered`. Setting `protection` seals the record's values anew, which needs the old key and the new
  /// one; while one of them is locked it throws `locked`. Which field names the key never changes; cases may be added.
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
  ///   - choices: What it may be, up to 255: each one's stored text is a key's name. More may be added later. What is none of them, no record with a
  ///     value for this field can have: putting it throws `invalidArgument`.
  /// - Returns: The field.
  public func key<Choice: FieldValue>(from path: FieldKeyPath<R, Choice>, among choices: [Choice]) -> Sealed
  where Choice.Stored == String {
    var field = self
    // A case that can't be stored names no key: the schema then says so.
    field.definition.chooseKey(from: path, among: choices.map { (try? $0.stored) ?? "" })
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
}

extension Sealed where Value == EncodedJSON {
  /// Declares a sealed field of any `Codable` type, kept as JSON: `[String]`, for example.
  ///
  /// - Parameters:
  ///   - name: The field's name in the store. Names aren't secret.
  ///   - path: The property.
  ///   - key: The named key that seals the field.
  ///   - compressed: Whether values are compressed before sealing: see ``init(_:_:key:compressed:padded:formerly:)``.
  ///   - padded: Whether values are padded before sealing.
  ///   - formerly: Names the field had in earlier versions of the schema.
  @_disfavoredOverload
  public init<Document: Codable & Sendable>(
    _ name: String, json path: FieldPath<R, Document>, key: String = defaultKeyName,
    compressed: Bool = false, padded: Bool = false, formerly: String...
  ) {
    self.init(name, formerly, path, FieldAccess(json: path), key, compressed, padded)
  }
}

extension Sealed where Value == EncodedJSON? {
  /// Declares a sealed field of an optional of any `Codable` type, kept as JSON where there is a value.
  ///
  /// - Parameters:
  ///   - name: The field's name in the store. Names aren't secret.
  ///   - path: The property.
  ///   - key: The named key that seals the field.
  ///   - compressed: Whether values are compressed before sealing: see ``init(_:_:key:compressed:padded:formerly:)``.
  ///   - padded: Whether values are padded before sealing.
  ///   - formerly: Names the field had in earlier versions of the schema.
  public init<Document: Codable & Sendable>(
    _ name: String, json path: FieldPath<R, Document?>, key: String = defaultKeyName,
    compressed: Bool = false, padded: Bool = false, formerly: String...
  ) {
    self.init(name, formerly, path, FieldAccess(json: path), key, compressed, padded)
  }
}
