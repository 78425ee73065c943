// Blocks of finished segments kept in memory, sealed as they are on disk: they spare system calls.

import NotelogConcurrency

/// A cache of a fixed size. Segment numbers are never used again and finished segments never change, so a block that is
/// in it is right for as long as it is there; blocks of segments that are gone are pushed out by others.
final class BlockCache: Sendable {
  static let blockByteCount = 16 << 10
  private static let shardCount = 16

  private let shards: InlineArray<16, Lock<CacheShard>>

  /// A cache of at most that many bytes; of none, it holds nothing.
  init(byteCount: Int) {
    let setCount = byteCount / Self.blockByteCount / CacheShard.wayCount / Self.shardCount
    shards = InlineArray { _ in Lock(CacheShard(setCount: setCount)) }
  }

  /// What looking for bytes gave.
  enum Lookup {
    case found
    /// Not there. Whoever reads the whole block is asked to leave it here, or to read only what is needed.
    case missing(isWanted: Bool)
  }

  /// Appends what the block has of the frame at an offset: all of it, unless it goes on in the next block.
  func appendFrame(_ segment: UInt32, at offset: Int, to buffer: inout Buffer) -> Lookup {
    let tag = Self.tag(segment, offset)
    let hash = Self.hash(tag)
    return shards[Int(hash & 15)].withLock { shard in
      guard let slot = shard.find(tag, hash >> 4) else { return .missing(isWanted: shard.wantsMissing()) }
      let start = offset % Self.blockByteCount
      // All lines of it at once: its length is not known yet, and waiting for one line after the other takes longer.
      shard.prefetch(slot, from: start)
      let block = shard.block(slot)
      let available = block.byteCount - start
      var wanted = available
      if available >= Layout.frameHeaderByteCount {
        // Nothing of it has been checked yet; it only says how much to copy.
        let payloadByteCount = Int(block.load(UInt32.self, at: start + 4))
        wanted = min(available, aligned(Layout.frameHeaderByteCount + payloadByteCount))
      }
      buffer.append(block.extracting(start..<start + wanted))
      return .found
    }
  }

  /// Copies bytes that lie within one block.
  ///
  /// - Returns: Whether the block is there and has them all.
  @_lifetime(bytes: copy bytes)
  func copy(_ segment: UInt32, at offset: Int, into bytes: inout MutableRawSpan) -> Bool {
    let tag = Self.tag(segment, offset)
    let hash = Self.hash(tag)
    let start = offset % Self.blockByteCount
    guard start + bytes.byteCount <= Self.blockByteCount else { return false }
    return shards[Int(hash & 15)].withLock { shard in
      guard let slot = shard.find(tag, hash >> 4) else { return false }
      bytes.copy(shard.block(slot).extracting(start..<start + bytes.byteCount), at: 0)
      return true
    }
  }

  /// Asks the processor to fetch the frame at an offset, if its block is there.
  func prefetch(_ segment: UInt32, at offset: Int) {
    let tag = Self.tag(segment, offset)
    let hash = Self.hash(tag)
    shards[Int(hash & 15)].withLock { shard in
      guard let slot = shard.find(tag, hash >> 4) else { return }
      shard.prefetch(slot, from: offset % Self.blockByteCount)
    }
  }

  /// Keeps a block: the whole of it, or what is left of the segment where it begins.
  func keep(_ block: RawSpan, of segment: UInt32, at offset: Int) {
    precondition(
      offset % Self.blockByteCount == 0 && block.byteCount <= Self.blockByteCount, "a block is kept whole")
    let tag = Self.tag(segment, offset)
    let hash = Self.hash(tag)
    shards[Int(hash & 15)].withLock { $0.keep(block, tag, hash >> 4) }
  }

  private static func tag(_ segment: UInt32, _ offset: Int) -> UInt64 {
    UInt64(segment) << 32 | UInt64(offset / blockByteCount)
  }

  private static func hash(_ tag: UInt64) -> UInt64 {
    let mixed = tag &* 0x9E37_79B9_7F4A_7C15
    return mixed ^ mixed >> 32
  }
}
