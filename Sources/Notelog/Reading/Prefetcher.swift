// Records that are read one after another are prefetched (decision 0055).

/// Looks records up ahead: while one is opened, the next ones come from memory.
///
/// Each stage prefetches what the next one looks at: the index, the cache's set, the frame. All at once, the processor would wait
/// for memory three times in a row. What one stage alone costs was not measured apart from other changes (decision 0055).
@usableFromInline
struct Prefetcher: ~Copyable {
  /// How far ahead of the record that is read each stage is. Once a record is located, what is written of it may not show.
  private static let (beginDistance, locateDistance, fetchDistance) = (12, 8, 4)

  private let ids: [RecordID]
  private let records: RecordFinder
  /// The lookups under way, by the lowest bits of the record's place.
  private var lookups = InlineArray<16, PendingLookup>(repeating: .unknown)

  @usableFromInline
  init(_ ids: [RecordID], _ store: Store) {
    self.ids = ids
    records = store.journal.records
    for place in 0..<min(Self.beginDistance, ids.count) { lookups[place] = records.begin(ids[place].bytes) }
    for place in 0..<min(Self.locateDistance, ids.count) { records.locate(&lookups[place]) }
    for place in 0..<min(Self.fetchDistance, ids.count) { records.prefetch(lookups[place]) }
  }

  /// The lookup of the record that is to be read now. Places are asked for one after another.
  mutating func next(_ place: Int) -> PendingLookup {
    let (begun, located, fetched) = (
      place + Self.beginDistance, place + Self.locateDistance, place + Self.fetchDistance
    )
    if begun < ids.count { lookups[begun & 15] = records.begin(ids[begun].bytes) }
    if located < ids.count { records.locate(&lookups[located & 15]) }
    if fetched < ids.count { records.prefetch(lookups[fetched & 15]) }
    return lookups[place & 15]
  }
}
