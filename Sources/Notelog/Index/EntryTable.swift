// One shard's entries: open addressing in the order of fingerprints.

/// A hash table whose occupied slots ascend by fingerprint.
///
/// An entry's home is its fingerprint scaled to the capacity; it lies there or in the run of occupied slots
/// behind it. As homes ascend with fingerprints, looking up stops at the first greater one, growing is one
/// pass from front to back, and a checkpoint is the table without its empty slots. Several entries may have
/// the same fingerprint; they lie side by side.
struct EntryTable: ~Copyable, Sendable {
  private var slots = EntryStore(count: 0)
  /// How many homes there are; the slots behind the last take what is pushed up.
  private(set) var capacity = 0
  /// How many entries it holds, and how many of them are deletions.
  private(set) var count = 0
  private(set) var tombstoneCount = 0

  /// Where its steps of growth lie among those of its sisters, from 0 to 255.
  private let stagger: Int

  /// Fuller than 17/20, runs get long. Growing by an eighth keeps a large one at least 3/4 full: 21.4 bytes a
  /// record at most, and 20 on average. A small one grows by half, and so is moved less often.
  private static func isFull(count: Int, capacity: Int) -> Bool { count * 20 > capacity * 17 }
  private static func overflow(_ capacity: Int) -> Int { min(capacity / 4 + 4, 128) }

  /// From here on tables grow at different times: an eighth of it is one slot for each of 256 tables.
  private static let staggeredCapacity = 2048

  /// The capacity that comes after another.
  private func capacity(after capacity: Int) -> Int {
    let step = capacity < Self.staggeredCapacity ? capacity / 2 : capacity / 8
    let next = max(8, capacity + step + 1)
    let isStep = capacity < Self.staggeredCapacity && next >= Self.staggeredCapacity
    return isStep ? Self.staggeredCapacity + stagger : next
  }

  /// A table that is one of many that grow alike: with a `stagger` of its own, 0 to 255, each has its steps
  /// at other counts, and all of them together never take what each takes at most.
  init(stagger: Int = 0) { self.stagger = stagger }

  /// The same entries once more.
  init(copying other: borrowing EntryTable) {
    slots = EntryStore(copying: other.slots)
    (capacity, count, tombstoneCount) = (other.capacity, other.count, other.tombstoneCount)
    stagger = other.stagger
  }

  /// The memory it takes.
  var byteCount: Int { slots.count * IndexEntry.byteCount }

  /// Makes room for that many entries in all.
  mutating func reserve(_ count: Int) {
    var capacity = capacity
    while Self.isFull(count: count, capacity: capacity) { capacity = self.capacity(after: capacity) }
    if capacity > self.capacity { resize(to: capacity) }
  }

  @inline(__always)
  private func home(_ fingerprint: UInt64) -> Int { Self.home(fingerprint, capacity: capacity) }

  /// The slot that a fingerprint belongs in.
  @inline(__always)
  static func home(_ fingerprint: UInt64, capacity: Int) -> Int {
    // The highest byte chose the shard and is the same in all of its entries.
    Int((fingerprint << 8).multipliedFullWidth(by: UInt64(capacity)).high)
  }

  /// The address of its first slot, which says nothing of what is there later.
  var start: UInt { slots.start }

  /// The first slot, from the fingerprint's home on, that is empty or whose fingerprint is not less.
  @inline(__always)
  private func lowerBound(_ fingerprint: UInt64) -> Int {
    var slot = home(fingerprint)
    while slot < slots.count {
      let entry = slots[slot]
      if entry.place.isNone || entry.fingerprint >= fingerprint { break }
      slot += 1
    }
    return slot
  }

  /// The place that the nth entry of a fingerprint holds.
  @inline(__always)
  func place(_ fingerprint: UInt64, at ordinal: Int) -> FrameAddress? {
    guard capacity > 0 else { return nil }
    let slot = lowerBound(fingerprint) + ordinal
    guard slot < slots.count else { return nil }
    let entry = slots[slot]
    return entry.fingerprint == fingerprint && !entry.place.isNone ? entry.place : nil
  }

  private func slot(of fingerprint: UInt64, at place: FrameAddress) -> Int? {
    guard capacity > 0 else { return nil }
    var slot = lowerBound(fingerprint)
    while slot < slots.count, slots[slot].fingerprint == fingerprint, !slots[slot].place.isNone {
      if slots[slot].place == place { return slot }
      slot += 1
    }
    return nil
  }

  /// Whether an entry with this fingerprint holds this place.
  func contains(_ fingerprint: UInt64, at place: FrameAddress) -> Bool {
    slot(of: fingerprint, at: place) != nil
  }

  /// Gives an entry another place.
  ///
  /// - Returns: Whether there was such an entry.
  mutating func replace(_ fingerprint: UInt64, at old: FrameAddress, with new: FrameAddress) -> Bool {
    guard let slot = slot(of: fingerprint, at: old) else { return false }
    slots[slot].place = new
    tombstoneCount += (new.isTombstone ? 1 : 0) - (old.isTombstone ? 1 : 0)
    return true
  }

  /// Adds an entry behind those with the same fingerprint.
  mutating func insert(_ fingerprint: UInt64, _ place: FrameAddress) {
    precondition(!place.isNone, "an entry has a place")
    if Self.isFull(count: count + 1, capacity: capacity) { resize(to: capacity(after: capacity)) }
    while true {
      var slot = lowerBound(fingerprint)
      while slot < slots.count, slots[slot].fingerprint == fingerprint, !slots[slot].place.isNone {
        slot += 1
      }
      var end = slot
      while end < slots.count, !slots[end].place.isNone { end += 1 }
      guard end < slots.count else {
        // The last run reached the end of the slots.
        resize(to: capacity, overflow: 2 * (slots.count - capacity))
        continue
      }
      slots.move(slot..<end, by: 1)
      fill(slot, IndexEntry(fingerprint: fingerprint, place: place))
      return
    }
  }

  /// Adds an entry if none has its fingerprint.
  ///
  /// - Returns: Whether it was so.
  mutating func insertIfNew(_ fingerprint: UInt64, _ place: FrameAddress) -> Bool {
    if self.place(fingerprint, at: 0) != nil { return false }
    insert(fingerprint, place)
    return true
  }

  /// Removes an entry.
  ///
  /// - Returns: Whether there was such an entry.
  mutating func remove(_ fingerprint: UInt64, at place: FrameAddress) -> Bool {
    guard let slot = slot(of: fingerprint, at: place) else { return false }
    var end = slot + 1
    while end < slots.count, !slots[end].place.isNone, home(slots[end].fingerprint) < end { end += 1 }
    slots.move(slot + 1..<end, by: -1)
    slots[end - 1] = .empty
    count -= 1
    if place.isTombstone { tombstoneCount -= 1 }
    return true
  }

  /// Adds an entry whose fingerprint is not less than any in the table.
  mutating func append(_ entry: IndexEntry, behind last: inout Int) {
    let slot = max(home(entry.fingerprint), last + 1)
    if slot >= slots.count || Self.isFull(count: count + 1, capacity: capacity) {
      insert(entry.fingerprint, entry.place)
      // It may have grown: whatever comes next finds its place by searching from here on.
      last = slots.count - 1
      while slots[last].place.isNone { last -= 1 }
      return
    }
    fill(slot, entry)
    last = slot
  }

  @inline(__always)
  private mutating func fill(_ slot: Int, _ entry: IndexEntry) {
    slots[slot] = entry
    count += 1
    if entry.place.isTombstone { tombstoneCount += 1 }
  }

  /// Calls `body` with every entry, in the order of fingerprints.
  func forEach<Failure: Error>(_ body: (IndexEntry) throws(Failure) -> Void) throws(Failure) {
    for slot in 0..<slots.count where !slots[slot].place.isNone { try body(slots[slot]) }
  }

  /// Moves all entries into slots of another number, in one pass.
  private mutating func resize(to newCapacity: Int, overflow: Int? = nil) {
    let overflow = overflow ?? Self.overflow(newCapacity)
    var larger = EntryTable(capacity: newCapacity, overflow: overflow, stagger: stagger)
    var last = -1
    for slot in 0..<slots.count where !slots[slot].place.isNone { larger.append(slots[slot], behind: &last) }
    self = larger
  }

  private init(capacity: Int, overflow: Int, stagger: Int) {
    self.stagger = stagger
    slots = EntryStore(count: capacity + overflow)
    // What mapping rounded up to is left to runs: as homes, it would bring tables of all staggers to the same
    // steps.
    self.capacity = capacity
  }
}
