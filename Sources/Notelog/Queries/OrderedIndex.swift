// Sort keys in order, with the ids of the records that had them.

import NotelogJournal

/// The first 16 bytes of a sort key, and a record's id.
///
/// Fixed-length values fit whole. Longer texts may tie, and whoever needs more order looks at the values themselves.
struct IndexEntry: Hashable, Comparable, Sendable, BitwiseCopyable {
  let keyHigh: UInt64
  let keyLow: UInt64
  let id: RecordID

  /// Takes the beginning of a sort key.
  init(key: RawSpan, _ id: RecordID) {
    var words: (high: UInt64, low: UInt64) = (0, 0)
    for index in 0..<min(16, key.byteCount) {
      let byte = UInt64(key.byte(at: index)) << UInt64(56 - 8 * (index & 7))
      if index < 8 { words.high |= byte } else { words.low |= byte }
    }
    (keyHigh, keyLow) = words
    self.id = id
  }

  /// Whether both have the same 16 bytes.
  func ties(with other: IndexEntry) -> Bool { keyHigh == other.keyHigh && keyLow == other.keyLow }

  static func < (left: IndexEntry, right: IndexEntry) -> Bool {
    if left.keyHigh != right.keyHigh { return left.keyHigh < right.keyHigh }
    if left.keyLow != right.keyLow { return left.keyLow < right.keyLow }
    return left.id < right.id
  }
}

/// A sorted set of entries in chunks, so that an insertion moves few of them.
struct OrderedIndex: Sendable {
  static let chunkCount = 512

  private var chunks: [[IndexEntry]] = []
  private(set) var count = 0

  init() {}

  /// Sorts entries, of which some may occur twice.
  init(_ entries: consuming [IndexEntry]) {
    entries.sort()
    var chunk: [IndexEntry] = []
    var last: IndexEntry?
    for entry in entries where entry != last {
      last = entry
      chunk.append(entry)
      // Half full: what comes next is inserted in between.
      if chunk.count == Self.chunkCount / 2 {
        chunks.append(chunk)
        count += chunk.count
        chunk = []
      }
    }
    if !chunk.isEmpty { chunks.append(chunk) }
    count += chunk.count
  }

  /// Adds an entry, if it isn't there.
  ///
  /// - Complexity: O(log *n*), and a move of at most one chunk.
  mutating func insert(_ entry: IndexEntry) {
    guard !chunks.isEmpty else {
      chunks = [[entry]]
      count = 1
      return
    }
    // The last chunk that begins at or before the entry; the first one for an entry before all.
    let chunk = max(0, Self.firstIndex(chunks.count) { chunks[$0][0] > entry } - 1)
    let place = Self.firstIndex(chunks[chunk].count) { chunks[chunk][$0] >= entry }
    if place < chunks[chunk].count, chunks[chunk][place] == entry { return }
    chunks[chunk].insert(entry, at: place)
    count += 1
    guard chunks[chunk].count > Self.chunkCount else { return }
    let half = chunks[chunk].count / 2
    let upper = Array(chunks[chunk][half...])
    chunks[chunk].removeLast(upper.count)
    chunks.insert(upper, at: chunk + 1)
  }

  /// Calls `body` with groups of entries that tie, each group in the order of ids, until it returns false.
  func forEachGroup(
    _ direction: SortDirection, _ body: (ArraySlice<IndexEntry>) throws -> Bool
  ) rethrows {
    var group: [IndexEntry] = []
    for step in chunks.indices {
      let chunk = chunks[direction == .ascending ? step : chunks.count - 1 - step]
      for place in chunk.indices {
        let entry = chunk[direction == .ascending ? place : chunk.count - 1 - place]
        if let first = group.first, !first.ties(with: entry) {
          guard try body(Self.inOrderOfIDs(group, direction)) else { return }
          group.removeAll(keepingCapacity: true)
        }
        group.append(entry)
      }
    }
    if !group.isEmpty { _ = try body(Self.inOrderOfIDs(group, direction)) }
  }

  private static func inOrderOfIDs(
    _ group: [IndexEntry], _ direction: SortDirection
  ) -> ArraySlice<IndexEntry> {
    direction == .ascending ? group[...] : group.reversed()[...]
  }

  /// The first of `count` indices for which a condition holds that holds for all after it too; `count` if none.
  private static func firstIndex(_ count: Int, _ condition: (Int) -> Bool) -> Int {
    var lower = 0
    var upper = count
    while lower < upper {
      let middle = (lower + upper) / 2
      if condition(middle) { upper = middle } else { lower = middle + 1 }
    }
    return lower
  }
}
