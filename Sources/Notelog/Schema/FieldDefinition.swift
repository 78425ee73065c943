// A field as code declares it: its name, its traits, and how to take it from a record and put it back.

/// A property's key path.
public typealias FieldPath<R, Value> = any WritableKeyPath<R, Value> & Sendable

/// A field as a schema in code declares it.
public struct FieldDefinition<R: Record>: Sendable {
  let description: FieldDescription
  let path: any PartialKeyPath<R> & Sendable
  let access: FieldAccess<R>
}

/// A property's way into bytes and back, as closures made where the property's type is known.
@usableFromInline
struct FieldAccess<R: Record>: Sendable {
  let encode: @Sendable (borrowing R, inout FieldScratch) throws -> Void
  let decode: @Sendable (inout R, RawSpan) throws -> Void

  @inlinable
  init<Value: FieldValue>(_ path: FieldPath<R, Value>) {
    self.init(
      encode: { record, scratch in scratch.append(try record[keyPath: path].stored) },
      decode: { record, bytes in record[keyPath: path] = try Value(stored: Value.Stored(loading: bytes)) })
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
}
