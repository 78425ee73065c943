// Sort keys in order, with the ids of the records that had them.

import NotelogJournal

/// The first 16 bytes of a sort key, and a record's id.
///
/// Fixed-length values fit whole. Longer texts may tie, and whoever needs more order looks at the values themselves.
struct IndexEntry: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// How much of a key an entry holds.
  static let keyByteCount = 16

  let keyHigh: UInt64
  let keyLow: UInt64
  let id: RecordID

  /// Takes the beginning of a sort key.
  init(key: RawSpan, _ id: RecordID) {
    var words: (high: UInt64, low: UInt64) = (0, 0)
    for index in 0..<min(Self.keyByteCount, key.byteCount) {
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

  /// How many entries a run has.
  ///
  /// - Complexity: O(*n* / ``chunkCount``).
  func count(in bounds: IndexBounds) -> Int {
    let touched = chunkRange(of: bounds)
    return touched.reduce(0) { count, chunk in
      let isWhole = chunk != touched.first && chunk != touched.last
      return count + (isWhole ? chunks[chunk].count : Self.range(of: bounds, in: chunks[chunk]).count)
    }
  }

  /// Calls `body` with the entries of a run, until it returns false.
  func forEach(
    in bounds: IndexBounds, _ direction: SortDirection, _ body: (IndexEntry) throws -> Bool
  ) rethrows {
    let touched = chunkRange(of: bounds)
    for step in 0..<touched.count {
      let chunk = chunks[direction == .ascending ? touched.lowerBound + step : touched.upperBound - 1 - step]
      let range = Self.range(of: bounds, in: chunk)
      for step in 0..<range.count {
        let entry = chunk[direction == .ascending ? range.lowerBound + step : range.upperBound - 1 - step]
        guard try body(entry) else { return }
      }
    }
  }

  /// Calls `body` with groups of entries of a run that tie, each group in the order of ids, until it returns false.
  func forEachGroup(
    in bounds: IndexBounds = .all, _ direction: SortDirection, _ body: (ArraySlice<IndexEntry>) throws -> Bool
  ) rethrows {
    var group: [IndexEntry] = []
    var goesOn = true
    try forEach(in: bounds, direction) { entry in
      if let first = group.first, !first.ties(with: entry) {
        goesOn = try body(Self.inOrderOfIDs(group, direction))
        group.removeAll(keepingCapacity: true)
      }
      group.append(entry)
      return goesOn
    }
    if goesOn, !group.isEmpty { _ = try body(Self.inOrderOfIDs(group, direction)) }
  }

  /// The chunks in which a run's entries are.
  private func chunkRange(of bounds: IndexBounds) -> Range<Int> {
    let first = max(0, Self.firstIndex(chunks.count) { chunks[$0][0] > bounds.lower } - 1)
    return first..<max(first, Self.firstIndex(chunks.count) { chunks[$0][0] > bounds.upper })
  }

  /// Which of a chunk's entries are in a run.
  private static func range(of bounds: IndexBounds, in chunk: [IndexEntry]) -> Range<Int> {
    let lower = firstIndex(chunk.count) { chunk[$0] >= bounds.lower }
    return lower..<max(lower, firstIndex(chunk.count) { chunk[$0] > bounds.upper })
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
