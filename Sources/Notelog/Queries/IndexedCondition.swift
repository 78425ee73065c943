// Which run of a field's index holds the records for which a condition holds.

import NotelogBase
import NotelogJournal

/// A condition as an ordered index sees it.
struct IndexedCondition: Sendable {
  /// Outside of these bounds no record satisfies the condition; inside, some may not.
  let bounds: IndexBounds
  /// The condition in words.
  let description: String

  /// The condition that a field has a value; nil for values without a sort key.
  init?<Value: Equatable & Sendable>(is value: Value) {
    guard let key = sortKey(of: value) else { return nil }
    bounds = IndexBounds(from: key, to: key, includingUpper: true)
    description = shown(value)
  }

  /// The condition that a field has a value in a range; nil where sort keys are in another order than values.
  init?<Value: Comparable & Sendable>(in range: ValueRange<Value>) {
    guard ValueOrder<Value>.isThatOfKeys else { return nil }
    // Texts that begin alike may be one in an index: the last may be in the range where it says that it isn't.
    bounds = IndexBounds(
      from: range.lower.flatMap(sortKey), to: range.upper.flatMap(sortKey),
      includingUpper: range.includesUpper || Value.self == String.self)
    let ends = (range.lower.map(shown) ?? "", range.upper.map(shown) ?? "")
    description = ends.0 + (range.includesUpper ? "..." : "..<") + ends.1
  }
}

/// A value's sort key, as long as an index entry needs it; nil for what has none.
private func sortKey<Value>(of value: Value) -> [UInt8]? {
  guard let type = Value.self as? any FieldValue.Type else { return nil }
  func key<Field: FieldValue>(_ type: Field.Type) -> [UInt8]? {
    guard let stored = try? (value as? Field)?.stored, Field.Stored.fieldType.isSortable else { return nil }
    var bytes = [UInt8](repeating: 0, count: stored.storedByteCount)
    bytes.withBytes(in: 0..<bytes.count) { stored.store(into: &$0) }
    return SortKey.key(
      of: bytes.rawSpan, Field.Stored.fieldType, isOptional: Field.Stored.isOptional,
      byteCount: SortKey.byteCount(of: bytes.rawSpan))
  }
  return key(type)
}

private func shown(_ value: some Any) -> String {
  (value as? String)?.debugDescription ?? String(describing: value)
}
