// What Notelog's own value types can do: become the bytes of a field and come back (FORMAT.md 7.3).

import NotelogBase

/// A type whose values are a field's bytes as the format defines them.
///
/// Notelog's own types conform; types of your own conform to ``FieldValue``, through one of these.
public protocol StoredValue: Sendable {
  /// The format's name for the type.
  static var fieldType: FieldType { get }
  /// Whether a presence byte comes before the value.
  static var isOptional: Bool { get }
  /// How many bytes ``store(into:)`` writes.
  var storedByteCount: Int { get }
  /// Writes the value; `bytes` has exactly ``storedByteCount`` of them.
  func store(into bytes: inout MutableRawSpan)
  /// Reads a value from all of `bytes`.
  init(loading bytes: RawSpan) throws
}

extension StoredValue {
  /// Most types always have a value.
  @inlinable public static var isOptional: Bool { false }

  /// The bytes that ``store(into:)`` writes.
  var storedBytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: storedByteCount)
    bytes.withBytes(in: 0..<bytes.count) { store(into: &$0) }
    return bytes
  }
}

/// A stored type whose values have an order that bytes can keep, so that a plain field of it can be indexed.
public protocol SortableValue: StoredValue {}

/// Refuses a value whose length is not the type's.
func requireByteCount(_ bytes: RawSpan, _ count: Int, _ type: FieldType) throws(NotelogError) {
  guard bytes.byteCount == count else {
    throw NotelogError(.damaged, "a \(type.name) value has \(bytes.byteCount) bytes instead of \(count)")
  }
}
