// A run of an ordered index, from one entry to another.

import NotelogBase

/// Everything between two entries of an index, both included.
struct IndexBounds: Sendable, Equatable {
  let lower: OrderedEntry
  let upper: OrderedEntry

  /// A whole index.
  static let all = IndexBounds(from: nil, to: nil, includingUpper: true)

  /// The run that holds every value between two, of which the sort keys are known: the upper key included or not.
  init(from lower: [UInt8]?, to upper: [UInt8]?, includingUpper: Bool) {
    let first = lower ?? []
    let last = upper ?? [UInt8](repeating: .max, count: OrderedEntry.keyByteCount)
    self.init(
      OrderedEntry(key: first.rawSpan, Self.noRecord),
      OrderedEntry(key: last.rawSpan, includingUpper ? RecordID(ID16(low: .max, high: .max)) : Self.noRecord))
  }

  /// The run of an order that holds every key of a range of its first field.
  init(_ range: KeyRange, of name: OrderName) {
    if name.second == nil {
      self.init(from: range.lower, to: range.upper, includingUpper: range.includesUpper)
      return
    }
    let rest = [UInt8](repeating: .max, count: OrderedEntry.keyByteCount)
    self.init(
      from: name.beginning(range.lower.rawSpan), to: range.upper.map { name.beginning($0.rawSpan) + rest },
      includingUpper: true)
  }

  /// The run from a key on in a direction, the keys that tie with it among it.
  init(from key: [UInt8], _ direction: SortDirection) {
    self =
      direction == .ascending
      ? IndexBounds(from: key, to: nil, includingUpper: true)
      : IndexBounds(from: nil, to: key, includingUpper: true)
  }

  /// The run from one entry to another, or to the end.
  init(from lower: OrderedEntry, to upper: OrderedEntry?) { self.init(lower, upper ?? Self.all.upper) }

  /// An id that no record has, before those of all that have one.
  private static let noRecord = RecordID(.zero)

  private init(_ lower: OrderedEntry, _ upper: OrderedEntry) {
    self.lower = lower
    self.upper = upper
  }

  /// What lies in both runs.
  func intersection(_ other: IndexBounds) -> IndexBounds {
    IndexBounds(max(lower, other.lower), min(upper, other.upper))
  }
}

/// Runs of an index that do not overlap, ascending.
struct IndexRanges: Sendable, Equatable {
  private(set) var bounds: [IndexBounds]

  /// A whole index.
  static let all = IndexRanges([.all])

  /// What lies in any of some runs.
  init(_ bounds: some Sequence<IndexBounds>) {
    self.bounds = []
    for next in bounds.sorted(by: { $0.lower < $1.lower }) where next.lower <= next.upper {
      guard let last = self.bounds.last, next.lower <= last.upper else {
        self.bounds.append(next)
        continue
      }
      self.bounds[self.bounds.count - 1] = IndexBounds(from: last.lower, to: max(last.upper, next.upper))
    }
  }

  /// What lies in both.
  func intersection(_ other: IndexRanges) -> IndexRanges {
    var common: [IndexBounds] = []
    var (index, otherIndex) = (0, 0)
    while index < bounds.count, otherIndex < other.bounds.count {
      common.append(bounds[index].intersection(other.bounds[otherIndex]))
      if bounds[index].upper < other.bounds[otherIndex].upper { index += 1 } else { otherIndex += 1 }
    }
    return IndexRanges(common)
  }

  /// What lies in either.
  func union(_ other: IndexRanges) -> IndexRanges { IndexRanges(bounds + other.bounds) }

  /// Whether an entry lies in one of the runs.
  func contains(_ entry: OrderedEntry) -> Bool {
    let place = OrderedIndex.firstIndex(bounds.count) { bounds[$0].lower > entry }
    return place > 0 && entry <= bounds[place - 1].upper
  }
}

/// The sort keys between two, of which an index entry has the beginning only.
struct KeyRange: Sendable {
  /// What the key of an optional value begins with that is there, and the key of nil.
  static let present: [UInt8] = [1]
  static let absent: [UInt8] = [0]

  let lower: [UInt8]
  /// Nil where there is no end.
  let upper: [UInt8]?
  let includesUpper: Bool

  init(from lower: [UInt8], to upper: [UInt8]?, includingUpper: Bool = true) {
    self.lower = lower
    self.upper = upper
    includesUpper = includingUpper
  }

  /// One key.
  init(of key: [UInt8]) { self.init(from: key, to: key) }

  /// All keys that begin with some bytes.
  init(beginningWith bytes: [UInt8]) {
    let rest = max(0, OrderedEntry.keyByteCount - bytes.count)
    self.init(from: bytes, to: bytes + [UInt8](repeating: .max, count: rest))
  }
}

/// The direction of a sort.
public enum SortDirection: Sendable {
  /// The smallest first.
  case ascending
  /// The largest first.
  case descending
}
