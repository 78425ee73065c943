// A run of an ordered index, from one entry to another.

import NotelogBase
import NotelogJournal

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

/// The direction of a sort.
public enum SortDirection: Sendable {
  /// The smallest first.
  case ascending
  /// The largest first.
  case descending
}
