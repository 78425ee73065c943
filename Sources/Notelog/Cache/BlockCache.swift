// Blocks of segments kept in memory, sealed as they are on disk: they spare system calls.

import NotelogFormat
import NotelogBase
import Synchronization

/// A cache of a fixed size. Segment numbers are never used again, and what of a segment is settled never
/// changes, so a block that is in it is right for as long as it is there; blocks of segments that are gone
/// are pushed out by others.
///
/// A block may lie in any slot of one set. The slot that makes room is the first, from its shard's hand on,
/// that was not used since the hand last passed it.
final class BlockCache: Sendable {
  static let blockByteCount = 16 << 10

  private static let shardCount = 16
  /// How many misses bring nothing in, before the first that does.
  private static let coldMissCount = 2

  /// What is counted in a shard; its lock guards the shard's sets and blocks too.
  private struct Shard: ~Copyable, Sendable {
    var hand = 0
    var occupiedCount = 0
    let missCount = Atomic<Int>(0)
  }

  private let shards = InlineArray<16, ReadMostly<Shard>> { _ in ReadMostly(Shard()) }
  /// The sets of all shards, one shard's behind another's, and their blocks.
  private let sets: CacheSets
  let blocks: PageStore
  /// In each shard.
  private let setCount: Int
  /// What footers list, in an eighth as much memory again.
  let lists: FrameLists

  /// A cache of at most that many bytes; of none, it holds nothing.
  ///
  /// Blocks lie anywhere in it. In one that is larger than the store each would take a large page, 128 times
  /// its size.
  ///
  /// - Parameters:
  ///   - byteCount: How many bytes.
  ///   - storedByteCount: How many the store has.
  init(byteCount: Int, storedByteCount: Int = 0) {
    lists = FrameLists(byteCount: byteCount / 8)
    let setCount = byteCount / Self.blockByteCount / CacheSets.wayCount / Self.shardCount
    let slotCount = setCount * Self.shardCount * CacheSets.wayCount
    blocks = PageStore(
      byteCount: slotCount * Self.blockByteCount, isFilled: storedByteCount >= byteCount)
    // Where the system has no memory for blocks, there are none.
    sets = CacheSets(count: blocks.byteCount > 0 ? setCount * Self.shardCount : 0)
    self.setCount = sets.count / Self.shardCount
  }

  /// Where a block is looked for.
  private typealias Key = (tag: UInt64, shard: Int, set: Int)

  @inline(__always)
  private func key(_ segment: UInt32, _ offset: Int) -> Key {
    // 0 is the tag of an empty slot.
    precondition(segment != 0, "no segment has the number 0")
    let tag = UInt64(segment) << 32 | UInt64(offset / Self.blockByteCount)
    let mixed = tag &* 0x9E37_79B9_7F4A_7C15
    let hash = mixed ^ mixed >> 32
    let shard = Int(hash & 15)
    // Which of so many sets: by the upper bits, without a division.
    let set = Int((hash & ~15).multipliedFullWidth(by: UInt64(setCount)).high)
    return (tag, shard, shard * setCount + set)
  }

  /// The slot that holds a block. The caller has the shard's lock.
  @inline(__always)
  private func slot(of key: Key) -> Int? {
    guard setCount > 0, let slot = sets.slot(of: key.tag, in: key.set) else { return nil }
    sets.markUsed(slot)
    return slot
  }

  /// Where a slot's bytes lie. The caller has the shard's lock.
  @inline(__always)
  private func slotRange(_ slot: Int) -> Range<Int> {
    let start = slot * Self.blockByteCount
    return start..<start + Int(sets.content(slot).byteCount)
  }

  /// Appends what is read at first of the frame at an offset, or what is there of that, which may be nothing.
  ///
  /// - Returns: Its segment's salt, as far as checksums need it, where all of that is there.
  func appendFrame(_ segment: UInt32, at offset: Int, to buffer: inout Buffer) -> SegmentSalt? {
    let key = key(segment, offset)
    // What the frame's first block has of it, and how many bytes are in the blocks behind it.
    let found = shards[key.shard].read { _ -> (salt: SegmentSalt, missingByteCount: Int)? in
      guard let slot = slot(of: key) else { return nil }
      let start = offset % Self.blockByteCount
      // All lines of it at once: its length is not known yet, and waiting for one line after the other takes
      // longer.
      prefetch(slot, from: start)
      return blocks.withBytes(slotRange(slot)) { block in
        let available = block.byteCount - start
        guard available >= Layout.frameHeaderByteCount else { return nil }
        // Nothing of it has been checked yet; it only says how much to copy, within what a record may have.
        let payloadByteCount = Int(block.load(UInt32.self, at: start + 4))
        guard payloadByteCount <= FrameKind.record.maximumPayloadByteCount else { return nil }
        let wanted = ReadBuffer.firstByteCount(
          ofFrame: aligned(Layout.frameHeaderByteCount + payloadByteCount))
        buffer.append(block.extracting(start..<start + min(available, wanted)))
        return (SegmentSalt(share: sets.content(slot).saltShare), max(wanted - available, 0))
      }
    }
    guard let found else { return nil }
    if found.missingByteCount == 0 { return found.salt }
    let next = offset - offset % Self.blockByteCount + Self.blockByteCount
    let count = append(segment, next..<next + found.missingByteCount, to: &buffer)
    return count == found.missingByteCount ? found.salt : nil
  }

  /// Appends bytes of a segment, up to the first block that is not there or does not have them all.
  ///
  /// - Returns: How many.
  func append(_ segment: UInt32, _ range: Range<Int>, to buffer: inout Buffer) -> Int {
    var next = range.lowerBound
    while next < range.upperBound {
      let start = next % Self.blockByteCount
      let end = min(Self.blockByteCount, start + range.upperBound - next)
      let key = key(segment, next)
      let isThere = shards[key.shard].read { _ in
        guard let slot = slot(of: key), sets.content(slot).byteCount >= end else { return false }
        blocks.withBytes(slotRange(slot)) { buffer.append($0.extracting(start..<end)) }
        return true
      }
      guard isThere else { break }
      next += end - start
    }
    return next - range.lowerBound
  }

  /// Copies bytes that lie within one block.
  ///
  /// - Returns: Whether the block is there and has them all.
  func copy(_ segment: UInt32, at offset: Int, into bytes: inout MutableRawSpan) -> Bool {
    let key = key(segment, offset)
    let start = offset % Self.blockByteCount
    return shards[key.shard].read { _ in
      let end = start + bytes.byteCount
      guard let slot = slot(of: key), sets.content(slot).byteCount >= end else { return false }
      blocks.withBytes(slotRange(slot)) { bytes.copy($0.extracting(start..<end)) }
      return true
    }
  }

  /// Asks the processor to fetch what says whether the block at an offset is here.
  func prefetchSet(_ segment: UInt32, at offset: Int) {
    if setCount > 0 { sets.prefetch(key(segment, offset).set) }
  }

  /// Asks the processor to fetch the frame at an offset, as much of it as most have, if its block is here.
  /// Who only wants it fetched takes no lock: where its block has just given way to another, that is fetched
  /// in vain.
  func prefetch(_ segment: UInt32, at offset: Int) {
    if let slot = slotAhead(segment, at: offset) { prefetch(slot, from: offset % Self.blockByteCount) }
  }

  /// The slot of the block at an offset, as far as can be told without a lock.
  @inline(__always)
  func slotAhead(_ segment: UInt32, at offset: Int) -> Int? {
    guard setCount > 0 else { return nil }
    let key = key(segment, offset)
    return sets.slot(of: key.tag, in: key.set)
  }

  /// How much most records take, which is asked of memory before it is known how much it is.
  private static let usualByteCount = 640

  @inline(__always)
  private func prefetch(_ slot: Int, from start: Int) {
    SystemMemory.prefetch(
      blocks.address &+ UInt(slot * Self.blockByteCount + start),
      min(Self.usualByteCount, Self.blockByteCount - start))
  }

  /// Whether whoever missed a block is asked to read the whole of it and leave it here, or to read only what
  /// is needed.
  ///
  /// Once the shard is full, one miss in sixteen brings its block in. A working set that fits is in soon; one
  /// that doesn't fit does not pay, at every read, for a block that nobody comes back to.
  ///
  /// The first few misses of all are no reason yet: a store that was opened for a record or two need not
  /// clear memory for blocks that nobody will ask for.
  func wantsMissing(_ segment: UInt32, at offset: Int) -> Bool {
    guard setCount > 0 else { return false }
    return shards[key(segment, offset).shard].read { shard in
      let missCount = shard.missCount.wrappingAdd(1, ordering: .relaxed).newValue
      if missCount <= Self.coldMissCount { return false }
      return shard.occupiedCount < setCount * CacheSets.wayCount * 7 / 8 || missCount % 16 == 0
    }
  }

  /// Keeps a block: the whole of it, or what is left of the segment where it begins.
  func keep(_ block: RawSpan, of segment: UInt32, _ salt: SegmentSalt, at offset: Int) {
    precondition(
      offset % Self.blockByteCount == 0 && block.byteCount <= Self.blockByteCount, "a block is kept whole")
    let key = key(segment, offset)
    shards[key.shard].change { shard in
      guard setCount > 0, slot(of: key) == nil else { return }
      var slot: Int
      repeat {
        slot = key.set * CacheSets.wayCount + shard.hand
        shard.hand = (shard.hand + 1) % CacheSets.wayCount
      } while sets.tag(slot) != 0 && sets.takeMark(slot)
      if sets.tag(slot) == 0 { shard.occupiedCount += 1 }
      sets.fill(slot, key.tag, (salt.share, UInt16(block.byteCount)))
      sets.markUsed(slot)
      blocks.copy(block, at: slot * Self.blockByteCount)
    }
  }

  /// Makes room of the blocks of a segment that is gone: hardly anybody will ask for them.
  func forget(_ segment: UInt32) {
    lists.forget(segment)
    let slotCount = setCount * CacheSets.wayCount
    for number in shards.indices {
      shards[number].change { shard in
        for slot in number * slotCount..<(number + 1) * slotCount where sets.tag(slot) >> 32 == segment {
          sets.fill(slot, 0, (0, 0))
          shard.occupiedCount -= 1
        }
      }
    }
  }
}
