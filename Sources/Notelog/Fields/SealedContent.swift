// A value that is sealed before its record is written.

import NotelogBase
import NotelogFormat

/// A field's value as it will stand in the record: sealed, or a reference to its chunks.
struct SealedContent: Sendable {
  let type: FieldType
  let flags: FieldFlags
  let keyReference: UInt32
  let bytes: [UInt8]
  /// What stands in the field of its digests, where that has one.
  var digest: [UInt8]?

  /// The large value that it refers to.
  var value: ID16? { flags.contains(.chunked) ? ValueReference.value(in: bytes.rawSpan) : nil }
}
