// The hash by which additional data names a field (FORMAT.md 11.2).

package import NotelogBase

/// Names a field for ever, whatever number it has in a schema and however it is renamed later.
package enum FieldName {
  /// The first sixteen bytes of SHA-256("NL1name" ‖ 0 ‖ u32 length ‖ collection ‖ u32 length ‖ field), both
  /// names as they were first declared, in UTF-8.
  package static func hash(collection: String, field: String) throws(CryptoError) -> ID16 {
    var message = Array("NL1name\0".utf8)
    for name in [collection, field] {
      message.append(littleEndian: UInt32(clamping: name.utf8.count))
      message += Array(name.utf8)
    }
    return ID16(try Crypto.sha256(message))
  }
}
