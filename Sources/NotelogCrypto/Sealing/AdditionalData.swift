// What a sealed value is bound to: its additional data (FORMAT.md 11.2).

package import NotelogBase

/// The additional data of a field, or of a part of a large value, built from what the *caller expects* to
/// find, never from what was read: a value that was moved to another store, record, field, type or key then
/// does not open.
///
/// Its bytes are in place, so nothing is allocated.
package struct AdditionalData: Sendable {
  package static let fieldSize = 64
  package static let chunkSize = 96

  /// `"NL1field"` as a little-endian word.
  private static let fieldDomain: UInt64 = 0x646C_6569_6631_4C4E
  /// `"NL1chunk"` as a little-endian word.
  private static let chunkDomain: UInt64 = 0x6B6E_7568_6331_4C4E

  private var words: InlineArray<12, UInt64>
  private var size = fieldSize

  /// The additional data of a field sealed inline.
  package init(store: ID16, record: ID16, name: ID16, type: UInt8, flags: UInt16, key: KeyReference) {
    words = InlineArray(repeating: 0)
    words[0] = Self.fieldDomain.littleEndian
    let suite = UInt64(SealedValue.fieldSuite)
    words[1] = (suite | UInt64(type) << 8 | UInt64(flags) << 16 | UInt64(key.rawValue) << 32).littleEndian
    put(store, at: 2)
    put(record, at: 4)
    put(name, at: 6)
  }

  /// The additional data of a large value of a field: of its first chunk. ``setChunk(_:isLast:)`` and
  /// ``setReference(byteCount:)`` move on to its other parts.
  package init(_ field: AdditionalData, of value: ID16) {
    self = field
    size = Self.chunkSize
    words[0] = Self.chunkDomain.littleEndian
    put(value, at: 8)
  }

  /// Moves on to another chunk of the same value.
  package mutating func setChunk(_ chunk: UInt64, isLast: Bool) { setPart(chunk, isLast ? 1 : 0) }

  /// Moves on to the reference to the same value, which says how long it is.
  package mutating func setReference(byteCount: UInt64) { setPart(byteCount, 2) }

  private mutating func setPart(_ number: UInt64, _ kind: UInt64) {
    precondition(size == Self.chunkSize, "only the parts of a large value are numbered")
    words[10] = number.littleEndian
    words[11] = kind.littleEndian
  }

  /// The bytes, as they are authenticated.
  package var bytes: RawSpan {
    @_lifetime(borrow self) borrowing get {
      // SAFETY: a UInt64 has no padding, so all of its bytes are initialised.
      unsafe words.span.bytes.extracting(0..<size)
    }
  }

  private mutating func put(_ value: ID16, at index: Int) {
    words[index] = value.low.littleEndian
    words[index + 1] = value.high.littleEndian
  }
}

// MARK: - The hash by which additional data names a field (FORMAT.md 11.2).

extension ID16 {
  /// Names a field for ever, whatever number it has in a schema and however it is renamed later: a hash of both
  /// names as they were first declared.
  package init(collection: String, field: String) throws(CryptoError) {
    try self.init(hashing: [collection, field], in: "NL1name\0")
  }

  /// The first sixteen bytes of SHA-256(domain ‖ for each text: u32 length ‖ text), all in UTF-8.
  package init(hashing texts: [String], in domain: String) throws(CryptoError) {
    var message = Array(domain.utf8)
    for text in texts {
      message.append(littleEndian: UInt32(clamping: text.utf8.count))
      message += Array(text.utf8)
    }
    self.init(try OpenSSL.sha256(message))
  }
}
