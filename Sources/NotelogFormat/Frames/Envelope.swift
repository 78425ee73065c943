// A record's envelope, what the journal must know of it without keys or schema: FORMAT.md §5.

// Public for the optimiser alone (docs/decisions/0076).

public import NotelogBase

/// How a record's envelope is read: its length, the large values that the record refers to, and the sort keys
/// of its indexed plain fields, field numbers strictly ascending.
public enum Envelope {
  /// The bytes of one that says nothing: its length, and the count of its values.
  public static let minimumByteCount = 4

  /// The length of the envelope that a payload begins with; nothing where it is not well formed.
  @inlinable
  public static func byteCount(inPayload bytes: RawSpan) -> Int? {
    guard bytes.byteCount >= minimumByteCount else { return nil }
    let byteCount = Int(bytes.load(UInt16.self, at: 0))
    guard byteCount >= minimumByteCount, byteCount <= bytes.byteCount else { return nil }
    var place = 4 + 16 * Int(bytes.load(UInt16.self, at: 2))
    var lastField = -1
    while place + 4 <= byteCount {
      let field = Int(bytes.load(UInt16.self, at: place))
      guard field > lastField else { return nil }
      lastField = field
      place += 4 + Int(bytes.load(UInt16.self, at: place + 2))
    }
    return place == byteCount ? byteCount : nil
  }

  /// Calls `body` with each sort key's field and place; not at all where there is no envelope, or it is not
  /// well formed.
  public static func forEachSortKey(in bytes: RawSpan, _ body: (_ field: UInt16, _ key: Range<Int>) -> Void) {
    guard let end = byteCount(inPayload: bytes) else { return }
    var place = 4 + 16 * Int(bytes.load(UInt16.self, at: 2))
    while place < end {
      let key = place + 4..<place + 4 + Int(bytes.load(UInt16.self, at: place + 2))
      body(bytes.load(UInt16.self, at: place), key)
      place = key.upperBound
    }
  }

  /// Where an envelope has the sort key of a field; nothing where it has none, or is not well formed.
  public static func sortKey(of field: UInt16, in bytes: RawSpan) -> Range<Int>? {
    var found: Range<Int>?
    forEachSortKey(in: bytes) { if $0 == field { found = $1 } }
    return found
  }

  /// The large values that a record refers to, by its envelope or by its body, where the references stand in
  /// the clear: FORMAT.md §7.2, §8. The envelope alone can be changed by whoever has the files, and what
  /// nobody names is dead.
  package static func values(_ envelope: RawSpan, orIn body: RawSpan) -> [ID16] {
    var values = values(envelope)
    guard body.byteCount >= 4 else { return values }
    let directoryEnd = 4 + 12 * Int(body.load(UInt16.self, at: 2))
    guard directoryEnd <= body.byteCount else { return values }
    var place = directoryEnd
    for line in stride(from: 4, to: directoryEnd, by: 12) {
      let byteCount = Int(body.load(UInt32.self, at: line + 8))
      guard byteCount <= body.byteCount - place else { break }
      if body.byte(at: line + 3) & 16 != 0, byteCount >= 16 {
        let value = ID16(body, at: place)
        if !values.contains(value) { values.append(value) }
      }
      place += byteCount
    }
    return values
  }

  /// The same of a record's payload.
  package static func values(inPayload payload: RawSpan, of header: FrameHeader) -> [ID16] {
    let byteCount = header.hasEnvelope ? byteCount(inPayload: payload) ?? 0 : 0
    return values(payload.extracting(first: byteCount), orIn: payload.extracting(droppingFirst: byteCount))
  }

  /// The large values that an envelope names; none where there is no envelope.
  public static func values(_ bytes: RawSpan) -> [ID16] {
    guard bytes.byteCount >= 4 else { return [] }
    let count = Int(bytes.load(UInt16.self, at: 2))
    guard count > 0, 4 + 16 * count <= bytes.byteCount else { return [] }
    return (0..<count).map { ID16(bytes, at: 4 + 16 * $0) }
  }
}
