// A field as code declares it: its name, its traits, and how to take it from a record and put it back.

/// A property's key path.
public typealias FieldPath<R, Value> = any WritableKeyPath<R, Value> & Sendable

/// What a field is, apart from the property behind it.
struct FieldTraits: Hashable, Sendable {
  var type: FieldType
  var isOptional = false
  var isSealed = false
  var isIndexed = false
  var isPadded = false
  var isCompressed = false
  /// The named key that seals the field; nil for a plain one.
  var key: String?

  /// The flags of a value written now.
  var flags: FieldFlags {
    var flags: FieldFlags = []
    if isSealed { flags.insert(.sealed) }
    if isOptional { flags.insert(.optional) }
    if isPadded || isCompressed { flags.insert(.padded) }
    if isCompressed { flags.insert(.compressed) }
    return flags
  }
}

/// A field as a schema in code declares it.
public struct FieldDefinition<R: Record>: Sendable {
  let name: String
  let formerNames: [String]
  let traits: FieldTraits
  let path: any PartialKeyPath<R> & Sendable
  let access: FieldAccess<R>
}

/// A property's way into bytes and back, as closures made where the property's type is known.
@usableFromInline
struct FieldAccess<R: Record>: Sendable {
  let encode: @Sendable (borrowing R, inout FieldScratch) throws -> Void
  let decode: @Sendable (inout R, RawSpan) throws -> Void
  let encodeSortKey: (@Sendable (borrowing R, inout FieldScratch) throws -> Void)?

  @inlinable
  init<Value: FieldValue>(_ path: FieldPath<R, Value>) {
    self.init(
      encode: { record, scratch in scratch.append(try record[keyPath: path].stored) },
      decode: { record, bytes in record[keyPath: path] = try Value(stored: Value.Stored(loading: bytes)) },
      encodeSortKey: nil)
  }

  @inlinable
  init<Value: FieldValue>(sorting path: FieldPath<R, Value>) where Value.Stored: SortableValue {
    self.init(
      encode: { record, scratch in scratch.append(try record[keyPath: path].stored) },
      decode: { record, bytes in record[keyPath: path] = try Value(stored: Value.Stored(loading: bytes)) },
      encodeSortKey: { record, scratch in scratch.appendSortKey(try record[keyPath: path].stored) })
  }

  @usableFromInline
  init(
    encode: @escaping @Sendable (borrowing R, inout FieldScratch) throws -> Void,
    decode: @escaping @Sendable (inout R, RawSpan) throws -> Void,
    encodeSortKey: (@Sendable (borrowing R, inout FieldScratch) throws -> Void)?
  ) {
    self.encode = encode
    self.decode = decode
    self.encodeSortKey = encodeSortKey
  }
}

/// A line of a schema: a field, or the name of one that is no more.
public enum SchemaElement<R: Record>: Sendable {
  /// A field.
  case field(FieldDefinition<R>)
  /// The name of a retired field.
  case retired(String)
}
