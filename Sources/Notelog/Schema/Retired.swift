// Fields that a record type has no property for: retired, or used by other versions of the app.

/// The name of a field that is no more: its values go with each record's next update, and its name isn't used again.
///
/// An older version of the app, which still has the property, reads its initial value.
public struct Retired {
  let name: String

  /// Retires a field.
  public init(_ name: String) { self.name = name }
}

/// The name of a field that other versions of the app use: this one leaves its values as they are.
///
/// Only a schema that adds fields has to name it; see ``Schema``.
public struct Kept {
  let name: String

  /// Keeps a field.
  public init(_ name: String) { self.name = name }
}
