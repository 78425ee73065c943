// How a field's bytes were made (FORMAT.md 7.2).

/// The flags of a field in a record's directory.
struct FieldFlags: OptionSet, Hashable, Sendable {
  let rawValue: UInt8

  /// The value is sealed: salt, IV, ciphertext and tag.
  static let sealed = FieldFlags(rawValue: 1)
  /// A presence byte comes before the value.
  static let optional = FieldFlags(rawValue: 2)
  /// The sealed plaintext was padded.
  static let padded = FieldFlags(rawValue: 4)
  /// The sealed plaintext was compressed before it was padded.
  static let compressed = FieldFlags(rawValue: 8)

  /// The value left the record, and a reference to its chunks stands in its place.
  static let chunked = FieldFlags(rawValue: 16)

  static let all: FieldFlags = [.sealed, .optional, .padded, .compressed, .chunked]

  /// Whether all of some flags are set: asked for each field that is read or written.
  @inline(__always)
  func contains(_ flags: FieldFlags) -> Bool { rawValue & flags.rawValue == flags.rawValue }

  /// Whether the flags are known, and go together.
  var isValid: Bool {
    guard isSubset(of: .all) else { return false }
    if contains(.compressed) && !contains(.padded) { return false }
    return contains(.sealed) || (!contains(.padded) && !contains(.chunked))
  }
}
