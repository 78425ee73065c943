// Enumerations and other types that have a raw value, kept as that value.

extension FieldValue where Self: RawRepresentable, RawValue: FieldValue {
  /// The raw value, as it is stored.
  @inlinable public var stored: RawValue.Stored { get throws { try rawValue.stored } }

  /// The value whose raw value was stored; refused where there is none.
  public init(stored: RawValue.Stored) throws { self = try madeOf(try RawValue(stored: stored)) }
}

extension FieldValue where Self: RawRepresentable & Codable, RawValue: FieldValue {
  /// The raw value, as it is stored: not JSON, also where the type is `Codable`.
  @inlinable public var stored: RawValue.Stored { get throws { try rawValue.stored } }

  /// The value whose raw value was stored; refused where there is none.
  public init(stored: RawValue.Stored) throws { self = try madeOf(try RawValue(stored: stored)) }
}

/// The value of a raw value. Its words don't quote that: it may have been sealed.
private func madeOf<Value: RawRepresentable>(_ raw: Value.RawValue) throws(NotelogError) -> Value {
  guard let value = Value(rawValue: raw) else {
    throw NotelogError(
      .typeMismatch, "the stored value is no \(Value.self): it may come from a newer version of the app")
  }
  return value
}
