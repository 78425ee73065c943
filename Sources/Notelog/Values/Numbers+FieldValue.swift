// Booleans, integers and floating-point numbers as field values (FORMAT.md 7.3).

public import NotelogBase

extension Bool: FieldValue, SortableValue {
  /// The type itself stands for its values.
  public typealias Stored = Bool
  /// One byte.
  @inlinable public static var fieldType: FieldType { .boolean }
  /// One byte.
  @inlinable public var storedByteCount: Int { 1 }
  /// Writes 0 or 1.
  @inlinable public func store(into bytes: inout MutableRawSpan) { bytes.store(self ? 1 : 0 as UInt8, at: 0) }
  /// Reads 0 or 1.
  public init(loading bytes: RawSpan) throws {
    try requireByteCount(bytes, 1, .boolean)
    guard bytes.byte(at: 0) <= 1 else { throw NotelogError(.damaged, "a boolean value is neither 0 nor 1") }
    self = bytes.byte(at: 0) == 1
  }
}

extension Int64: FieldValue, SortableValue {
  /// The type itself stands for its values.
  public typealias Stored = Int64
  /// The integer itself.
  @inlinable public var stored: Int64 { self }
  /// The integer itself.
  @inlinable public init(stored: Int64) { self = stored }
  /// A signed integer.
  @inlinable public static var fieldType: FieldType { .integer }
  /// 8 bytes.
  @inlinable public var storedByteCount: Int { 8 }
  /// Writes the integer, little-endian.
  @inlinable public func store(into bytes: inout MutableRawSpan) { bytes.store(self, at: 0) }
  /// Reads the integer.
  public init(loading bytes: RawSpan) throws {
    try requireByteCount(bytes, 8, .integer)
    self = Int64(bitPattern: bytes.load(UInt64.self, at: 0))
  }
}

extension UInt64: FieldValue, SortableValue {
  /// The type itself stands for its values.
  public typealias Stored = UInt64
  /// The integer itself.
  @inlinable public var stored: UInt64 { self }
  /// The integer itself.
  @inlinable public init(stored: UInt64) { self = stored }
  /// An unsigned integer.
  @inlinable public static var fieldType: FieldType { .unsigned }
  /// 8 bytes.
  @inlinable public var storedByteCount: Int { 8 }
  /// Writes the integer, little-endian.
  @inlinable public func store(into bytes: inout MutableRawSpan) { bytes.store(self, at: 0) }
  /// Reads the integer.
  public init(loading bytes: RawSpan) throws {
    try requireByteCount(bytes, 8, .unsigned)
    self = bytes.load(UInt64.self, at: 0)
  }
}

extension Double: FieldValue, SortableValue {
  /// The type itself stands for its values.
  public typealias Stored = Double
  /// A double.
  @inlinable public static var fieldType: FieldType { .double }
  /// 8 bytes.
  @inlinable public var storedByteCount: Int { 8 }
  /// Writes the double's bits.
  @inlinable public func store(into bytes: inout MutableRawSpan) { bytes.store(bitPattern, at: 0) }
  /// Reads the double's bits.
  public init(loading bytes: RawSpan) throws {
    try requireByteCount(bytes, 8, .double)
    self.init(bitPattern: bytes.load(UInt64.self, at: 0))
  }
}

extension FieldValue where Self: SignedInteger & FixedWidthInteger, Stored == Int64 {
  /// The integer, widened to 64 bits.
  @inlinable public var stored: Int64 { Int64(self) }
  /// The integer, refused where it doesn't fit.
  public init(stored: Int64) throws { self = try exactly(stored) }
}

extension FieldValue where Self: UnsignedInteger & FixedWidthInteger, Stored == UInt64 {
  /// The integer, widened to 64 bits.
  @inlinable public var stored: UInt64 { UInt64(self) }
  /// The integer, refused where it doesn't fit.
  public init(stored: UInt64) throws { self = try exactly(stored) }
}

private func exactly<Value: FixedWidthInteger>(_ stored: some FixedWidthInteger) throws(NotelogError) -> Value
{
  guard let value = Value(exactly: stored) else {
    throw NotelogError(
      .typeMismatch, "the stored integer doesn't fit the property's type \(Value.self)")
  }
  return value
}

// swift-format-ignore
extension Int: FieldValue { public typealias Stored = Int64 }
// swift-format-ignore
extension Int8: FieldValue { public typealias Stored = Int64 }
// swift-format-ignore
extension Int16: FieldValue { public typealias Stored = Int64 }
// swift-format-ignore
extension Int32: FieldValue { public typealias Stored = Int64 }
// swift-format-ignore
extension UInt: FieldValue { public typealias Stored = UInt64 }
// swift-format-ignore
extension UInt8: FieldValue { public typealias Stored = UInt64 }
// swift-format-ignore
extension UInt16: FieldValue { public typealias Stored = UInt64 }
// swift-format-ignore
extension UInt32: FieldValue { public typealias Stored = UInt64 }

extension Float: FieldValue {
  /// The number, widened to a double.
  @inlinable public var stored: Double { Double(self) }
  /// The number, refused where a `Float` can't hold it exactly.
  public init(stored: Double) throws {
    let value = Float(stored)
    guard stored.isNaN || Double(value) == stored else {
      throw NotelogError(.typeMismatch, "the stored double doesn't fit the property's type Float")
    }
    self = value
  }
}
