// A field as code declares it: its name, its traits, and how to take it from a record and put it back.

public import NotelogBase

/// A property's key path.
public typealias FieldPath<R, Value> = any WritableKeyPath<R, Value> & Sendable

/// A property's key path, to read it by.
public typealias FieldKeyPath<R, Value> = any KeyPath<R, Value> & Sendable

/// A field as a schema in code declares it.
public struct FieldDefinition<R: Record>: Sendable {
  private(set) var description: FieldDescription
  let path: any PartialKeyPath<R> & Sendable
  let access: FieldAccess<R>
  /// The property that names the key of each record's value.
  private(set) var keyPath: (any PartialKeyPath<R> & Sendable)?

  /// Has a property name the key of each record's value.
  mutating func chooseKey(from path: any PartialKeyPath<R> & Sendable, among names: [String]) {
    keyPath = path
    // A key of another name was asked for, and contradicts this: the schema then says so.
    if description.key == defaultKeyName { description.key = nil }
    description.keyNames = names
  }

  /// The field, with the name of the one that names its keys, among others of the schema.
  func naming(keyFieldAmong fields: [FieldDefinition]) -> FieldDefinition {
    guard let keyPath else { return self }
    var field = self
    field.description.keyField =
      fields.first { ($0.path as PartialKeyPath<R>) == (keyPath as PartialKeyPath<R>) }?.description.name
      ?? ""
    return field
  }
}

/// A property's way into bytes and back, as closures made where the property's type is known.
@usableFromInline
struct FieldAccess<R: Record>: Sendable {
  let encode: @Sendable (borrowing R, inout FieldScratch) throws -> Void
  let decode: @Sendable (inout R, RawSpan) throws -> Void

  @inlinable
  init<Value: FieldValue>(_ path: FieldPath<R, Value>) {
    // A key path costs three times what the rest of encoding a short value does. Computed and observed properties
    // have no offset, and go through it.
    guard let offset = MemoryLayout<R>.offset(of: path) else {
      self.init(
        encode: { record, scratch in scratch.append(try record[keyPath: path].stored) },
        decode: { record, bytes in record[keyPath: path] = try Value(stored: Value.Stored(loading: bytes)) })
      return
    }
    self.init(
      encode: { record, scratch in scratch.append(try loadProperty(Value.self, of: record, at: offset).stored)
      },
      decode: { record, bytes in
        storeProperty(try Value(stored: Value.Stored(loading: bytes)), to: &record, at: offset)
      })
  }

  @usableFromInline
  init(
    encode: @escaping @Sendable (borrowing R, inout FieldScratch) throws -> Void,
    decode: @escaping @Sendable (inout R, RawSpan) throws -> Void
  ) {
    self.encode = encode
    self.decode = decode
  }
}

/// A line of a schema: a field, or the name of one that is no more.
public enum SchemaElement<R: Record>: Sendable {
  /// A field.
  case field(FieldDefinition<R>)
  /// The name of a retired field.
  case retired(String)
  /// The name of a field that other versions of the app use.
  case kept(String)
  /// The names of fields whose values become others, and the ``Migrated`` that says how.
  case migrated([String], step: any Sendable)
  /// The properties whose values no two records share, and whether digests are kept that reveal which are equal.
  case unique([any PartialKeyPath<R> & Sendable], revealsEquality: Bool)
}
