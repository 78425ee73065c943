// Sort keys in order, with the ids of the records that had them.

import NotelogBase

/// The first 16 bytes of a sort key, and a record's id.
///
/// Fixed-length values fit whole. Longer texts may tie, and whoever needs more order looks at the values
/// themselves.
struct OrderedEntry: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// How much of a key an entry holds.
  static let keyByteCount = OrderName.keyByteCount

  /// The key's beginning as a number, so that it has the order of the bytes.
  private let number: UInt128
  let id: RecordID

  /// Takes the beginning of a sort key.
  init(key: RawSpan, _ id: RecordID) {
    var number: UInt128 = 0
    for index in 0..<Self.keyByteCount {
      number = number << 8 | UInt128(index < key.byteCount ? key.byte(at: index) : 0)
    }
    self.number = number
    self.id = id
  }

  /// Reads an entry of a stored order.
  init(stored key: RawSpan) {
    number = key.load(UInt128.self, at: 0).byteSwapped
    id = RecordID(ID16(key, at: Self.keyByteCount))
  }

  /// Writes an entry of a stored order.
  func write(into bytes: inout MutableRawSpan) {
    bytes.store(number.byteSwapped, at: 0)
    id.bytes.write(into: &bytes, at: Self.keyByteCount)
  }

  /// The key.
  var key: [UInt8] {
    (0..<Self.keyByteCount).map { UInt8(truncatingIfNeeded: number >> (120 - 8 * $0)) }
  }

  /// Whether both have the same 16 bytes.
  func ties(with other: OrderedEntry) -> Bool { number == other.number }

  static func < (left: OrderedEntry, right: OrderedEntry) -> Bool {
    left.number == right.number ? left.id < right.id : left.number < right.number
  }
}

/// Makes an index when it is first called, to be walked in the place of one of which a part can't be read; whoever
/// else calls it meanwhile waits.
typealias OrderSubstitute = @Sendable () throws -> OrderedIndex

/// A sorted set of entries in chunks, so that an insertion moves few of them; chunks that nobody has changed
/// may lie in the checkpoint's file.
struct OrderedIndex: Sendable {
  static let chunkCount = 512

  private struct Chunk: Sendable {
    var first: OrderedEntry
    var count: Int
    /// Nothing where they are in a block of the stored order.
    var entries: [OrderedEntry]?
    var block = 0
  }

  private var chunks: [Chunk] = []
  private(set) var count = 0
  private let stored: StoredOrder?

  /// Sorts entries, of which some may occur twice.
  init(_ entries: consuming [OrderedEntry] = []) {
    stored = nil
    entries.sort()
    var chunk: [OrderedEntry] = []
    var last: OrderedEntry?
    for entry in entries where entry != last {
      last = entry
      chunk.append(entry)
      // Half full: what comes next is inserted in between.
      if chunk.count == Self.chunkCount / 2 {
        chunks.append(Self.chunk(of: chunk))
        chunk = []
      }
    }
    if !chunk.isEmpty { chunks.append(Self.chunk(of: chunk)) }
    count = chunks.reduce(0) { $0 + $1.count }
  }

  /// What a stored order holds, to be read as it is needed; nothing where what it says of itself is not
  /// sound.
  init?(_ stored: StoredOrder) {
    self.stored = stored
    var isAscending = true
    let isSound = stored.forEachBlock { key, count in
      let first = OrderedEntry(stored: key)
      if let last = chunks.last, last.first >= first { isAscending = false }
      chunks.append(Chunk(first: first, count: count, block: chunks.count))
    }
    guard isSound, isAscending else { return nil }
    count = stored.keyCount
  }

  private static func chunk(of entries: [OrderedEntry]) -> Chunk {
    Chunk(first: entries[0], count: entries.count, entries: entries)
  }

  /// The entries of a chunk; nothing where they lie in a block that is not sound.
  private func entries(of number: Int) -> [OrderedEntry]? {
    let chunk = chunks[number]
    if let entries = chunk.entries { return entries }
    var entries: [OrderedEntry] = []
    entries.reserveCapacity(chunk.count)
    let isRead = stored?.read(chunk.block) { keys in
      for key in 0..<chunk.count {
        entries.append(OrderedEntry(stored: keys.extracting(StoredOrder.range(of: key))))
      }
    }
    let next = number + 1 < chunks.count ? chunks[number + 1].first : nil
    guard isRead == true, entries.first == chunk.first, next.map({ entries[entries.count - 1] < $0 }) ?? true,
      zip(entries, entries.dropFirst()).allSatisfy({ $0 < $1 })
    else { return nil }
    return entries
  }

  /// Adds an entry, if it isn't there.
  ///
  /// - Returns: Whether it is there now: not where what lies around it can't be read.
  /// - Complexity: O(log *n*), and a move of at most one chunk.
  mutating func insert(_ entry: OrderedEntry) -> Bool {
    guard !chunks.isEmpty else {
      chunks = [Self.chunk(of: [entry])]
      count = 1
      return true
    }
    // The last chunk that begins at or before the entry; the first one for an entry before all.
    let number = max(0, chunks.firstPlace { $0.first > entry } - 1)
    guard var entries = entries(of: number) else { return false }
    let place = entries.firstPlace { $0 >= entry }
    if place < entries.count, entries[place] == entry { return true }
    // Held here alone, they are changed where they are.
    chunks[number].entries = nil
    entries.insert(entry, at: place)
    count += 1
    if entries.count > Self.chunkCount {
      let upper = Array(entries[(entries.count / 2)...])
      entries.removeLast(upper.count)
      chunks.insert(Self.chunk(of: upper), at: number + 1)
    }
    chunks[number] = Self.chunk(of: entries)
    return true
  }

  /// How many entries a run has.
  ///
  /// - Complexity: O(*n* / ``chunkCount``); O(1) for the whole index.
  func count(in bounds: IndexBounds) -> Int {
    if bounds == .all { return count }
    let touched = chunkRange(of: bounds)
    return touched.reduce(0) { count, chunk in
      let isWhole = chunk != touched.first && chunk != touched.last
      guard !isWhole, let entries = entries(of: chunk) else { return count + chunks[chunk].count }
      return count + Self.range(of: bounds, in: entries).count
    }
  }

  /// Calls `body` with the entries of a run, until it returns false.
  ///
  /// - Parameters:
  ///   - bounds: The run.
  ///   - direction: Which end it begins at.
  ///   - substitute: What is asked where entries can't be read.
  ///   - body: Called with an entry; false ends it.
  /// - Throws: What `body` throws; `damaged` where entries can't be read, and there is no substitute.
  func forEach(
    in bounds: IndexBounds, _ direction: SortDirection, substitute: OrderSubstitute? = nil,
    _ body: (OrderedEntry) throws -> Bool
  ) throws {
    let touched = chunkRange(of: bounds)
    for step in 0..<touched.count {
      let number = direction == .ascending ? touched.lowerBound + step : touched.upperBound - 1 - step
      let chunk = try entries(of: number) ?? substituted(number, by: substitute)
      let range = Self.range(of: bounds, in: chunk)
      for step in 0..<range.count {
        let entry = chunk[direction == .ascending ? range.lowerBound + step : range.upperBound - 1 - step]
        guard try body(entry) else { return }
      }
    }
  }

  /// What another index has from where a chunk begins to where the next one does.
  private func substituted(_ number: Int, by substitute: OrderSubstitute?) throws -> [OrderedEntry] {
    guard let index = try substitute?() else {
      throw NotelogError(.damaged, "an ordered index in the checkpoint can't be read")
    }
    let next = number + 1 < chunks.count ? chunks[number + 1].first : nil
    var entries: [OrderedEntry] = []
    try index.forEach(in: IndexBounds(from: chunks[number].first, to: next), .ascending) { entry in
      if entry != next { entries.append(entry) }
      return true
    }
    return entries
  }

  /// Writes all entries.
  ///
  /// - Returns: Whether they could be read.
  func write(to writer: inout StoredOrderWriter) throws(NotelogError) -> Bool {
    var key = [UInt8](repeating: 0, count: StoredOrder.keyByteCount)
    for number in chunks.indices {
      guard let entries = entries(of: number) else { return false }
      for entry in entries {
        key.withBytes(in: 0..<key.count) { bytes in entry.write(into: &bytes) }
        try writer.append(key.rawSpan)
      }
    }
    return true
  }

  /// Calls `body` with groups of entries of a run that tie, each group in the order of ids, until it returns
  /// false.
  func forEachGroup(
    in bounds: IndexBounds = .all, _ direction: SortDirection, substitute: OrderSubstitute? = nil,
    _ body: ([OrderedEntry]) throws -> Bool
  ) throws {
    var group: [OrderedEntry] = []
    var goesOn = true
    func hand() throws {
      if direction == .descending { group.reverse() }
      goesOn = try body(group)
      group.removeAll(keepingCapacity: true)
    }
    try forEach(in: bounds, direction, substitute: substitute) { entry in
      if let first = group.first, !first.ties(with: entry) { try hand() }
      group.append(entry)
      return goesOn
    }
    if goesOn, !group.isEmpty { try hand() }
  }

  /// The chunks in which a run's entries are.
  private func chunkRange(of bounds: IndexBounds) -> Range<Int> {
    let first = max(0, chunks.firstPlace { $0.first > bounds.lower } - 1)
    return first..<max(first, chunks.firstPlace { $0.first > bounds.upper })
  }

  /// Which of a chunk's entries are in a run.
  private static func range(of bounds: IndexBounds, in chunk: [OrderedEntry]) -> Range<Int> {
    let lower = chunk.firstPlace { $0 >= bounds.lower }
    return lower..<max(lower, chunk.firstPlace { $0 > bounds.upper })
  }
}

// MARK: - A run of an ordered index, from one entry to another.

/// Everything between two entries of an index, both included.
struct IndexBounds: Sendable, Equatable {
  let lower: OrderedEntry
  let upper: OrderedEntry

  /// A whole index.
  static let all = IndexBounds(from: nil, to: nil)

  /// The run that holds every value between two, of which the sort keys are known: the upper key included or
  /// not.
  init(from lower: [UInt8]?, to upper: [UInt8]?, includingUpper: Bool = true) {
    let first = lower ?? []
    let last = upper ?? [UInt8](repeating: .max, count: OrderedEntry.keyByteCount)
    self.init(
      OrderedEntry(key: first.rawSpan, Self.noRecord),
      OrderedEntry(key: last.rawSpan, includingUpper ? RecordID(ID16(low: .max, high: .max)) : Self.noRecord))
  }

  /// The run of an order that holds every key of a range of its first field. Keys that have no fixed length,
  /// or that don't fit, tie with others: the last that does may be in the range where it says that it isn't.
  init(_ range: KeyRange, of name: OrderName, isFixed: Bool) {
    if name.second == nil {
      let ties = !isFixed || range.upper?.count ?? 0 > OrderedEntry.keyByteCount
      self.init(from: range.lower, to: range.upper, includingUpper: range.includesUpper || ties)
      return
    }
    let rest = [UInt8](repeating: .max, count: OrderedEntry.keyByteCount)
    self.init(
      from: name.beginning(range.lower.rawSpan), to: range.upper.map { name.beginning($0.rawSpan) + rest })
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

  /// All keys of texts that begin with some bytes: no text has a byte of all ones.
  init(beginningWith bytes: [UInt8]) {
    let rest = max(1, OrderedEntry.keyByteCount - bytes.count)
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
