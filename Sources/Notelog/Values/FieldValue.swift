// What a property needs in order to be a field.

/// A property type that can be a field.
///
/// Bool, the integers, Float, Double, String, `[UInt8]`, Data, Date, UUID, URL, RecordID and their optionals conform already.
/// An enumeration with raw values conforms by saying so, and is kept as its raw value; so does every other type that is `RawRepresentable`. A
/// `Codable` type conforms by saying so, and is kept as JSON. Any other type names the stored type that stands for it:
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
/// `Codable` types that are not yours, such as `[String]` or `Decimal`, need no conformance: the field says `json:`, as in
/// `Sealed("tags", json: \.tags)`.
public protocol FieldValue: Sendable {
  /// The stored type that stands for this one.
  associatedtype Stored: StoredValue
  /// The value as it is stored.
  var stored: Stored { get throws }
  /// The value of what was stored.
  init(stored: Stored) throws
}

extension FieldValue where Stored == Self {
  /// Stored types stand for themselves.
  @inlinable public var stored: Self { self }
  /// Stored types stand for themselves.
  @inlinable public init(stored: Self) { self = stored }
}

extension Optional: FieldValue where Wrapped: FieldValue {
  /// The optional of what stands for the value.
  public typealias Stored = Wrapped.Stored?
  /// The value as it is stored, or nil.
  @inlinable public var stored: Wrapped.Stored? { get throws { try map { try $0.stored } } }
  /// The value of what was stored, or nil.
  @inlinable public init(stored: Wrapped.Stored?) throws { self = try stored.map { try Wrapped(stored: $0) } }
}
