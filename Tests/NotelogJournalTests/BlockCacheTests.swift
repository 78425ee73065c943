// The block cache: what it holds is what the file holds, and it holds no more than it may.

@testable import NotelogStorage
@testable import NotelogBase
@testable import NotelogFormat
import Foundation
import NotelogTestSupport
@testable import Notelog
import Testing

@Suite struct BlockCacheTests {
  /// A body that can be recognised; some are longer than a block.
  private func body(_ number: Int) -> [UInt8] {
    [UInt8](count: number % 50 == 0 ? 40_000 : 600, from: number &* 31, by: 7)
  }

  @Test(arguments: [0, 2 << 20, 64 << 20])
  func `records are read the same through any cache`(cacheByteCount: Int) throws {
    let store = try TemporaryStore()
    var options = JournalOptions()
    options.segmentByteCount = 300_000
    options.cacheByteCount = cacheByteCount
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: options)
    for number in 0..<4000 { try journal.put(key(number), body(number), .buffered) }
    for _ in 0..<3 {
      for number in (0..<4000).shuffled() where try journal.body(of: key(number)) != body(number) {
        Issue.record("record \(number) reads differently")
      }
    }
    try journal.close()
  }

  /// Two, three and five sets a shard.
  @Test(arguments: [4, 6, 10])
  func `a cache keeps blocks within its size, and gives them back whole`(mebibyteCount: Int) {
    let cache = BlockCache(byteCount: mebibyteCount << 20)
    var block = Buffer()
    var kept = 0
    for number in 0..<2000 {
      block.removeAll()
      block.appendZeros(BlockCache.blockByteCount)
      var bytes = block.mutableBytes
      bytes.store(UInt32(number), at: 4096)
      cache.keep(block.bytes, of: 7, SegmentSalt(7), at: number * BlockCache.blockByteCount)
    }
    for number in 0..<2000 {
      let found = withScratch { bytes in
        cache.copy(7, at: number * BlockCache.blockByteCount + 4096, into: &bytes)
          ? bytes.bytes.load(UInt32.self, at: 0) : nil
      }
      guard let found else { continue }
      kept += 1
      #expect(found == UInt32(number))
    }
    let slotCount = 64 * mebibyteCount
    #expect(kept <= slotCount)
    #expect(kept >= slotCount * 3 / 4)
  }

  @Test func `what is fetched ahead is where it is read, and nothing of what is gone`() {
    let cache = BlockCache(byteCount: 4 << 20)
    #expect(cache.blockAddress(7, at: 0) == nil)
    var block = Buffer()
    block.appendZeros(BlockCache.blockByteCount)
    func content(_ segment: UInt32, _ number: Int) -> UInt64 { UInt64(segment) << 32 | UInt64(number) }
    for number in 0..<100 {
      for segment in [7, 9] as [UInt32] {
        var bytes = block.mutableBytes
        bytes.store(content(segment, number), at: 0)
        cache.keep(block.bytes, of: segment, SegmentSalt(7), at: number * BlockCache.blockByteCount)
      }
    }
    func places(_ segment: UInt32) -> [UInt?] {
      (0..<100).map { cache.blockAddress(segment, at: $0 * BlockCache.blockByteCount + 99) }
    }
    func isThere(_ segment: UInt32) -> [Bool] {
      (0..<100).map { number in
        withScratch { cache.copy(segment, at: number * BlockCache.blockByteCount, into: &$0) }
      }
    }
    #expect(places(7).map { $0 != nil } == isThere(7) && places(9).map { $0 != nil } == isThere(9))
    #expect((places(7) + places(9)).count { $0 != nil } > 100)
    for segment in [7, 9] as [UInt32] {
      for (number, place) in places(segment).enumerated() {
        // SAFETY: nobody changes the cache meanwhile, and what is there is a block of it.
        guard let place, let start = unsafe UnsafeRawPointer(bitPattern: place) else { continue }
        #expect(unsafe start.load(as: UInt64.self) == content(segment, number))
      }
    }
    cache.forget(7)
    #expect(places(7).allSatisfy { $0 == nil } && places(9).map { $0 != nil } == isThere(9))
  }

  /// What it says, it says under a thread sanitizer.
  @Test func `blocks are fetched ahead while others come and go`() {
    let cache = BlockCache(byteCount: 2 << 20)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      var block = Buffer()
      block.appendZeros(BlockCache.blockByteCount)
      for number in 0..<2_000 {
        let offset = number % 300 * BlockCache.blockByteCount
        if thread == 0 {
          cache.keep(block.bytes, of: 7, SegmentSalt(7), at: offset)
          if number % 500 == 0 { cache.forget(7) }
        }
        cache.prefetchSet(7, at: offset)
        cache.prefetch(7, at: offset + 8 * number % BlockCache.blockByteCount)
        _ = withScratch { cache.copy(7, at: offset, into: &$0) }
      }
    }
  }

  @Test func `a block has its own segment's salt with it, whatever was in its slot before`() {
    let cache = BlockCache(byteCount: 4 << 20)
    var block = Buffer()
    // Zeros are a frame without a payload, as far as the cache looks.
    block.appendZeros(BlockCache.blockByteCount)
    for number in 1..<2000 as Range<UInt32> {
      cache.keep(block.bytes, of: number, SegmentSalt(UInt64(number)), at: 0)
    }
    var kept = 0
    var frame = Buffer()
    for number in 1..<2000 as Range<UInt32> {
      frame.removeAll()
      guard let salt = cache.appendFrame(number, at: 0, to: &frame) else { continue }
      kept += 1
      #expect(salt.share == SegmentSalt(UInt64(number)).share)
      let byteCount = frame.count
      #expect(byteCount == Layout.frameHeaderByteCount)
    }
    #expect(kept > 100 && kept <= 256)
  }

  @Test
  func `a record whose segment is gone is what it was when it was looked up, as long as its block is there`()
    throws
  {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    for number in 0..<400 { try journal.put(key(number), [UInt8](repeating: 1, count: 200)) }
    let catalog = journal.catalog
    var lookup = journal.records.begin(key(0))
    journal.records.locate(&lookup)
    let segment = try #require(catalog.segments[lookup.place.segment])
    let blockStart = lookup.place.offset - lookup.place.offset % BlockCache.blockByteCount
    var block = Buffer()
    try block.fill(
      min(BlockCache.blockByteCount, segment.byteCount - blockStart), from: segment.file, at: blockStart)
    for number in 0..<400 { try journal.put(key(number), [UInt8](repeating: 2, count: 200)) }
    _ = try journal.compact()
    #expect(catalog.segments[segment.number] == nil)
    var buffer = ReadBuffer()
    _ = try #require(try journal.records.readUnchecked(key(0), lookup, into: &buffer))
    let newest = buffer.body.array()
    #expect(newest == [UInt8](repeating: 2, count: 200))
    // Somebody who was reading it has left it there.
    catalog.cache.keep(block.bytes, of: segment.number, segment.salt, at: blockStart)
    _ = try #require(try journal.records.readUnchecked(key(0), lookup, into: &buffer))
    let older = buffer.body.array()
    #expect(older == [UInt8](repeating: 1, count: 200))
    try journal.close()
  }

  @Test func `the blocks of a segment that is gone make room for others`() {
    let cache = BlockCache(byteCount: 4 << 20)
    var block = Buffer()
    block.appendZeros(BlockCache.blockByteCount)
    for number in 0..<2000 {
      cache.keep(
        block.bytes, of: UInt32(7 + number % 2), SegmentSalt(7), at: number * BlockCache.blockByteCount)
    }
    func isThere(_ segment: UInt32) -> Bool {
      (0..<2000).contains { number in
        withScratch { cache.copy(segment, at: number * BlockCache.blockByteCount, into: &$0) }
      }
    }
    func wanted() -> Int { (0..<160).count { _ in cache.wantsMissing(9, at: 0) } }
    // One in sixteen, as the cache is full; and some more where a shard had none of the segment.
    #expect(isThere(7) && isThere(8) && wanted() < 20)
    cache.forget(7)
    #expect(!isThere(7) && isThere(8) && wanted() > 150)
  }

  @Test func `compaction makes the cache forget what it has taken the place of`() throws {
    let store = try TemporaryStore()
    var options = JournalOptions.small
    options.cacheByteCount = 4 << 20
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: options)
    for number in 0..<100 { try journal.put(key(number), body(1)) }
    for number in 0..<50 { try journal.put(key(2 * number), body(1)) }
    for _ in 0..<4 { for number in 0..<100 { _ = try journal.body(of: key(number)) } }
    func cached(_ number: UInt32) -> Bool {
      withScratch { journal.catalog.cache.copy(number, at: Layout.firstFrameOffset, into: &$0) }
    }
    let before = journal.catalog.segments.all.map(\.number).filter(cached)
    #expect(try journal.compact().removedSegments > 2)
    let after = Set(journal.catalog.segments.all.map(\.number))
    let removed = before.filter { !after.contains($0) }
    #expect(removed.count > 2)
    #expect(removed.filter(cached) == [])
    try journal.close()
  }

  /// A shard's memory is cleared when its first block comes in, two megabytes at a time.
  @Test func `a cache that the system has no memory for holds nothing`() {
    let cache = BlockCache(byteCount: 1 << 60)
    var block = Buffer()
    block.appendZeros(BlockCache.blockByteCount)
    for number in 0..<40 {
      cache.prefetchSet(7, at: number * BlockCache.blockByteCount)
      cache.keep(block.bytes, of: 7, SegmentSalt(7), at: number * BlockCache.blockByteCount)
      #expect(cache.blockAddress(7, at: number * BlockCache.blockByteCount) == nil)
      let isThere = withScratch { cache.copy(7, at: number * BlockCache.blockByteCount, into: &$0) }
      #expect(!isThere)
    }
  }

  @Test func `a cache takes no block in before it is asked for some`() {
    let cache = BlockCache(byteCount: 64 << 20)
    #expect((0..<4).map { _ in cache.wantsMissing(7, at: 0) } == [false, false, true, true])
  }

  @Test func `full blocks of the segment that is being written are kept, and its last one is not`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: JournalOptions())
    // All but the long ones: nobody asks for the blocks that lie within one of those.
    let numbers = (1..<100).filter { $0 != 50 }
    for number in numbers { try journal.put(key(number), body(number), .buffered) }
    for _ in 0..<4 {
      for number in numbers { #expect(try journal.body(of: key(number)) == body(number)) }
    }
    let settled = journal.snapshot().end.offset & ~(BlockCache.blockByteCount - 1)
    let ends = try numbers.map { number in
      try #require(try journal.catalog.location(of: key(number))).place.offset
        + aligned(Layout.frameHeaderByteCount + body(number).count)
    }
    try store.storage.open(FileName.segment(1), .update).truncate(to: Layout.firstFrameOffset)
    for (number, end) in zip(numbers, ends) {
      if end <= settled {
        #expect(try journal.body(of: key(number)) == body(number))
      } else {
        #expect(throws: NotelogError(.damaged, "")) { _ = try journal.body(of: key(number)) }
      }
    }
    #expect(ends.contains { $0 <= settled } && ends.contains { $0 > settled })
  }

  @Test func `a segment that was cut behind our back is an error, not a crash`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    for number in 0..<200 { try journal.put(key(number), body(number + 1), .buffered) }
    let file = try store.storage.open(FileName.segment(1), .update)
    try file.truncate(to: 6000)
    #expect(throws: NotelogError(.damaged, "")) {
      for number in 0..<200 { _ = try journal.body(of: key(number)) }
    }
    #expect(try journal.body(of: key(199)) == body(200))
  }
}

extension BlockCache {
  /// Where in memory the block at an offset begins, as far as can be told without a lock.
  fileprivate func blockAddress(_ segment: UInt32, at offset: Int) -> UInt? {
    slotAhead(segment, at: offset).map { blocks.address &+ UInt($0 * Self.blockByteCount) }
  }
}
