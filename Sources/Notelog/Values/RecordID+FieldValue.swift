// The id of a record as a field of another one (FORMAT.md 7.3).

import NotelogBase

extension RecordID: FieldValue, SortableValue {
  /// The type itself stands for its values.
  public typealias Stored = RecordID
  /// A UUID of the same bytes: a property may be a ``RecordID`` or a `UUID`, and what is stored stays as it is.
  public static var fieldType: FieldType { .uuid }
  /// 16 bytes.
  public var storedByteCount: Int { 16 }
  /// Writes the id's bytes.
  public func store(into bytes: inout MutableRawSpan) { self.bytes.write(into: &bytes, at: 0) }
  /// Reads 16 bytes.
  public init(loading bytes: RawSpan) throws {
    try requireByteCount(bytes, 16, .uuid)
    self.init(ID16(bytes))
  }
}
