// Which blocks a shard of the cache holds, and what is known of them.

import NotelogBase
import Synchronization

/// Sets of eight slots, any of which may hold a block whose hash leads to the set.
///
/// What a reader has to know of a set takes two cache lines side by side, which processors fetch together.
@safe struct CacheSets: ~Copyable {
  static let wayCount = 8

  /// What is known of a slot's block, beside its tag.
  struct Content: BitwiseCopyable {
    /// What the segment's salt contributes to the checksums of its frames.
    var saltShare: UInt32
    var byteCount: UInt16
  }

  private struct Slot: ~Copyable {
    var content = Content(saltShare: 0, byteCount: 0)
    /// Whether the block was used since the set's hand passed it.
    let isUsed = Atomic(false)
  }

  /// Tags are read by whoever holds the shard's lock, and by `Outline`, which doesn't; changed by whoever holds all of it.
  private struct CacheSet: ~Copyable {
    /// Which block each slot holds; 0 is none, as there is no segment 0.
    let tags = InlineArray<8, Atomic<UInt64>> { _ in Atomic(0) }
    var slots = InlineArray<8, Slot> { _ in Slot() }

    /// All of them are looked at: where in its set a block lies, the processor can't foresee, and it loses more by a wrong
    /// guess than by looking.
    @inline(__always)
    static func way(of tag: UInt64, among tags: borrowing InlineArray<8, Atomic<UInt64>>) -> Int? {
      var found: UInt = 0
      for way in 0..<8 { found |= (tags[way].load(ordering: .relaxed) == tag ? 1 : 0) &<< UInt(way) }
      return found == 0 ? nil : found.trailingZeroBitCount
    }
  }

  let count: Int
  private let base: UnsafeMutablePointer<CacheSet>

  init(count: Int) {
    precondition(MemoryLayout<CacheSet>.stride == 128, "a set takes two cache lines")
    self.count = count
    // SAFETY: allocated here, owned by this value alone, every set initialised, freed in deinit.
    unsafe base = UnsafeMutableRawPointer.allocate(byteCount: max(count, 1) * 128, alignment: 128)
      .bindMemory(to: CacheSet.self, capacity: count)
    for index in 0..<count { unsafe (base + index).initialize(to: CacheSet()) }
  }

  deinit {
    // SAFETY: this value alone owns the memory, and nobody uses it any more.
    unsafe base.deinitialize(count: count)
    unsafe base.deallocate()
  }

  @inline(__always)
  private func pointer(_ set: Int) -> UnsafeMutablePointer<CacheSet> {
    precondition(set >= 0 && set < count, "a set is one of the shard's")
    // SAFETY: the bounds were checked.
    return unsafe base + set
  }

  /// The slot of a set that holds a block.
  @inline(__always)
  func way(of tag: UInt64, in set: Int) -> Int? {
    // SAFETY: every set is initialised; here and below.
    let set = unsafe pointer(set)
    // What is known of the slots comes while tags are compared.
    SystemMemory.prefetch(UInt(bitPattern: set) &+ 64)
    return unsafe CacheSet.way(of: tag, among: set.pointee.tags)
  }

  /// The block that a slot holds; 0 is none.
  func tag(_ set: Int, _ way: Int) -> UInt64 {
    // SAFETY: as above.
    unsafe pointer(set).pointee.tags[way].load(ordering: .relaxed)
  }

  @inline(__always)
  func content(_ set: Int, _ way: Int) -> Content {
    // SAFETY: as above.
    unsafe pointer(set).pointee.slots[way].content
  }

  /// Notes that a block was used. Where that is known already, it's only looked at: threads that read the same blocks
  /// don't take the line away from each other.
  @inline(__always)
  func markUsed(_ set: Int, _ way: Int) {
    // SAFETY: as above.
    let set = unsafe pointer(set)
    if unsafe !set.pointee.slots[way].isUsed.load(ordering: .relaxed) {
      unsafe set.pointee.slots[way].isUsed.store(true, ordering: .relaxed)
    }
  }

  /// Takes the mark back.
  ///
  /// - Returns: Whether it was set.
  mutating func takeMark(_ set: Int, _ way: Int) -> Bool {
    // SAFETY: as above.
    unsafe pointer(set).pointee.slots[way].isUsed.exchange(false, ordering: .relaxed)
  }

  mutating func fill(_ set: Int, _ way: Int, _ tag: UInt64, _ content: Content) {
    // SAFETY: as above.
    let set = unsafe pointer(set)
    unsafe set.pointee.slots[way].content = content
    unsafe set.pointee.tags[way].store(tag, ordering: .relaxed)
  }

  mutating func empty(_ set: Int, _ way: Int) {
    // SAFETY: as above.
    unsafe pointer(set).pointee.tags[way].store(0, ordering: .relaxed)
  }
}

// SAFETY: the memory has one owner, the value, which can't be copied; tags and marks are atomic, and what isn't, is changed by
// whoever has the value to themselves.
extension CacheSets: @unchecked Sendable {}

extension CacheSets {
  /// Where sets and their blocks are, for whoever only wants something of them fetched, and doesn't take the lock for that.
  ///
  /// They stay where they are from the first block to the end of the cache, which is the outline's too. A block that has just
  /// given way to another is fetched in vain.
  struct Outline: ~Copyable, Sendable {
    private let sets = Atomic<UInt>(0)
    private let blocks = Atomic<UInt>(0)

    func note(_ sets: borrowing CacheSets, blocks: UInt) {
      guard self.sets.load(ordering: .relaxed) == 0, blocks != 0 else { return }
      self.blocks.store(blocks, ordering: .relaxed)
      // SAFETY: only where they are is taken.
      unsafe self.sets.store(UInt(bitPattern: sets.base), ordering: .releasing)
    }

    /// Asks the processor to fetch what is known of a set.
    @inline(__always)
    func prefetch(set: Int) {
      let start = sets.load(ordering: .relaxed) &+ UInt(set * 128)
      SystemMemory.prefetch(start)
      SystemMemory.prefetch(start &+ 64)
    }

    /// Where a block begins, if it is in its set: not to be read there.
    @inline(__always)
    func block(_ tag: UInt64, in set: Int) -> UInt? {
      // SAFETY: the sets were initialised before they were noted, and last as long as this; their number doesn't change.
      guard let base = unsafe UnsafePointer<CacheSet>(bitPattern: sets.load(ordering: .acquiring)),
        let way = unsafe CacheSet.way(of: tag, among: (base + set).pointee.tags)
      else { return nil }
      return blocks.load(ordering: .relaxed)
        &+ UInt((set * wayCount + way) * BlockCache.blockByteCount)
    }
  }
}
