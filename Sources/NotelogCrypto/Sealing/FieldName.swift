// The hash by which additional data names a field (FORMAT.md 11.2).

package import NotelogBase

/// Names a field for ever, whatever number it has in a schema and however it is renamed later.
package enum FieldName {
  /// The first sixteen bytes of SHA-256("NL1name" ‖ 0 ‖ u32 length ‖ collection ‖ u32 length ‖ field), both
  /// names as they were first declared, in UTF-8.
  package static func hash(collection: String, field: String) throws(CryptoError) -> ID16 {
    try hash([collection, field], in: "NL1name\0")
  }

  /// The first sixteen bytes of SHA-256(domain ‖ for each text: u32 length ‖ text), all in UTF-8.
  package static func hash(_ texts: [String], in domain: String) throws(CryptoError) -> ID16 {
    var message = Array(domain.utf8)
    for text in texts {
      message.append(littleEndian: UInt32(clamping: text.utf8.count))
      message += Array(text.utf8)
    }
    return ID16(try Crypto.sha256(message))
  }
}
