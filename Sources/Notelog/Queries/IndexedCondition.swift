// Which runs of a field's index hold the records for which a condition holds.

import NotelogBase

/// A condition as an ordered index sees it.
struct IndexedCondition: Sendable {
  /// Outside of these ranges no record satisfies the condition; inside, some may not.
  let ranges: [KeyRange]
  /// The condition in words.
  let description: String

  /// The condition that a field has a value; nil for values without a sort key.
  init?<Value: Equatable & Sendable>(is value: Value) {
    guard let key = sortKey(of: value) else { return nil }
    ranges = [KeyRange(of: key)]
    description = shown(value)
  }

  /// The condition that a field has another value: an index helps where that means any value at all.
  init?<Value: Equatable & Sendable>(isNot value: Value) {
    guard isOptional(Value.self), sortKey(of: value) == KeyRange.absent else { return nil }
    ranges = [KeyRange(from: KeyRange.present, to: nil)]
    description = "any value"
  }

  /// The condition that a field has one of some values.
  init?<Value: Equatable & Sendable>(isIn values: some Sequence<Value>) {
    var ranges: [KeyRange] = []
    var words: [String] = []
    for value in values {
      guard let key = sortKey(of: value) else { return nil }
      ranges.append(KeyRange(of: key))
      if words.count < Self.shownCount { words.append(shown(value)) }
    }
    self.ranges = ranges
    let rest = ranges.count > words.count ? ", and \(ranges.count - words.count) more" : ""
    description = "[\(words.joined(separator: ", "))\(rest)]"
  }

  /// The condition that a field has a value in a range; nil where sort keys are in another order than values.
  init?<Value: Comparable & Sendable>(in range: ValueRange<Value>, isOptional: Bool) {
    guard ValueOrder<Value>.isThatOfKeys else { return nil }
    func key(_ value: Value) -> [UInt8]? { isOptional ? sortKey(of: Optional(value)) : sortKey(of: value) }
    // Texts that begin alike may be one in an index: the last may be in the range where it says that it isn't.
    ranges = [
      KeyRange(
        from: range.lower.flatMap(key) ?? (isOptional ? KeyRange.present : []), to: range.upper.flatMap(key),
        includingUpper: range.includesUpper || Value.self == String.self)
    ]
    let ends = (range.lower.map(shown) ?? "", range.upper.map(shown) ?? "")
    description = ends.0 + (range.includesUpper ? "..." : "..<") + ends.1
  }

  /// The condition that a text begins with another.
  init(hasPrefix text: String, isOptional: Bool) {
    ranges = [KeyRange(beginningWith: (isOptional ? KeyRange.present : []) + text.utf8)]
    description = "\(shown(text))*"
  }

  /// The condition that a field has a value that is one, no nil and no NaN.
  init<Stored: StoredValue>(anyNumberOf type: Stored.Type) {
    let isFloating = Stored.fieldType == .double || Stored.fieldType == .date
    let start = Stored.isOptional ? KeyRange.present : []
    let notANumber = start + [UInt8](repeating: .max, count: 8)
    ranges = [KeyRange(from: start, to: isFloating ? notANumber : nil, includingUpper: !isFloating)]
    description = "any value"
  }

  /// How many values a description names.
  private static let shownCount = 5
}

/// A value's sort key, as long as an index entry needs it; nil for what has none.
private func sortKey<Value>(of value: Value) -> [UInt8]? {
  guard let type = Value.self as? any FieldValue.Type else { return nil }
  func key<Field: FieldValue>(_ type: Field.Type) -> [UInt8]? {
    guard let stored = try? (value as? Field)?.stored, Field.Stored.fieldType.isSortable else { return nil }
    return SortKey.key(of: stored)
  }
  return key(type)
}

/// Values as they are stored, with a presence byte where they may be missing; nil where one can't be stored.
func storedValues<Value>(_ values: [Value]) -> [[UInt8]]? {
  func bytes<Field: FieldValue>(_ type: Field.Type) -> [[UInt8]]? {
    var all: [[UInt8]] = []
    for value in values {
      guard let stored = try? (value as? Field)?.stored else { return nil }
      all.append(stored.storedBytes)
    }
    return all
  }
  return (Value.self as? any FieldValue.Type).flatMap { bytes($0) }
}

private func isOptional(_ type: any Any.Type) -> Bool {
  func ask<Field: FieldValue>(_ type: Field.Type) -> Bool { Field.Stored.isOptional }
  return (type as? any FieldValue.Type).map { ask($0) } ?? false
}

private func shown(_ value: some Any) -> String {
  (value as? String)?.debugDescription ?? String(describing: value)
}
