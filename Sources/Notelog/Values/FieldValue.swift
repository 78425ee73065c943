// The types of stored values, as numbered in the format (FORMAT.md 7).

public import Foundation
public import NotelogBase

/// How a field's bytes are to be read. The type is part of what a sealed value authenticates.
public enum FieldType: UInt8, Sendable, Hashable, CaseIterable {
  /// One byte, 0 or 1.
  case boolean = 1
  /// A signed integer, 8 bytes.
  case integer = 2
  /// An unsigned integer, 8 bytes.
  case unsigned = 3
  /// An IEEE 754 double, 8 bytes.
  case double = 4
  /// UTF-8 text.
  case text = 5
  /// Bytes as they are.
  case bytes = 6
  /// A moment: seconds since 2001-01-01 00:00 UTC as a double, 8 bytes.
  case date = 7
  /// A UUID, 16 bytes.
  case uuid = 8
  /// A URL's text in UTF-8.
  case url = 9
  /// A JSON document in UTF-8.
  case json = 10

  /// The number of bytes of every value of this type, where it is fixed.
  public var fixedByteCount: Int? {
    switch self {
    case .boolean: 1
    case .integer, .unsigned, .double, .date: 8
    case .uuid: 16
    case .text, .bytes, .url, .json: nil
    }
  }

  /// The type's name in the tool and in messages.
  public var name: String { String(describing: self) }

  /// Whether values of this type have an order-preserving sort key.
  public var isSortable: Bool { self != .json }
}

// MARK: - What a property needs in order to be a field.

/// A property type that can be a field.
///
/// Bool, the integers, Float, Double, String, `[UInt8]`, Data, Date, UUID, URL, RecordID and their optionals
/// conform already. An enumeration with raw values conforms by saying so, and is kept as its raw value; so
/// does every other type that is `RawRepresentable`. A `Codable` type conforms by saying so, and is kept as
/// JSON. Any other type names the stored type that stands for it:
///
/// ```swift
/// enum Mood: String, FieldValue { case calm, cross }
/// struct Address: Codable, FieldValue { … }
///
/// extension Color: FieldValue {
///   var stored: [UInt8] { [red, green, blue] }
///   init(stored: [UInt8]) throws { … }
/// }
/// ```
///
/// `Codable` types that are not yours, such as `[String]` or `Decimal`, need no conformance: the field says
/// `json:`, as in `Sealed("tags", json: \.tags)`.
public protocol FieldValue: Sendable {
  /// The stored type that stands for this one.
  associatedtype Stored: StoredValue
  /// The value as it is stored.
  var stored: Stored { get throws }
  /// The value of what was stored.
  init(stored: Stored) throws
}

extension Optional: FieldValue where Wrapped: FieldValue {
  /// The optional of what stands for the value.
  public typealias Stored = Wrapped.Stored?
  /// The value as it is stored, or nil.
  @inlinable public var stored: Wrapped.Stored? { get throws { try map { try $0.stored } } }
  /// The value of what was stored, or nil.
  @inlinable public init(stored: Wrapped.Stored?) throws { self = try stored.map { try Wrapped(stored: $0) } }
}

// MARK: - What Notelog's own value types can do: become the bytes of a field and come back (FORMAT.md 7.3).

/// A type whose values are a field's bytes as the format defines them.
///
/// Notelog's own types conform; types of your own conform to ``FieldValue``, through one of these. What begins
/// with an underscore is not for apps to call.
public protocol StoredValue: FieldValue where Stored == Self {
  /// The format's name for the type.
  static var fieldType: FieldType { get }
  /// Whether a presence byte comes before the value.
  static var isOptional: Bool { get }
  /// How many bytes `_store(into:)` writes.
  var _storedByteCount: Int { get }
  /// Writes the value; `bytes` has exactly `_storedByteCount` of them.
  func _store(into bytes: inout MutableRawSpan)
  /// Reads a value from all of `bytes`.
  init(_loading bytes: RawSpan) throws
}

extension StoredValue {
  /// Stored types stand for themselves.
  @inlinable public var stored: Self { self }
  /// Stored types stand for themselves.
  @inlinable public init(stored: Self) { self = stored }
  /// Most types always have a value.
  @inlinable public static var isOptional: Bool { false }

  /// The bytes that `_store(into:)` writes.
  var storedBytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: _storedByteCount)
    bytes.withBytes(in: 0..<bytes.count) { _store(into: &$0) }
    return bytes
  }
}

extension Buffer {
  /// Appends a value as it is stored.
  @inlinable
  mutating func append(_ value: some StoredValue) {
    let start = count
    resizeForReading(to: start + value._storedByteCount)
    var bytes = mutableBytes
    var target = bytes.part(from: start)
    value._store(into: &target)
  }
}

extension [UInt8] {
  /// Overwrites the bytes.
  mutating func wipe() {
    for index in indices { self[index] = 0 }
  }
}

/// A stored type whose values have an order that bytes can keep, so that a plain field of it can be indexed.
public protocol SortableValue: StoredValue {}

/// Text as it is stored, or text that may be missing.
public protocol TextValue: StoredValue {}

/// What an optional value holds behind its presence byte; nil where it is missing.
@_lifetime(copy bytes)
func presentValue(_ bytes: RawSpan, _ type: FieldType) throws(NotelogError) -> RawSpan? {
  guard bytes.byteCount >= 1, bytes.byte(at: 0) <= 1 else {
    throw NotelogError(.damaged, "an optional value begins with neither 0 nor 1")
  }
  if bytes.byte(at: 0) == 1 { return bytes.extracting(droppingFirst: 1) }
  try requireByteCount(bytes, 1, type)
  return nil
}

/// Refuses a value whose length is not the type's.
func requireByteCount(_ bytes: RawSpan, _ count: Int, _ type: FieldType) throws(NotelogError) {
  guard bytes.byteCount == count else {
    throw NotelogError(.damaged, "a \(type.name) value has \(bytes.byteCount) bytes instead of \(count)")
  }
}

/// The bits of a number, or of a moment.
private func eightBytes(_ bytes: RawSpan, _ type: FieldType) throws(NotelogError) -> UInt64 {
  try requireByteCount(bytes, 8, type)
  return bytes.load(UInt64.self, at: 0)
}

// MARK: - Optional values: a presence byte, then the value (FORMAT.md 7.3).

extension Optional: StoredValue where Wrapped: StoredValue {
  /// The wrapped value's type.
  @inlinable public static var fieldType: FieldType { Wrapped.fieldType }
  /// A presence byte comes first.
  @inlinable public static var isOptional: Bool { true }

  /// The presence byte, and the value if there is one.
  @inlinable public var _storedByteCount: Int { 1 + (map { $0._storedByteCount } ?? 0) }

  /// Writes the presence byte, then the value.
  @inlinable
  public func _store(into bytes: inout MutableRawSpan) {
    bytes.store(self == nil ? 0 : 1 as UInt8, at: 0)
    guard let value = self else { return }
    var rest = bytes.part(from: 1)
    value._store(into: &rest)
  }

  /// Reads the presence byte, then the value.
  public init(_loading bytes: RawSpan) throws {
    self = nil
    if let value = try presentValue(bytes, Wrapped.fieldType) { self = try Wrapped(_loading: value) }
  }
}

extension Optional: SortableValue where Wrapped: SortableValue {}

extension Optional: TextValue where Wrapped == String {}

// MARK: - Enumerations and other types that have a raw value, kept as that value.

extension FieldValue where Self: RawRepresentable, RawValue: FieldValue {
  /// The raw value, as it is stored.
  @inlinable public var stored: RawValue.Stored { get throws { try rawValue.stored } }

  /// The value whose raw value was stored; refused where there is none.
  public init(stored: RawValue.Stored) throws {
    guard let value = Self(rawValue: try RawValue(stored: stored)) else {
      // The raw value isn't quoted: it may have been sealed.
      throw NotelogError(
        .typeMismatch, "the stored value is no \(Self.self): it may come from a newer version of the app")
    }
    self = value
  }
}

extension FieldValue where Self: RawRepresentable & Codable, RawValue: FieldValue {
  /// The raw value, as it is stored: not JSON, also where the type is `Codable`.
  @inlinable public var stored: RawValue.Stored { get throws { try rawValue.stored } }
}

// MARK: - The id of a record as a field of another one (FORMAT.md 7.3).

extension RecordID: SortableValue {
  /// A UUID of the same bytes: a property may be a ``RecordID`` or a `UUID`, and what is stored stays as it
  /// is.
  public static var fieldType: FieldType { .uuid }
  /// 16 bytes.
  public var _storedByteCount: Int { 16 }
  /// Writes the id's bytes.
  public func _store(into bytes: inout MutableRawSpan) { self.bytes.write(into: &bytes, at: 0) }
  /// Reads 16 bytes.
  public init(_loading bytes: RawSpan) throws {
    try requireByteCount(bytes, 16, .uuid)
    self.init(ID16(bytes))
  }
}

// MARK: - Text and bytes as field values (FORMAT.md 7.3).

extension String: SortableValue, TextValue {
  /// UTF-8 text.
  @inlinable public static var fieldType: FieldType { .text }
  /// The text's UTF-8 bytes.
  @inlinable public var _storedByteCount: Int { utf8.count }
  /// Writes the text's UTF-8 bytes.
  @inlinable public func _store(into bytes: inout MutableRawSpan) { withUTF8Bytes { bytes.copy($0) } }
  /// Reads UTF-8, and refuses what isn't.
  public init(_loading bytes: RawSpan) throws {
    guard let text = bytes.text() else { throw NotelogError(.damaged, "a text value is not UTF-8") }
    self = text
  }
}

extension [UInt8]: FieldValue, StoredValue, SortableValue {
  /// Bytes.
  @inlinable public static var fieldType: FieldType { .bytes }
  /// The bytes themselves.
  @inlinable public var _storedByteCount: Int { count }
  /// Writes the bytes.
  @inlinable public func _store(into bytes: inout MutableRawSpan) { bytes.copy(rawSpan) }
  /// Reads the bytes.
  public init(_loading bytes: RawSpan) throws { self = bytes.array() }
}

// MARK: - Booleans, integers and floating-point numbers as field values (FORMAT.md 7.3).

extension Bool: SortableValue {
  /// One byte.
  @inlinable public static var fieldType: FieldType { .boolean }
  /// One byte.
  @inlinable public var _storedByteCount: Int { 1 }
  /// Writes 0 or 1.
  @inlinable public func _store(into bytes: inout MutableRawSpan) {
    bytes.store(self ? 1 : 0 as UInt8, at: 0)
  }
  /// Reads 0 or 1.
  public init(_loading bytes: RawSpan) throws {
    try requireByteCount(bytes, 1, .boolean)
    guard bytes.byte(at: 0) <= 1 else { throw NotelogError(.damaged, "a boolean value is neither 0 nor 1") }
    self = bytes.byte(at: 0) == 1
  }
}

extension Int64: SortableValue {
  /// A signed integer.
  @inlinable public static var fieldType: FieldType { .integer }
  /// 8 bytes.
  @inlinable public var _storedByteCount: Int { 8 }
  /// Writes the integer, little-endian.
  @inlinable public func _store(into bytes: inout MutableRawSpan) { bytes.store(self, at: 0) }
  /// Reads the integer.
  public init(_loading bytes: RawSpan) throws { self.init(bitPattern: try eightBytes(bytes, .integer)) }
}

extension UInt64: SortableValue {
  /// An unsigned integer.
  @inlinable public static var fieldType: FieldType { .unsigned }
  /// 8 bytes.
  @inlinable public var _storedByteCount: Int { 8 }
  /// Writes the integer, little-endian.
  @inlinable public func _store(into bytes: inout MutableRawSpan) { bytes.store(self, at: 0) }
  /// Reads the integer.
  public init(_loading bytes: RawSpan) throws { self = try eightBytes(bytes, .unsigned) }
}

extension Double: SortableValue {
  /// A double.
  @inlinable public static var fieldType: FieldType { .double }
  /// 8 bytes.
  @inlinable public var _storedByteCount: Int { 8 }
  /// Writes the double's bits.
  @inlinable public func _store(into bytes: inout MutableRawSpan) { bytes.store(bitPattern, at: 0) }
  /// Reads the double's bits.
  public init(_loading bytes: RawSpan) throws { self.init(bitPattern: try eightBytes(bytes, .double)) }
}

extension FieldValue where Self: SignedInteger & FixedWidthInteger & Codable {
  /// The integer, widened to 64 bits.
  @inlinable public var stored: Int64 { Int64(self) }
  /// The integer, refused where it doesn't fit.
  public init(stored: Int64) throws { self = try exactly(stored) }
}

extension FieldValue where Self: UnsignedInteger & FixedWidthInteger & Codable {
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

extension Int: FieldValue {}
extension Int8: FieldValue {}
extension Int16: FieldValue {}
extension Int32: FieldValue {}
extension UInt: FieldValue {}
extension UInt8: FieldValue {}
extension UInt16: FieldValue {}
extension UInt32: FieldValue {}

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

// MARK: - Foundation's value types as field values (FORMAT.md 7.3).

extension Date: SortableValue {
  /// A moment.
  @inlinable public static var fieldType: FieldType { .date }
  /// 8 bytes.
  @inlinable public var _storedByteCount: Int { 8 }
  /// Writes the seconds since 2001 as `Date` holds them, so that nothing is lost.
  @inlinable public func _store(into bytes: inout MutableRawSpan) {
    timeIntervalSinceReferenceDate._store(into: &bytes)
  }
  /// Reads the seconds since 2001.
  public init(_loading bytes: RawSpan) throws {
    self.init(timeIntervalSinceReferenceDate: Double(bitPattern: try eightBytes(bytes, .date)))
  }
}

extension UUID: SortableValue {
  /// A UUID.
  @inlinable public static var fieldType: FieldType { .uuid }
  /// 16 bytes.
  @inlinable public var _storedByteCount: Int { 16 }
  /// Writes the UUID's bytes in their usual order.
  public func _store(into bytes: inout MutableRawSpan) { RecordID(self)._store(into: &bytes) }
  /// Reads 16 bytes.
  public init(_loading bytes: RawSpan) throws { self = try RecordID(_loading: bytes).uuid }
}

extension URL: SortableValue {
  /// A URL's text.
  @inlinable public static var fieldType: FieldType { .url }
  /// The absolute text's UTF-8 bytes.
  public var _storedByteCount: Int { absoluteString.utf8.count }
  /// Writes the absolute text.
  public func _store(into bytes: inout MutableRawSpan) { absoluteString._store(into: &bytes) }
  /// The URL itself.
  ///
  /// - Throws: `invalidArgument` where its absolute text is no URI reference.
  public var stored: URL {
    get throws {
      if URL(exactly: absoluteString) != nil { return self }
      throw NotelogError(.invalidArgument, "the text of a URL is no URI reference as RFC 3986 has it")
    }
  }
  /// Reads a URL, and refuses text that isn't one.
  public init(_loading bytes: RawSpan) throws {
    guard let text = bytes.text(), let url = URL(exactly: text) else {
      throw NotelogError(.damaged, "a URL value is not a URL")
    }
    self = url
  }

  /// The URL of this very text; nil where that is no URI reference (FORMAT.md 7.3).
  init?(exactly text: String) {
    self.init(string: text, encodingInvalidCharacters: false)
    guard absoluteString == text else { return nil }
  }
}

extension Data: FieldValue {
  /// The data's bytes.
  public var stored: [UInt8] { [UInt8](self) }
  /// Data of the bytes.
  public init(stored: [UInt8]) { self.init(stored) }
}
