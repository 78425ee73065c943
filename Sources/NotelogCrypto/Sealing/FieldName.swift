// The hash by which additional data names a field (FORMAT.md 11.2).

package enum FieldName {
  /// Sixteen bytes of SHA-256 over both names, each with its length, as they were first declared.
  package static func hash(collection: String, field: String) throws(CryptoError) -> Bytes16 {
    throw .library
  }
}
