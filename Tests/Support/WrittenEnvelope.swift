// Envelopes as tests write them: FORMAT.md §5.

package import NotelogBase
import NotelogFormat

/// What a record's envelope says, to be changed and written.
package struct WrittenEnvelope {
  /// An indexed plain field's value as bytes that sort as the value does.
  package struct SortKey {
    package var field: UInt16
    package var bytes: [UInt8]

    package init(field: UInt16, bytes: [UInt8]) {
      self.field = field
      self.bytes = bytes
    }
  }

  package var values: [ID16]
  package var sortKeys: [SortKey]

  package init(values: [ID16] = [], sortKeys: [SortKey] = []) {
    self.values = values
    self.sortKeys = sortKeys
  }

  /// What an envelope says that is well formed.
  package init?(_ bytes: RawSpan) {
    guard Envelope.byteCount(inPayload: bytes) != nil else { return nil }
    self.init(values: Envelope.values(bytes))
    Envelope.forEachSortKey(in: bytes) { field, key in
      sortKeys.append(SortKey(field: field, bytes: bytes.extracting(key).array()))
    }
  }

  /// Its bytes.
  package var bytes: [UInt8] {
    var content: [UInt8] = []
    content.append(littleEndian: UInt16(values.count))
    for value in values { content += value.array }
    for key in sortKeys {
      content.append(littleEndian: key.field)
      content.append(littleEndian: UInt16(key.bytes.count))
      content += key.bytes
    }
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt16(2 + content.count))
    return bytes + content
  }
}
