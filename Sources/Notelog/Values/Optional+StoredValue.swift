// Optional values: a presence byte, then the value (FORMAT.md 7.3).

public import NotelogBase

extension Optional: StoredValue where Wrapped: StoredValue {
  /// The wrapped value's type.
  @inlinable public static var fieldType: FieldType { Wrapped.fieldType }
  /// A presence byte comes first.
  @inlinable public static var isOptional: Bool { true }

  /// The presence byte, and the value if there is one.
  @inlinable public var storedByteCount: Int { 1 + (map { $0.storedByteCount } ?? 0) }

  /// Writes the presence byte, then the value.
  @inlinable
  public func store(into bytes: inout MutableRawSpan) {
    bytes.store(self == nil ? 0 : 1 as UInt8, at: 0)
    guard let value = self else { return }
    var rest = bytes.part(from: 1)
    value.store(into: &rest)
  }

  /// Reads the presence byte, then the value.
  public init(loading bytes: RawSpan) throws {
    guard bytes.byteCount >= 1, bytes.byte(at: 0) <= 1 else {
      throw NotelogError(.damaged, "an optional value begins with neither 0 nor 1")
    }
    if bytes.byte(at: 0) == 1 {
      self = try Wrapped(loading: bytes.extracting(droppingFirst: 1))
    } else {
      try requireByteCount(bytes, 1, Wrapped.fieldType)
      self = nil
    }
  }
}

extension Optional: SortableValue where Wrapped: SortableValue {

}
