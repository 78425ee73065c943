// One shard of the block cache: sets of eight slots, a clock in each.

import Synchronization

/// A block may lie in any slot of one set. The slot that makes room is the first, from the set's hand on, that was not
/// used since the hand last passed it.
struct CacheShard: ~Copyable, Sendable {
  static let wayCount = 8
  /// How many misses bring nothing in, before the first that does.
  private static let coldMissCount = 2

  private let setCount: Int
  /// Which block each slot holds; 0 is none, as there is no segment 0.
  private var tags: [UInt64] = []
  private var byteCounts: [Int] = []
  /// The salt of each block's segment: what its frames are checked with.
  private var salts: [SegmentSalt] = []
  private var marks = UseMarks(count: 0)
  private var hands: [UInt8] = []
  private var occupiedCount = 0
  private let missCount = Atomic<Int>(0)
  private var store = PageStore(byteCount: 0)

  init(setCount: Int) { self.setCount = setCount }

  /// The slot that holds a block.
  @inline(__always)
  func find(_ tag: UInt64, _ hash: UInt64) -> Int? {
    guard !tags.isEmpty else { return nil }
    let first = firstSlot(hash)
    for slot in first..<first + Self.wayCount where tags[slot] == tag {
      marks.set(slot)
      return slot
    }
    return nil
  }

  /// A slot's bytes.
  @_lifetime(borrow self)
  func block(_ slot: Int) -> RawSpan {
    let start = slot * BlockCache.blockByteCount
    return store.bytes.extracting(start..<start + byteCounts[slot])
  }

  /// The salt of the segment that a slot's block is of.
  func salt(_ slot: Int) -> SegmentSalt { salts[slot] }

  /// Asks the processor to fetch what a slot has from an offset on, as much as most records take.
  func prefetch(_ slot: Int, from offset: Int) {
    let start = slot * BlockCache.blockByteCount
    store.prefetch(start + offset..<start + min(offset + 640, BlockCache.blockByteCount))
  }

  /// Whether a block that is missing is to be brought in.
  ///
  /// Once the shard is full, one miss in sixteen brings its block in. A working set that fits is in soon; one that
  /// doesn't fit does not pay, at every read, for a block that nobody comes back to.
  ///
  /// The first few misses of all are no reason yet: a store that was opened for a record or two need not clear memory
  /// for blocks that nobody will ask for.
  func wantsMissing() -> Bool {
    guard setCount > 0 else { return false }
    let missCount = missCount.wrappingAdd(1, ordering: .relaxed).newValue
    if missCount <= Self.coldMissCount { return false }
    return occupiedCount < setCount * Self.wayCount * 7 / 8 || missCount % 16 == 0
  }

  /// Keeps a block.
  mutating func keep(_ bytes: RawSpan, _ salt: SegmentSalt, _ tag: UInt64, _ hash: UInt64) {
    guard setCount > 0, find(tag, hash) == nil else { return }
    if tags.isEmpty { allocate() }
    guard store.byteCount > 0 else { return }
    let slot = victim(hash)
    if tags[slot] == 0 { occupiedCount += 1 }
    tags[slot] = tag
    marks.set(slot)
    byteCounts[slot] = bytes.byteCount
    salts[slot] = salt
    store.copy(bytes, at: slot * BlockCache.blockByteCount)
  }

  /// Empties slots.
  mutating func forget(_ isGone: (UInt64) -> Bool) {
    for slot in tags.indices where tags[slot] != 0 && isGone(tags[slot]) {
      tags[slot] = 0
      occupiedCount -= 1
    }
  }

  private mutating func victim(_ hash: UInt64) -> Int {
    let set = Int(hash % UInt64(setCount))
    while true {
      let slot = set * Self.wayCount + Int(hands[set])
      hands[set] = (hands[set] + 1) % UInt8(Self.wayCount)
      if tags[slot] == 0 || !marks.take(slot) { return slot }
    }
  }

  private func firstSlot(_ hash: UInt64) -> Int { Int(hash % UInt64(setCount)) * Self.wayCount }

  /// A shard that is never used takes no memory.
  private mutating func allocate() {
    let slotCount = setCount * Self.wayCount
    store = PageStore(byteCount: slotCount * BlockCache.blockByteCount)
    tags = Array(repeating: 0, count: slotCount)
    byteCounts = Array(repeating: 0, count: slotCount)
    salts = Array(repeating: SegmentSalt(share: 0), count: slotCount)
    marks = UseMarks(count: slotCount)
    hands = Array(repeating: 0, count: setCount)
  }
}
