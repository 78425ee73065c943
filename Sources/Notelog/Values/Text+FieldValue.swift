// Text and bytes as field values (FORMAT.md 7.3).

public import NotelogBase

extension String: FieldValue, SortableValue {
  /// The type itself stands for its values.
  public typealias Stored = String
  /// UTF-8 text.
  @inlinable public static var fieldType: FieldType { .text }
  /// The text's UTF-8 bytes.
  @inlinable public var storedByteCount: Int { utf8.count }
  /// Writes the text's UTF-8 bytes.
  @inlinable public func store(into bytes: inout MutableRawSpan) { withUTF8Bytes { bytes.copy($0) } }
  /// Reads UTF-8, and refuses what isn't.
  public init(loading bytes: RawSpan) throws {
    guard let text = bytes.text() else { throw NotelogError(.damaged, "a text value is not UTF-8") }
    self = text
  }
}

extension [UInt8]: FieldValue, StoredValue, SortableValue {
  /// The type itself stands for its values.
  public typealias Stored = [UInt8]
  /// Bytes.
  @inlinable public static var fieldType: FieldType { .bytes }
  /// The bytes themselves.
  @inlinable public var storedByteCount: Int { count }
  /// Writes the bytes.
  @inlinable public func store(into bytes: inout MutableRawSpan) { bytes.copy(rawSpan) }
  /// Reads the bytes.
  public init(loading bytes: RawSpan) throws { self = bytes.array() }
}
