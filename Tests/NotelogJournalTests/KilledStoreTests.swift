// Stores that were killed with segments behind their checkpoint: what those hold is taken in, and what they
// lost is noticed. docs/format-derived.md §31.

@testable import NotelogBase
@testable import Notelog
@testable import NotelogStorage
import Foundation
import NotelogTestSupport
import Testing

@Suite struct KilledStoreCheckpointTests {
  private static let options = KilledStore.options

  @Test(arguments: [(64, 16 << 10), (6, 16 << 10), (64, 160 << 10)])
  func `a store that was killed opens from its checkpoint and the footers behind it`(
    bitCount: Int, segmentByteCount: Int
  ) throws {
    var options = Self.options
    options.fingerprintBitCount = bitCount
    options.segmentByteCount = segmentByteCount
    let scale = segmentByteCount >> 14
    let killed = try KilledStore(options, stepCount: 900 * scale, recordCount: 4000 * scale)
    let journal = try Journal.open(in: killed.store.storage, options: options)
    #expect(journal.report.checkpoint == .used && !journal.report.wasClosed)
    try killed.check(journal)
    let counted = journal.catalog.segments.all.map(\.liveBytes)
    try journal.abandon()
    // What is counted as live is what a reading of all segments counts.
    try killed.store.storage.unlink("index")
    let fresh = try Journal.open(in: killed.store.storage, options: options)
    #expect(fresh.report.checkpoint == .missing)
    #expect(fresh.catalog.segments.all.map(\.liveBytes) == counted)
    try killed.check(fresh)
  }

  /// Nothing says what the lost frame superseded: all that is left is possibly stale, as without the
  /// checkpoint. Where only the footer is damaged, the frames say the same.
  @Test(arguments: [false, true])
  func `what a segment behind the checkpoint has lost is not served as current`(frameIsLost: Bool) throws {
    let killed = try KilledStore(Self.options, compacts: false)
    let segmentCount = killed.store.segmentByteCounts.count
    #expect(try segmentCount > Int(killed.coveredSegment) + 2)
    try killed.damageFooter(andFrame: frameIsLost)
    func answers(_ journal: Journal) throws -> [(body: [UInt8]?, isPossiblyStale: Bool)] {
      var buffer = ReadBuffer()
      return try (0..<8000).map { number in
        guard let record = try journal.records.read(key(number), into: &buffer) else { return (nil, false) }
        return (buffer.body.array(), record.isPossiblyStale)
      }
    }
    var accepting = Self.options
    accepting.acceptsUnprovenDamage = true
    if frameIsLost {
      #expect(throws: NotelogError(.damaged, "")) {
        try Journal.open(in: killed.store.storage, options: Self.options)
      }
    }
    let journal = try Journal.open(in: killed.store.storage, options: accepting)
    #expect(journal.report.checkpoint == .used)
    let found = try answers(journal)
    #expect((journal.catalog.staleness.below > 0) == frameIsLost)
    for number in 0..<8000 where found[number].body != killed.model[key(number)] {
      #expect(frameIsLost && (found[number].body == nil || found[number].isPossiblyStale))
    }
    // Whatever was there before may have been superseded by what is lost.
    #expect(found.contains { $0.body != nil && $0.isPossiblyStale } == frameIsLost)
    if !frameIsLost {
      try journal.put(key(9000), [1], .flushed)
      try journal.checkpoint()
    }
    try journal.abandon()
    #expect(try Journal.verify(killed.store.storage).report.damages.count >= 1)
    try killed.store.storage.unlink("index")
    let long = try answers(try Journal.open(in: killed.store.storage, options: accepting))
    for number in 0..<8000 where long[number].body != found[number].body {
      Issue.record("record \(number) is another without the checkpoint")
    }
  }

  /// Records of collection 0 are listed at opening: those of the checkpoint, with what the segments behind it
  /// change.
  @Test func `changes to collection 0 behind the checkpoint are known`() throws {
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
    for number in 0..<900 { try put(number, collection: 1) }
    // No checkpoint was written meanwhile.
    #expect(journal.catalog.changeCount == 903)
    let expected = [10_002, 10_003, 10_004, 10_005, 10_010].map { key($0) }.sorted()
    #expect(try journal.catalog.listedRecords() == expected)
    try journal.abandon()
    let again = try Journal.open(in: store.storage, options: Self.options)
    #expect(again.report.checkpoint == .used)
    #expect(try again.catalog.listedRecords() == expected)
    #expect(again.catalog.listed.entries.map(\.id) == expected)
    try again.abandon()
  }
}
