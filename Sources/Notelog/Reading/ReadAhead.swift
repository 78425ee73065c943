// Records that are read one after another, and looked up ahead.

import NotelogJournal

/// Where the records of some ids are: while one is opened, the next ones come from memory.
///
/// What is to be looked at is asked of memory a while before: first what says where the record is, then what says where in memory
/// its block lies, at last its frame. All of them at once would have the processor wait until memory has given them, and memory
/// wait while values are opened.
@usableFromInline
struct ReadAhead: ~Copyable {
  /// How far ahead of the one that is read each step is taken. Once a record is located, what is written of it may not show.
  private static let beginDistance = 12
  private static let locateDistance = 8
  private static let fetchDistance = 4

  private let ids: [RecordID]
  private let records: RecordFinder
  /// What is known of the record at a place, by the place's lowest bits.
  private var sought = InlineArray<16, Sought>(repeating: .unknown)
  /// Whether all that was wanted so far lay at the records' beginnings: then no more is asked for.
  var takesBeginnings = true

  /// - Parameters:
  ///   - ids: Which records.
  ///   - store: Where they are.
  ///   - buffer: What they are read into; it holds none of them afterwards.
  @usableFromInline
  init(_ ids: [RecordID], _ store: Store, into buffer: inout ValueBuffer) {
    buffer.loaded = nil
    self.ids = ids
    records = store.journal.records
    for place in 0..<min(Self.beginDistance, ids.count) { sought[place] = records.begin(ids[place].key) }
    for place in 0..<min(Self.locateDistance, ids.count) { records.locate(&sought[place]) }
    for place in 0..<min(Self.fetchDistance, ids.count) { fetch(place) }
  }

  /// What is known of the record at a place, which is to be read now. Places are asked for one after another.
  mutating func take(_ place: Int) -> Sought {
    let (began, located) = (place + Self.beginDistance, place + Self.locateDistance)
    if began < ids.count { sought[began & 15] = records.begin(ids[began].key) }
    if located < ids.count { records.locate(&sought[located & 15]) }
    if place + Self.fetchDistance < ids.count { fetch(place + Self.fetchDistance) }
    return sought[place & 15]
  }

  private mutating func fetch(_ place: Int) {
    records.fetch(sought[place & 15], onlyBeginning: takesBeginnings)
  }
}
