// Which blocks the cache holds, and what is known of them: decision 0057.

import NotelogBase
import Synchronization

/// Sets of eight slots, any of which may hold a block whose hash leads to the set.
///
/// What a reader has to know of a set takes two cache lines side by side, which processors fetch together.
/// Tags and marks are atomic: they are read by whoever holds the shard's lock, and by whoever only wants
/// something fetched, who doesn't.
@safe struct CacheSets: ~Copyable {
  static let wayCount = 8

  /// What is known of a slot's block, beside its tag.
  ///
  /// The share is what the segment's salt contributes to the checksums of its frames.
  typealias Content = (saltShare: UInt32, byteCount: UInt16)

  private struct Slot: ~Copyable {
    var content: Content
    /// Whether the block was used since the shard's hand passed it.
    let isUsed: Atomic<Bool>
  }

  private struct CacheSet: ~Copyable {
    /// Which block each slot holds; 0 is none, as there is no segment 0.
    let tags: InlineArray<8, Atomic<UInt64>>
    var slots: InlineArray<8, Slot>
  }

  /// How many sets there are; none where the system refused.
  let count: Int
  private let memory: PageStore
  private let base: UnsafeMutablePointer<CacheSet>?

  init(count: Int) {
    precondition(MemoryLayout<CacheSet>.stride == 128, "a set takes two cache lines")
    memory = PageStore(byteCount: count * 128, isFilled: true)
    self.count = memory.byteCount > 0 ? count : 0
    // SAFETY: fresh pages are zero, which is what an empty set is; the memory is this value's alone.
    unsafe base = memory.base?.bindMemory(to: CacheSet.self, capacity: count)
  }

  @inline(__always)
  private func pointer(_ slot: Int) -> (set: UnsafeMutablePointer<CacheSet>, way: Int) {
    guard let base = unsafe base, slot >= 0, slot < count * Self.wayCount else {
      preconditionFailure("a slot is one of the cache's")
    }
    // SAFETY: the bounds were checked; every set is initialised, here and below.
    return unsafe (base + slot / Self.wayCount, slot % Self.wayCount)
  }

  /// The slot of a set that holds a block.
  @inline(__always)
  func slot(of tag: UInt64, in set: Int) -> Int? {
    // SAFETY: as above.
    let pointer = unsafe pointer(set * Self.wayCount).set
    // What is known of the slots comes while tags are compared.
    SystemMemory.prefetch(UInt(bitPattern: pointer) &+ 64)
    // All of them are looked at: where in its set a block lies, the processor can't foresee, and it loses
    // more by a wrong guess than by looking.
    var found: UInt = 0
    for way in 0..<8 {
      found |= unsafe (pointer.pointee.tags[way].load(ordering: .relaxed) == tag ? 1 : 0) &<< UInt(way)
    }
    return found == 0 ? nil : set * Self.wayCount + found.trailingZeroBitCount
  }

  /// Asks the processor to fetch what is known of a set.
  @inline(__always)
  func prefetch(_ set: Int) {
    // SAFETY: only where it is, is taken.
    let start = unsafe UInt(bitPattern: pointer(set * Self.wayCount).set)
    SystemMemory.prefetch(start)
    SystemMemory.prefetch(start &+ 64)
  }

  /// The block that a slot holds; 0 is none.
  func tag(_ slot: Int) -> UInt64 {
    // SAFETY: as above.
    let (set, way) = unsafe pointer(slot)
    return unsafe set.pointee.tags[way].load(ordering: .relaxed)
  }

  @inline(__always)
  func content(_ slot: Int) -> Content {
    // SAFETY: as above.
    let (set, way) = unsafe pointer(slot)
    return unsafe set.pointee.slots[way].content
  }

  /// Notes that a block was used. Where that is known already, it's only looked at: threads that read the
  /// same blocks don't take the line away from each other.
  @inline(__always)
  func markUsed(_ slot: Int) {
    // SAFETY: as above.
    let (set, way) = unsafe pointer(slot)
    if unsafe !set.pointee.slots[way].isUsed.load(ordering: .relaxed) {
      unsafe set.pointee.slots[way].isUsed.store(true, ordering: .relaxed)
    }
  }

  /// Takes the mark back.
  ///
  /// - Returns: Whether it was set.
  func takeMark(_ slot: Int) -> Bool {
    // SAFETY: as above.
    let (set, way) = unsafe pointer(slot)
    return unsafe set.pointee.slots[way].isUsed.exchange(false, ordering: .relaxed)
  }

  /// Puts a block into a slot, or none where the tag is 0. The caller alone may change the set.
  func fill(_ slot: Int, _ tag: UInt64, _ content: Content) {
    // SAFETY: as above.
    let (set, way) = unsafe pointer(slot)
    unsafe set.pointee.slots[way].content = content
    unsafe set.pointee.tags[way].store(tag, ordering: .relaxed)
  }
}

// SAFETY: the memory has one owner, the value, which can't be copied; tags and marks are atomic, and what
// isn't, is changed by whoever holds all of the shard's lock.
extension CacheSets: @unchecked Sendable {}
