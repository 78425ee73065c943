// Blocks of segments kept in memory, sealed as they are on disk: they spare system calls.

import NotelogFormat
import NotelogBase

/// A cache of a fixed size. Segment numbers are never used again, and what of a segment is settled never changes, so a
/// block that is in it is right for as long as it is there; blocks of segments that are gone are pushed out by others.
package final class BlockCache: Sendable {
  static let blockByteCount = 16 << 10
  private static let shardCount = 16

  private let shards: InlineArray<16, ReadMostly<CacheShard>>
  private let outlines = InlineArray<16, CacheSets.Outline> { _ in CacheSets.Outline() }
  /// In each shard.
  private let setCount: Int
  /// What footers list, in an eighth as much memory again.
  let lists: FrameLists

  /// A cache of at most that many bytes; of none, it holds nothing.
  init(byteCount: Int) {
    lists = FrameLists(byteCount: byteCount / 8)
    let setCount = byteCount / Self.blockByteCount / CacheSets.wayCount / Self.shardCount
    self.setCount = setCount
    shards = InlineArray { _ in ReadMostly(CacheShard(setCount: setCount)) }
  }

  /// Appends the frame at an offset as far as one reaches, or what is there of it, which may be nothing.
  ///
  /// - Returns: Its segment's salt, as far as checksums need it, where all of that is there.
  func appendFrame(
    _ segment: UInt32, at offset: Int, _ extent: ReadExtent, to buffer: inout Buffer
  ) -> SegmentSalt? {
    guard let start = appendFrameStart(segment, at: offset, extent, to: &buffer) else {
      return nil
    }
    if start.missingByteCount == 0 { return start.salt }
    let next = offset - offset % Self.blockByteCount + Self.blockByteCount
    let isThere =
      append(segment, next..<next + start.missingByteCount, to: &buffer) == start.missingByteCount
    return isThere ? start.salt : nil
  }

  /// Appends what the frame's first block has of it.
  ///
  /// - Returns: How many bytes are in the blocks behind it; nothing where even its length is not known.
  @inline(__always)
  private func appendFrameStart(
    _ segment: UInt32, at offset: Int, _ extent: ReadExtent, to buffer: inout Buffer
  ) -> (salt: SegmentSalt, missingByteCount: Int)? {
    let tag = Self.tag(segment, offset)
    let hash = Self.hash(tag)
    return shards[Int(hash & 15)].read { shard in
      guard let slot = shard.find(tag, hash >> 4) else { return nil }
      let start = offset % Self.blockByteCount
      // All lines of it at once: its length is not known yet, and waiting for one line after the other takes longer.
      shard.prefetch(slot, from: start, ReadExtent.usualByteCount)
      let block = shard.block(slot)
      let available = block.byteCount - start
      guard available >= Layout.frameHeaderByteCount else { return nil }
      // Nothing of it has been checked yet; it only says how much to copy, within what a record may have.
      let payloadByteCount = Int(block.load(UInt32.self, at: start + 4))
      guard payloadByteCount <= Limits.maximumRecordByteCount else { return nil }
      let wanted = extent.part(of: aligned(Layout.frameHeaderByteCount + payloadByteCount))
      buffer.append(block.extracting(start..<start + min(available, wanted)))
      return (shard.salt(slot), max(wanted - available, 0))
    }
  }

  /// Appends bytes of a segment, up to the first block that is not there or does not have them all.
  ///
  /// - Returns: How many.
  func append(_ segment: UInt32, _ range: Range<Int>, to buffer: inout Buffer) -> Int {
    var next = range.lowerBound
    while next < range.upperBound {
      let start = next % Self.blockByteCount
      let end = min(Self.blockByteCount, start + range.upperBound - next)
      let tag = Self.tag(segment, next)
      let hash = Self.hash(tag)
      let isThere = shards[Int(hash & 15)].read { shard in
        guard let slot = shard.find(tag, hash >> 4) else { return false }
        let block = shard.block(slot)
        guard block.byteCount >= end else { return false }
        buffer.append(block.extracting(start..<end))
        return true
      }
      guard isThere else { break }
      next += end - start
    }
    return next - range.lowerBound
  }

  /// Whether whoever missed a block is asked to read the whole of it and leave it here, or to read only what is needed.
  func wantsMissing(_ segment: UInt32, at offset: Int) -> Bool {
    let hash = Self.hash(Self.tag(segment, offset))
    return shards[Int(hash & 15)].read { $0.wantsMissing() }
  }

  /// Copies bytes that lie within one block.
  ///
  /// - Returns: Whether the block is there and has them all.
  @_lifetime(bytes: copy bytes)
  func copy(_ segment: UInt32, at offset: Int, into bytes: inout MutableRawSpan) -> Bool {
    let tag = Self.tag(segment, offset)
    let hash = Self.hash(tag)
    let start = offset % Self.blockByteCount
    return shards[Int(hash & 15)].read { shard in
      guard let slot = shard.find(tag, hash >> 4) else { return false }
      let block = shard.block(slot)
      guard start + bytes.byteCount <= block.byteCount else { return false }
      bytes.copy(block.extracting(start..<start + bytes.byteCount), at: 0)
      return true
    }
  }

  /// Asks the processor to fetch what says whether the block at an offset is here.
  func prefetchSet(_ segment: UInt32, at offset: Int) {
    let hash = Self.hash(Self.tag(segment, offset))
    outlines[Int(hash & 15)].prefetch(set: CacheShard.set(of: hash >> 4, setCount))
  }

  /// Asks the processor to fetch the frame at an offset, as much of it as most have, if its block is here.
  func prefetch(_ segment: UInt32, at offset: Int) {
    guard let block = blockAddress(segment, at: offset) else { return }
    let start = offset % Self.blockByteCount
    SystemMemory.prefetch(
      block &+ UInt(start), min(ReadExtent.usualByteCount, Self.blockByteCount - start))
  }

  /// Where in memory the block at an offset begins, as far as can be told without a lock.
  @inline(__always)
  func blockAddress(_ segment: UInt32, at offset: Int) -> UInt? {
    let tag = Self.tag(segment, offset)
    let hash = Self.hash(tag)
    return outlines[Int(hash & 15)].block(tag, in: CacheShard.set(of: hash >> 4, setCount))
  }

  /// Keeps a block: the whole of it, or what is left of the segment where it begins.
  func keep(_ block: RawSpan, of segment: UInt32, _ salt: SegmentSalt, at offset: Int) {
    precondition(
      offset % Self.blockByteCount == 0 && block.byteCount <= Self.blockByteCount, "a block is kept whole")
    let tag = Self.tag(segment, offset)
    let hash = Self.hash(tag)
    let number = Int(hash & 15)
    shards[number].change { shard in
      shard.keep(block, salt, tag, hash >> 4)
      outlines[number].note(shard.sets, blocks: shard.store.address)
    }
  }

  /// Makes room of the blocks of a segment that is gone: hardly anybody will ask for them.
  func forget(_ segment: UInt32) {
    lists.forget(segment)
    for number in shards.indices { shards[number].change { $0.forget { tag in tag >> 32 == segment } } }
  }

  private static func tag(_ segment: UInt32, _ offset: Int) -> UInt64 {
    // 0 is the tag of an empty slot.
    precondition(segment != 0, "no segment has the number 0")
    return UInt64(segment) << 32 | UInt64(offset / blockByteCount)
  }

  private static func hash(_ tag: UInt64) -> UInt64 {
    let mixed = tag &* 0x9E37_79B9_7F4A_7C15
    return mixed ^ mixed >> 32
  }
}
