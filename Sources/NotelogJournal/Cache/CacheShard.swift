// One shard of the block cache: sets of eight slots, a clock in each.

import Synchronization

/// A block may lie in any slot of one set. The slot that makes room is the first, from the set's hand on, that was not
/// used since the hand last passed it.
struct CacheShard: ~Copyable, Sendable {
  static let wayCount = 8
  /// How many misses bring nothing in, before the first that does.
  private static let coldMissCount = 2

  /// What else is known of a slot's block, in one place: a line of memory fewer to wait for.
  private struct Content {
    var byteCount: UInt32 = 0
    /// What the segment's salt contributes to the checksums of its frames.
    var saltShare: UInt32 = 0
  }

  private let setCount: Int
  /// Which block each slot holds; 0 is none, as there is no segment 0.
  private var tags: [SIMD8<UInt64>] = []
  private var contents: [Content] = []
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
    let set = set(of: hash)
    // All of them: where in its set a block lies, the processor can't foresee, and it loses more by a wrong guess than by looking.
    let ways = tags[set] ^ SIMD8(repeating: tag)
    // All ones where the tag is, and zeros elsewhere.
    let matches = ((ways | (0 &- ways)) &>> 63) &- 1
    let found = Int((matches & SIMD8(1, 2, 3, 4, 5, 6, 7, 8)).wrappedSum())
    guard found > 0 else { return nil }
    let slot = set * Self.wayCount + found - 1
    marks.set(slot)
    return slot
  }

  /// A slot's bytes.
  @_lifetime(borrow self)
  func block(_ slot: Int) -> RawSpan {
    let start = slot * BlockCache.blockByteCount
    return store.bytes.extracting(start..<start + Int(contents[slot].byteCount))
  }

  /// The salt of the segment that a slot's block is of: what its frames are checked with.
  func salt(_ slot: Int) -> SegmentSalt { SegmentSalt(share: contents[slot].saltShare) }

  /// Asks the processor to fetch what a slot has from an offset on.
  func prefetch(_ slot: Int, from offset: Int, _ byteCount: Int) {
    let start = slot * BlockCache.blockByteCount
    let end = min(offset + byteCount, Int(contents[slot].byteCount))
    if end > offset { store.prefetch(start + offset..<start + end) }
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
    let set = set(of: hash)
    let way = victim(in: set)
    let slot = set * Self.wayCount + way
    if tags[set][way] == 0 { occupiedCount += 1 }
    tags[set][way] = tag
    marks.set(slot)
    contents[slot] = Content(byteCount: UInt32(bytes.byteCount), saltShare: salt.share)
    store.copy(bytes, at: slot * BlockCache.blockByteCount)
  }

  /// Empties slots.
  mutating func forget(_ isGone: (UInt64) -> Bool) {
    for set in tags.indices {
      for way in tags[set].indices where tags[set][way] != 0 && isGone(tags[set][way]) {
        tags[set][way] = 0
        occupiedCount -= 1
      }
    }
  }

  private mutating func victim(in set: Int) -> Int {
    while true {
      let way = Int(hands[set])
      hands[set] = (hands[set] + 1) % UInt8(Self.wayCount)
      if tags[set][way] == 0 || !marks.take(set * Self.wayCount + way) { return way }
    }
  }

  /// By the upper bits, without a division.
  private func set(of hash: UInt64) -> Int {
    Int((hash << 4).multipliedFullWidth(by: UInt64(setCount)).high)
  }

  /// A shard that is never used takes no memory.
  private mutating func allocate() {
    let slotCount = setCount * Self.wayCount
    store = PageStore(byteCount: slotCount * BlockCache.blockByteCount)
    tags = Array(repeating: SIMD8(repeating: 0), count: setCount)
    contents = Array(repeating: Content(), count: slotCount)
    marks = UseMarks(count: slotCount)
    hands = Array(repeating: 0, count: setCount)
  }
}
