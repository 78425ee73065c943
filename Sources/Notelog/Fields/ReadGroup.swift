// Records that are read one after another, and looked up at once.

import NotelogJournal

/// Where the records of a few ids are, their frames on their way from memory.
@usableFromInline
struct ReadGroup: ~Copyable {
  /// As many as are looked up at once. More would push each other out of the processor's cache.
  @usableFromInline static let limit = 64

  @usableFromInline let count: Int
  private var sought = InlineArray<64, Sought>(repeating: .unknown)

  /// Looks the ids up, all of them a step at a time, so that one doesn't wait for the other.
  @usableFromInline
  init(_ ids: ArraySlice<RecordID>, _ store: Store) {
    precondition(ids.count <= Self.limit, "a group has at most \(Self.limit) ids")
    count = ids.count
    let records = store.journal.records
    for (place, id) in ids.enumerated() { sought[place] = records.begin(id.key) }
    for place in 0..<count { records.locate(&sought[place]) }
  }

  subscript(place: Int) -> Sought { sought[place] }
}
