// Sorted footers: whatever becomes of them, the store says the same, and an opening need not read what they tell.
// FORMAT.md §31.

import Foundation
@testable import NotelogJournal
import NotelogTestSupport
import Synchronization
import Testing

@Suite struct SortedFooterTests {
  private static let options = KilledStore.options

  /// In large segments, entries are in groups.
  @Test(arguments: [(64, 16 << 10), (6, 16 << 10), (64, 160 << 10)])
  func `a store that was killed opens from sorted footers`(bitCount: Int, segmentByteCount: Int) throws {
    var options = Self.options
    options.fingerprintBitCount = bitCount
    options.segmentByteCount = segmentByteCount
    let scale = segmentByteCount >> 14
    let killed = try KilledStore(options, stepCount: 900 * scale, recordCount: 4000 * scale)
    let names = try killed.sortedFooters
    #expect(names.count >= 3)
    let file = try killed.store.storage.open(names[0], .read)
    #expect(try SortedFooterHead(from: file)?.groupBits == (scale > 1 ? 1 : 0))
    file.close()
    let journal = try Journal.open(in: killed.store.storage, options: options)
    #expect(journal.report.checkpoint == .used && !journal.report.wasClosed)
    // Only what recovery made has to be gone through, and what was finished since the last were sorted.
    #expect(journal.catalog.unsorted.entryCount < 500 * scale)
    try killed.check(journal)
    let counted = journal.catalog.segments.all.map(\.liveBytes)
    try journal.abandon()
    // What is counted as live is what a reading of all segments counts.
    for name in try killed.sortedFooters + ["index"] { try killed.store.storage.unlink(name) }
    let fresh = try Journal.open(in: killed.store.storage, options: options)
    #expect(fresh.report.checkpoint == .missing)
    #expect(fresh.catalog.segments.all.map(\.liveBytes) == counted)
    try killed.check(fresh)
  }

  /// What an opening reads of the segments that have a sorted footer: their headers and trailers, and no footer.
  @Test func `an opening does not read footers that are sorted`() throws {
    let killed = try KilledStore(Self.options)
    let named = try killed.sortedFooters.count
    let journal = try Journal.open(in: killed.store.storage, options: Self.options)
    let unsorted = journal.catalog.unsorted.entryCount
    try journal.abandon()
    for name in try killed.sortedFooters { try killed.store.storage.unlink(name) }
    let without = try Journal.open(in: killed.store.storage, options: Self.options)
    #expect(without.report.checkpoint == .used)
    #expect(without.catalog.unsorted.entryCount > unsorted + 50 * named)
    try killed.check(without)
  }

  /// One bit of every byte, each alone: of entries, the record that it speaks of is read. In the larger store, entries are in
  /// groups, and most of their bytes are left out.
  @Test(arguments: [1, 20]) func `a sorted footer with any byte changed changes no answer`(scale: Int) throws
  {
    var options = Self.options
    options.segmentByteCount = scale * 16 << 10
    let killed = try KilledStore(
      options, stepCount: scale == 1 ? 900 : 7000, recordCount: scale == 1 ? 4000 : 20_000, compacts: false)
    // The checkpoint lies in the first one's segment, and recovery copies the last one's.
    let name = try #require(try killed.sortedFooters.dropFirst().first)
    let path = killed.store.storage.path + "/" + name
    let sound = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    let file = try killed.store.storage.open(name, .read)
    let head = try #require(try SortedFooterHead(from: file))
    file.close()
    #expect((head.groupBits > 0) == (scale > 1))
    /// A record that the file speaks of.
    func id(at place: Int) -> RecordKey { RecordKey(sound.rawSpan, at: place / 32 * 32) }
    let entriesStart = head.firstEntryBlock * 4096
    let few = (0..<20).map { id(at: entriesStart + $0 * 5 * 32) }
    for place in sound.indices {
      let isDirectory = (4096..<4096 + head.groups.count).contains(place)
      let isPadding = sound[place] == 0 && place % 4096 < 4080 && !isDirectory
      if isPadding && place % 211 != 0 || place >= entriesStart && place % scale != 0 { continue }
      var damaged = sound
      damaged[place] ^= isDirectory ? 1 : 1 << (place % 8)
      try Data(damaged).write(to: URL(fileURLWithPath: path))
      let journal = try Journal.open(in: killed.store.storage, options: options)
      #expect(journal.report.damages == [])
      let isEntry = place >= entriesStart && place % 4096 < SortedFooterBlock.countOffset
      for id in isEntry ? [id(at: place)] : few where try journal.body(of: id) != killed.model[id] {
        Issue.record("byte \(place): \(id) reads wrongly")
      }
      try journal.abandon()
    }
    try Data(sound).write(to: URL(fileURLWithPath: path))
    try killed.check(try Journal.open(in: killed.store.storage, options: options))
  }

  @Test func `a sorted footer that was cut, emptied, or is another segment's is passed over`() throws {
    let killed = try KilledStore(Self.options)
    let names = try killed.sortedFooters
    let paths = names.map { URL(fileURLWithPath: killed.store.storage.path + "/" + $0) }
    let sound = try paths.map { try Data(contentsOf: $0) }
    for byteCount in stride(from: 0, to: sound[0].count, by: 1500) {
      for (path, content) in zip(paths, sound) { try content.prefix(byteCount).write(to: path) }
      let journal = try Journal.open(in: killed.store.storage, options: Self.options)
      #expect(journal.report.damages == [] && journal.report.checkpoint == .used)
      try killed.check(journal)
      try journal.abandon()
    }
    for (path, content) in zip(paths, sound.dropFirst() + [sound[0]]) { try content.write(to: path) }
    let journal = try Journal.open(in: killed.store.storage, options: Self.options)
    try killed.check(journal)
    try journal.abandon()
    // Right in all but the key that its fingerprints are made with.
    for (name, content) in zip(names, sound) {
      let file = try killed.store.storage.open(name, .update)
      defer { file.close() }
      try file.truncate(to: 0)
      try file.writeAll(Array(content).rawSpan, at: 0)
      let head = try #require(try SortedFooterHead(from: file))
      let other = SortedFooterHead(
        storeID: head.storeID, salt: head.salt, key: FingerprintKey(low: 1, high: head.key.high),
        entry: head.entry, groupBits: head.groupBits, entryCount: head.entryCount, groups: head.groups,
        directoryBlockCount: head.directoryBlockCount, listed: head.listed)
      var buffer = Buffer()
      other.append(to: &buffer)
      try file.writeAll(buffer.bytes, at: 0)
    }
    let again = try Journal.open(in: killed.store.storage, options: Self.options)
    #expect(again.report.checkpoint == .used)
    try killed.check(again)
  }

  /// Where neither says what superseded what, all is read that is left, and as possibly stale: as without checkpoint and
  /// sorted footers.
  @Test(arguments: [false, true])
  func `what both a sorted footer and its segment have lost is not served as current`(frameIsLost: Bool)
    throws
  {
    let killed = try KilledStore(Self.options, compacts: false)
    try killed.damageFooters(andFrame: frameIsLost)
    func answers(_ journal: Journal) throws -> [(body: [UInt8]?, isPossiblyStale: Bool)] {
      var buffer = ReadBuffer()
      return try (0..<8000).map { number in
        guard let record = try journal.read(key(number), into: &buffer) else { return (nil, false) }
        return (buffer.body.array(), record.isPossiblyStale)
      }
    }
    let journal = try Journal.open(in: killed.store.storage, options: Self.options)
    #expect(journal.report.checkpoint == .used)
    // Whatever is read first brings a shard into memory, and with it what is known of the loss.
    try journal.catalog.index.loadAll()
    let found = try answers(journal)
    #expect((journal.catalog.staleness.below > 0) == frameIsLost)
    for number in 0..<8000 where found[number].body != killed.model[key(number)] {
      #expect(frameIsLost && (found[number].body == nil || found[number].isPossiblyStale))
    }
    // Whatever was there before may have been superseded by what is lost.
    #expect(found.allSatisfy { $0.body == nil || $0.isPossiblyStale == frameIsLost })
    // No checkpoint hides it from the next opening, and nothing is built on what may not be so.
    let before = try Data(contentsOf: URL(fileURLWithPath: killed.store.storage.path + "/index"))
    if frameIsLost {
      #expect(throws: JournalError(.damaged, "")) { try journal.put(key(9000), [1], .flushed) }
      #expect(throws: JournalError(.damaged, "")) { try journal.checkpoint() }
    } else {
      try journal.put(key(9000), [1], .flushed)
      try journal.checkpoint()
    }
    let after = try Data(contentsOf: URL(fileURLWithPath: killed.store.storage.path + "/index"))
    #expect((before == after) == frameIsLost)
    try journal.abandon()
    #expect(try Journal.verify(killed.store.storage).report.damages.count >= (frameIsLost ? 2 : 1))
    for name in try killed.sortedFooters + ["index"] { try killed.store.storage.unlink(name) }
    var accepting = Self.options
    accepting.acceptsUnprovenDamage = true
    let long = try answers(try Journal.open(in: killed.store.storage, options: accepting))
    for number in 0..<8000 where long[number].body != found[number].body {
      Issue.record("record \(number) is another without the checkpoint")
    }
  }

  /// It is found out by whoever writes a checkpoint, where nobody has read anything before.
  @Test(arguments: [false, true]) func `no checkpoint hides a loss that writing it shows`(isClosed: Bool)
    throws
  {
    let killed = try KilledStore(Self.options, compacts: false)
    try killed.damageFooters(andFrame: true)
    func index() throws -> Data {
      try Data(contentsOf: URL(fileURLWithPath: killed.store.storage.path + "/index"))
    }
    let before = try index()
    let journal = try Journal.open(in: killed.store.storage, options: Self.options)
    #expect(journal.catalog.staleness.below == 0)
    if isClosed {
      for number in 0..<300 { try? journal.put(key(20_000 + number), [1], .buffered) }
      try journal.close()
    } else {
      try journal.checkpoint()
    }
    #expect(journal.catalog.staleness.below > 0)
    #expect(try index() == before)
    if !isClosed { try journal.abandon() }
  }

  /// After the close mark nothing is written, and on a full disk nothing that can be done without.
  @Test func `nothing is sorted after closing, nor while the disk is full`() throws {
    let disk = SimulatedDisk()
    var options = JournalOptions.small
    options.unsortedTail = 1_000_000
    let journal = try Journal.create(in: disk, storeID: key(99), options: options)
    for number in 0..<900 { try journal.put(key(number), [1], .buffered) }
    let segment = try #require(journal.catalog.segments.all.dropFirst().first)
    func sortIfDue() throws -> Bool {
      journal.catalog.unsorted.add(.init(number: segment.number, entryCount: 2_000_000))
      journal.keepOpeningShort()
      defer { while journal.catalog.unsorted.next() != nil {} }
      return try disk.names(in: "").contains(FileName.sortedFooter(segment.number))
    }
    // Nothing has to be set aside twice.
    #expect(journal.log.releaseReserve())
    disk.capacity = disk.usedByteCount
    #expect(try !sortIfDue())
    disk.capacity = nil
    #expect(try sortIfDue())
    try disk.unlink(FileName.sortedFooter(segment.number))
    try journal.close()
    #expect(try !sortIfDue())
  }

  /// One byte of every fifth, from the footer's frame to the trailer's end.
  @Test func `a footer that does not check is not sorted`() throws {
    let store = try TemporaryStore()
    var options = JournalOptions.small
    options.unsortedTail = .max
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: options)
    for number in 0..<200 { try journal.put(key(number), [1], .buffered) }
    let segment = try #require(journal.catalog.segments.all.first)
    let name = FileName.sortedFooter(segment.number)
    let url = URL(fileURLWithPath: store.storage.path + "/" + segment.name)
    let sound = Array(try Data(contentsOf: url))
    func sort() throws -> Bool {
      journal.catalog.unsorted.add(.init(number: segment.number, entryCount: 1))
      journal.compactor.enter()
      journal.sortFooters()
      journal.compactor.leave()
      return try store.storage.names(in: "").contains(name)
    }
    #expect(try sort())
    let file = try FileHandle(forUpdating: url)
    let footerStart = try #require(try segment.trailer()?.footerOffset)
    for place in footerStart..<sound.count where (place - footerStart) % 5 == 0 || place >= sound.count - 24 {
      try file.seek(toOffset: UInt64(place))
      file.write(Data([sound[place] ^ 4]))
      if try sort() { Issue.record("byte \(place - footerStart) of \(sound.count - footerStart)") }
      try file.seek(toOffset: UInt64(place))
      file.write(Data([sound[place]]))
    }
    #expect(try sort())
    try journal.close()
  }

  @Test func `sorted footers go with their segments, and when a checkpoint covers them`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: Self.options)
    func sortedNumbers() throws -> Set<UInt32> {
      Set(try store.storage.names(in: "").compactMap { FileName.sortedFooterNumber($0) })
    }
    for number in 0..<4000 { try journal.put(key(number), [1], .buffered) }
    try journal.checkpoint()
    for number in 0..<1400 { try journal.put(key(number), [2], .buffered) }
    let made = try sortedNumbers()
    #expect(made.count >= 3)
    _ = try journal.compact()
    let segments = Set(journal.catalog.segments.all.map(\.number))
    #expect(try sortedNumbers().isSubset(of: segments))
    #expect(try sortedNumbers() != made)
    try journal.checkpoint()
    #expect(try sortedNumbers().isEmpty)
    try journal.close()
  }

  /// Records of collection 0 are listed at opening: what sorted footers change about them is in their heads.
  @Test func `changes to collection 0 are known from sorted footers`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: Self.options)
    func put(_ number: Int, collection: UInt16) throws {
      var batch = Batch()
      batch.put(key(number), collection: collection, bodyByteCount: 1) { $0.store(UInt8(1), at: 0) }
      try journal.commit(&batch, .flushed)
    }
    for number in 10_000..<10_006 { try put(number, collection: 0) }
    for number in 0..<4000 { try put(number, collection: 1) }
    try journal.checkpoint()
    try journal.delete(key(10_000), .flushed)
    try put(10_001, collection: 1)
    try put(10_010, collection: 0)
    for number in 0..<1400 { try put(number, collection: 1) }
    #expect(journal.catalog.unsorted.entryCount < 500)
    let expected = [10_002, 10_003, 10_004, 10_005, 10_010].map { key($0) }.sorted()
    #expect(try journal.catalog.listedRecords() == expected)
    try journal.abandon()
    let again = try Journal.open(in: store.storage, options: Self.options)
    #expect(again.report.checkpoint == .used)
    #expect(try again.catalog.listedRecords() == expected)
    #expect(again.catalog.listing.entries.map(\.id) == expected)
    try again.abandon()
    // A head that says something else of them is not believed.
    let heads = try store.storage.names(in: "").filter { FileName.sortedFooterNumber($0) != nil }.filter {
      let file = try store.storage.open($0, .read)
      defer { file.close() }
      return try SortedFooterHead(from: file)?.listed.isEmpty == false
    }
    #expect(heads.count == 1)
    for name in heads {
      let url = URL(fileURLWithPath: store.storage.path + "/" + name)
      var bytes = Array(try Data(contentsOf: url))
      for place in [128, 128 + 24, 160, 192 + 16] { bytes[place] ^= 1 }
      try Data(bytes).write(to: url)
    }
    let last = try Journal.open(in: store.storage, options: Self.options)
    #expect(last.catalog.listing.entries.map(\.id) == expected)
  }

  /// More changes to collection 0 than a head has room for: the footer is read.
  @Test func `a segment with many changes to collection 0 has no sorted footer`() throws {
    let store = try TemporaryStore()
    var options = Self.options
    options.segmentByteCount = 40 << 10
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: options)
    for number in 0..<4000 { try journal.put(key(number), [1], .buffered) }
    try journal.checkpoint()
    var batch = Batch()
    for number in 0..<1400 {
      batch.put(key(number), collection: 0, bodyByteCount: 1) { $0.store(UInt8(3), at: 0) }
      if number % 10 == 9 { try journal.commit(&batch, .flushed) }
    }
    // The one that the checkpoint lies in has few of them.
    #expect(try store.storage.names(in: "").count { FileName.sortedFooterNumber($0) != nil } <= 1)
    #expect(journal.catalog.segments.count > 10)
    try journal.abandon()
    let again = try Journal.open(in: store.storage, options: options)
    #expect(again.report.checkpoint == .used)
    #expect(try again.catalog.listedRecords().count == 1400)
  }
}
