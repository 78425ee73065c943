// Footers kept in memory for updates: they say what the frames say, and take no more memory than they may.

@testable import Notelog
@testable import NotelogFormat
@testable import NotelogStorage
import NotelogBase
import NotelogTestSupport
import Synchronization
import Testing

@Suite struct FrameListTests {
  /// A store of several segments: records with and without envelopes, deletions and chunks.
  private func filled(_ storage: any Storage, cacheByteCount: Int = 1 << 20) throws -> Journal {
    var options = JournalOptions.small
    options.cacheByteCount = cacheByteCount
    let journal = try Journal.create(in: storage, storeID: key(99), options: options)
    var batch = Batch()
    for number in 0..<300 {
      batch.removeAll()
      let envelope = WrittenEnvelope(sortKeys: [
        .init(field: 1, bytes: [UInt8](repeating: 2, count: number % 40))
      ])
      batch.put(
        key(number), collection: 7, envelope: number % 3 == 0 ? envelope : nil, bodyByteCount: number % 400
      ) { _ in }
      if number % 10 == 9 { batch.delete(key(number - 5), collection: 7) }
      if number % 20 == 19 {
        batch.putChunk(ChunkMark(0, isLast: true), of: key(1000 + number), sealedByteCount: 100) { _ in }
      }
      try journal.commit(&batch, .flushed)
    }
    return journal
  }

  private func finished(_ journal: Journal) -> [Segment] {
    journal.catalog.segments.all.filter { $0.entry != nil }
  }

  @Test func `a list says what the footer says, and nothing of other places`() throws {
    let journal = try filled(SimulatedDisk())
    var kinds: Set<FrameKind> = []
    for segment in finished(journal) {
      let trailer = try #require(try segment.trailer())
      let list = try #require(try FrameList(segment, trailer))
      var listed: [Int: FooterEntry] = [:]
      try segment.forEachEntry(upTo: .max) { entry, _ in listed[entry.offset] = entry }
      kinds.formUnion(listed.values.map(\.kind))
      for offset in stride(from: 0, to: segment.byteCount + 64, by: 8) {
        try #require(list.entry(at: offset) == listed[offset])
      }
    }
    #expect(kinds == [.record, .tombstone, .chunk])
    #expect(finished(journal).count > 3)
    try journal.close()
  }

  /// What an update replaces is asked of a list as soon as a segment was asked often enough.
  @Test func `updates read one footer instead of many headers`() throws {
    func reads(cacheByteCount: Int) throws -> Int {
      let disk = SimulatedDisk()
      let journal = try filled(disk, cacheByteCount: cacheByteCount)
      let count = Atomic<Int>(0)
      disk.afterEachCall { call, _ in if call == .read { count.add(1, ordering: .relaxed) } }
      for number in 0..<300 { try journal.put(key(number), [1]) }
      disk.afterEachCall(nil)
      for number in 0..<300 { #expect(try journal.body(of: key(number)) == [1]) }
      try journal.close()
      #expect(try Journal.verify(disk).report.damages == [])
      return count.load(ordering: .relaxed)
    }
    let without = try reads(cacheByteCount: 0)
    // Eight headers of a segment, its trailer and its footer in some pieces, where there were twenty to
    // sixty.
    #expect(try reads(cacheByteCount: 1 << 20) < without * 2 / 3)
  }

  @Test func `lists take no more memory than they may, and give it back with their segments`() throws {
    let journal = try filled(SimulatedDisk(), cacheByteCount: 64 << 10)
    let lists = journal.catalog.cache.lists
    var largest = 0
    for number in 0..<300 {
      try journal.put(key(number), [1])
      largest = max(largest, lists.byteCount)
    }
    #expect(largest > 0 && largest <= 8 << 10)
    _ = try journal.compact()
    #expect(lists.byteCount == 0)
    try journal.close()
  }

  @Test func `a list for which there is no room is not read, and takes nobody's place`() throws {
    let journal = try filled(SimulatedDisk())
    let segments = Array(finished(journal).prefix(2))
    let byteCounts = try segments.map { FrameList.byteCount(of: try #require(try $0.trailer())) }
    let lists = FrameLists(byteCount: (byteCounts.max() ?? 0) + 8)
    for segment in segments {
      for _ in 0..<100 { _ = lists.entry(at: Layout.firstFrameOffset, in: segment) }
      #expect(lists.byteCount == byteCounts[0])
    }
    #expect(lists.entry(at: Layout.firstFrameOffset, in: segments[1]) == nil)
    lists.forget(segments[0].number)
    #expect(lists.byteCount == 0)
    try journal.close()
  }

  /// Eight headers are read sooner than the footer of a thousand frames.
  @Test func `the longer a segment is, the more often it is asked before its footer is read`() throws {
    var options = JournalOptions.small
    options.segmentByteCount = 128 << 10
    let journal = try Journal.create(in: SimulatedDisk(), storeID: key(99), options: options)
    var batch = Batch()
    for number in 0..<3000 { batch.put(key(number), collection: 1, bodyByteCount: 0) { _ in } }
    try journal.commit(&batch, .flushed)
    try journal.put(key(1), [UInt8](repeating: 1, count: 100_000))
    let segment = try #require(finished(journal).first)
    let limit = FrameLists.missLimit(of: segment)
    #expect(limit > 8)
    let lists = FrameLists(byteCount: 1 << 20)
    for _ in 1..<limit { _ = lists.entry(at: Layout.firstFrameOffset, in: segment) }
    #expect(lists.byteCount == 0)
    _ = lists.entry(at: Layout.firstFrameOffset, in: segment)
    #expect(lists.byteCount > 0)
    try journal.close()
  }

  /// The second segment of a store whose footer `forge` has changed, as an opening finds it.
  private func forged(_ forge: (inout ForgedFile) -> Void) throws -> (journal: Journal, segment: Segment) {
    let disk = SimulatedDisk()
    try filled(disk).close()
    var file = try ForgedFile(FileName.segment(2), on: disk)
    forge(&file)
    disk.replace(file.name, with: file.bytes)
    var options = JournalOptions.small
    options.cacheByteCount = 1 << 20
    let journal = try Journal.open(in: disk, options: options)
    return (journal, try #require(journal.catalog.segments[2]))
  }

  @Test func `a footer that does not check is no list`() throws {
    let (journal, segment) = try forged { $0.bytes[$0.footer + 40 + 520 + 32] ^= 1 }
    let lists = FrameLists(byteCount: 1 << 20)
    for _ in 0..<100 { _ = lists.entry(at: Layout.firstFrameOffset, in: segment) }
    #expect(lists.byteCount == 0)
    for number in 0..<300 { try journal.put(key(number), [1]) }
    for number in 0..<300 { #expect(try journal.body(of: key(number)) == [1]) }
    try journal.close()
  }

  /// Its checksums fit: memory is not to be taken for what it says.
  @Test func `a frame listed behind the footer is none`() throws {
    let (near, far) = (0x1_0000, 0x7FFF_0000)
    for offset in [near, far] {
      let (journal, segment) = try forged { file in
        let place = file.footer + 40 + 520 + 8
        file.set(file.integer(place, 4) & 0xF000_0000 | UInt64(offset / 8), at: place, count: 4)
        file.sealFooter()
      }
      // The live set speaks of another footer; whoever forged that too comes as far as this.
      #expect(try segment.trailer() == nil)
      let byteCount = try segment.file.byteCount()
      var reader = SegmentReader(segment.file, salt: segment.salt, end: byteCount)
      let end = byteCount - Layout.trailerByteCount..<byteCount
      let trailer = try #require(Trailer(try reader.bytes(end), at: 0))
      let list = try #require(try FrameList(segment, trailer))
      #expect(list.entry(at: offset) == nil)
      try journal.close()
    }
  }
}
