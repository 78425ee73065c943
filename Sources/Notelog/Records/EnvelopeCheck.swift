// Whether an envelope says what the body behind it does: FORMAT.md §5, docs/format-derived.md §33, INV-V3.

import NotelogBase
import NotelogFormat

/// Compares what the journal knows of a record without its schema with the record itself: queries find records by the one, and show
/// the other; and compaction keeps the chunks that the one names, which the other refers to.
enum EnvelopeCheck {
  /// Compares them.
  ///
  /// - Throws: `damaged`, with the field.
  static func run(_ envelope: RawSpan, _ body: borrowing RecordBody) throws(NotelogError) {
    // Most have nothing to say.
    let isEmpty =
      envelope.byteCount == 0 || Envelope.byteCount(inPayload: envelope) == Envelope.minimumByteCount
    if isEmpty, !body.hasLargeValues { return }
    var values: [ID16] = []
    var keyCount = 0
    var place = body.start
    while let entry = try body.next(at: &place) {
      let value = body.bytes.extracting(entry.range)
      if entry.flags.contains(.chunked) { values.append(ValueReference.value(in: value)) }
      guard let key = Envelope.sortKey(of: entry.number, in: envelope) else { continue }
      keyCount += 1
      guard !entry.flags.contains(.sealed), isKey(envelope.extracting(key), of: value, entry) else {
        throw NotelogError(.damaged, "the envelope's sort key of field \(entry.number) is not its value's")
      }
    }
    guard Envelope.values(envelope) == values else {
      throw NotelogError(.damaged, "the envelope names other large values than the record refers to")
    }
    Envelope.forEachSortKey(in: envelope) { _, _ in keyCount -= 1 }
    guard keyCount == 0 else {
      throw NotelogError(.damaged, "the envelope has a sort key of a field that the record lacks")
    }
  }

  /// Whether a key is that of a value: as it is, or, where the field became optional since it was written, as of one that is there.
  private static func isKey(_ key: RawSpan, of value: RawSpan, _ entry: FieldEntry) -> Bool {
    let isOptional = entry.flags.contains(.optional)
    let byteCount = SortKey.byteCount(of: value)
    if key.byteCount == byteCount,
      key.elementsEqual(
        SortKey.key(of: value, entry.type, isOptional: isOptional, byteCount: byteCount).rawSpan)
    {
      return true
    }
    guard !isOptional, key.byteCount == SortKey.byteCount(ofValue: value.byteCount + 1), key.byte(at: 0) == 1
    else { return false }
    let rest = key.extracting(droppingFirst: 1)
    return rest.elementsEqual(
      SortKey.key(of: value, entry.type, isOptional: false, byteCount: rest.byteCount).rawSpan)
  }
}
