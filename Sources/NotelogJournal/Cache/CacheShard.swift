// One shard of the block cache: sets of eight slots, a clock in each.

import NotelogBase
import NotelogFormat
import Synchronization

/// A block may lie in any slot of one set. The slot that makes room is the first, from the set's hand on, that was not
/// used since the hand last passed it.
struct CacheShard: ~Copyable, Sendable {
  /// How many misses bring nothing in, before the first that does.
  private static let coldMissCount = 2

  private let setCount: Int
  private(set) var sets = CacheSets(count: 0)
  private var hands: [UInt8] = []
  private var occupiedCount = 0
  /// Whether the system had no memory for blocks: it isn't asked again.
  private var isRefused = false
  private let missCount = Atomic<Int>(0)
  private(set) var store = PageStore(byteCount: 0)

  init(setCount: Int) { self.setCount = setCount }

  /// A slot that holds a block.
  struct Slot {
    fileprivate let set: Int
    fileprivate let way: Int
  }

  /// The slot that holds a block.
  @inline(__always)
  func find(_ tag: UInt64, _ hash: UInt64) -> Slot? {
    guard sets.count > 0 else { return nil }
    let set = Self.set(of: hash, setCount)
    guard let way = sets.way(of: tag, in: set) else { return nil }
    sets.markUsed(set, way)
    return Slot(set: set, way: way)
  }

  /// A slot's bytes.
  @_lifetime(borrow self)
  func block(_ slot: Slot) -> RawSpan {
    let start = Self.offset(slot.set, slot.way)
    return store.bytes.extracting(start..<start + Int(sets.content(slot.set, slot.way).byteCount))
  }

  /// The salt of the segment that a slot's block is of: what its frames are checked with.
  func salt(_ slot: Slot) -> SegmentSalt { SegmentSalt(share: sets.content(slot.set, slot.way).saltShare) }

  /// Asks the processor to fetch some of what there may be in a slot from an offset on.
  @inline(__always)
  func prefetch(_ slot: Slot, from offset: Int, _ byteCount: Int) {
    let start = Self.offset(slot.set, slot.way) + offset
    SystemMemory.prefetch(
      store.address &+ UInt(start), min(byteCount, BlockCache.blockByteCount - offset))
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
    return occupiedCount < setCount * CacheSets.wayCount * 7 / 8 || missCount % 16 == 0
  }

  /// Keeps a block.
  mutating func keep(_ bytes: RawSpan, _ salt: SegmentSalt, _ tag: UInt64, _ hash: UInt64) {
    guard setCount > 0, !isRefused, find(tag, hash) == nil else { return }
    if sets.count == 0 { allocate() }
    guard !isRefused else { return }
    let set = Self.set(of: hash, setCount)
    let way = victim(in: set)
    if sets.tag(set, way) == 0 { occupiedCount += 1 }
    // Whoever reads, waits; what is fetched meanwhile, is fetched in vain.
    sets.fill(
      set, way, tag, CacheSets.Content(saltShare: salt.share, byteCount: UInt16(bytes.byteCount)))
    sets.markUsed(set, way)
    store.copy(bytes, at: Self.offset(set, way))
  }

  /// Empties slots.
  mutating func forget(_ isGone: (UInt64) -> Bool) {
    for set in 0..<sets.count {
      for way in 0..<CacheSets.wayCount {
        let tag = sets.tag(set, way)
        guard tag != 0, isGone(tag) else { continue }
        sets.empty(set, way)
        occupiedCount -= 1
      }
    }
  }

  private mutating func victim(in set: Int) -> Int {
    while true {
      let way = Int(hands[set])
      hands[set] = (hands[set] + 1) % UInt8(CacheSets.wayCount)
      if sets.tag(set, way) == 0 || !sets.takeMark(set, way) { return way }
    }
  }

  /// Which of so many sets: by the upper bits, without a division.
  @inline(__always)
  static func set(of hash: UInt64, _ setCount: Int) -> Int {
    Int((hash << 4).multipliedFullWidth(by: UInt64(setCount)).high)
  }

  /// Where a slot's block lies.
  private static func offset(_ set: Int, _ way: Int) -> Int {
    (set * CacheSets.wayCount + way) * BlockCache.blockByteCount
  }

  /// A shard that is never used takes hardly any memory. From here on, sets and blocks stay where they are.
  private mutating func allocate() {
    store = PageStore(byteCount: setCount * CacheSets.wayCount * BlockCache.blockByteCount)
    guard store.byteCount > 0 else {
      isRefused = true
      return
    }
    sets = CacheSets(count: setCount)
    hands = Array(repeating: 0, count: setCount)
  }
}
