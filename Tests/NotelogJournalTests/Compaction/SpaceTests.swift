// The space contract, held against the lengths of the files: FORMAT.md §24, "Space".

@testable import Notelog
@testable import NotelogFormat
import NotelogBase
import NotelogTestSupport
import Synchronization
import Testing

@Suite struct `Space model` {
  /// What is stored over and over.
  struct Load: Sendable, CustomTestStringConvertible {
    let byteCounts: ClosedRange<Int>
    let recordCount: Int
    var segmentByteCount: Int?

    var testDescription: String { "\(recordCount) records of \(byteCounts) bytes" }
  }

  static let loads = [
    Load(byteCounts: 50...50, recordCount: 3000, segmentByteCount: 256 << 10),
    Load(byteCounts: 50...50, recordCount: 10_000),
    Load(byteCounts: 1000...1000, recordCount: 2000, segmentByteCount: 256 << 10),
    Load(byteCounts: 1...8000, recordCount: 1000),
    Load(byteCounts: 50_000...50_000, recordCount: 100),
    Load(byteCounts: 100...1 << 20, recordCount: 30),
    Load(byteCounts: 1 << 20...1 << 20, recordCount: 12),
    Load(byteCounts: 10 << 20...10 << 20, recordCount: 4),
  ]

  /// A journal that keeps its contract by itself, and what measures it.
  private func metered(
    _ store: TemporaryStore, segmentByteCount: Int? = nil
  ) throws -> (Journal, MeteredStorage) {
    let meter = MeteredStorage(store.storage)
    var options = JournalOptions()
    options.segmentByteCount = segmentByteCount
    options.compactsAutomatically = true
    return (try Journal.create(in: meter, storeID: key(99), options: options), meter)
  }

  /// INV-C4: at every call of the file system, and after every write.
  @Test(arguments: loads)
  func `the space contract holds at every moment of random updates`(load: Load) throws {
    let store = try TemporaryStore()
    let (journal, meter) = try metered(store, segmentByteCount: load.segmentByteCount)
    meter.watch(journal)
    var random = SeededGenerator(seed: UInt64(load.recordCount))
    let bytes = random.bytes(count: load.byteCounts.upperBound)
    var lengths: [Int: Int] = [:]
    var worstPause = Duration.zero
    let clock = ContinuousClock()
    for step in 0..<21 * load.recordCount {
      let number = step < load.recordCount ? step : random.pick(0..<load.recordCount)
      let length = random.pick(load.byteCounts.lowerBound..<load.byteCounts.upperBound + 1)
      let body = Array(bytes[..<length])
      meter.beginCommit()
      let pause = try clock.measure { try journal.put(key(number), body) }
      meter.endCommit()
      lengths[number] = length
      worstPause = max(worstPause, pause)
      try #require(meter.excess <= 0, "step \(step): \(meter.finding)")
    }
    print(
      "space: \(load.testDescription): worst pause \(worstPause), written per byte",
      1 + Double(journal.counts.bytesCopied) / Double(journal.counts.bytesCommitted), "most of the bound",
      meter.mostOfBound)
    _ = try journal.compact()
    let after = journal.statistics.segments
    let segment = max(load.segmentByteCount ?? 1 << 20, load.byteCounts.upperBound + 16_384)
    #expect(meter.segmentByteCount <= after.liveByteCount * 105 / 100 + segment)
    for (number, length) in lengths {
      #expect(try journal.body(of: key(number)) == Array(bytes[..<length]))
    }
    try journal.close()
    #expect(try Journal.verify(store.storage).report.damages == [])
  }

  /// What dies by deletion makes the bound smaller while nothing is written.
  @Test func `deleting everything gives the space back`() throws {
    let store = try TemporaryStore()
    let (journal, meter) = try metered(store)
    for number in 0..<2000 { try journal.put(key(number), [UInt8](repeating: 7, count: 10_000)) }
    meter.watch(journal)
    for number in 0..<2000 {
      meter.beginCommit()
      try journal.delete(key(number))
      meter.endCommit()
      try #require(meter.excess <= 0, "\(meter.finding)")
    }
    _ = try journal.compact()
    #expect(journal.statistics.segments.liveByteCount == 0)
    #expect(meter.segmentByteCount < 1 << 20)
    try journal.close()
  }

  /// A transaction that kills much of the store makes the bound smaller by more than all that is kept free
  /// below it: what it leaves above is compacted before it returns.
  @Test func `deleting most of a store at once leaves it within the bound`() throws {
    let store = try TemporaryStore()
    let (journal, meter) = try metered(store, segmentByteCount: 256 << 10)
    for number in 0..<2000 { try journal.put(key(number), [UInt8](repeating: 7, count: 5_000)) }
    meter.watch(journal)
    var batch = Batch()
    for number in 0..<2000 where number % 5 > 0 { batch.delete(key(number), collection: 1) }
    meter.beginCommit()
    try journal.commit(&batch)
    meter.endCommit()
    #expect(meter.excess <= 0, "\(meter.finding)")
    try journal.close()
  }

  /// Who keeps the space does it for all.
  @Test func `writers copy nothing as long as somebody else keeps the space`() throws {
    let store = try TemporaryStore()
    let (journal, meter) = try metered(store, segmentByteCount: 256 << 10)
    meter.watch(journal)
    var known = 0
    func update(_ rounds: Int, then body: () -> Void) throws -> Int {
      var copied = 0
      for round in 0..<rounds {
        meter.beginCommit()
        try journal.put(key(round % 3000), [UInt8](repeating: UInt8(round % 251), count: 2000))
        meter.endCommit()
        let written = journal.counts.bytesCopied
        copied += written - known
        // As seldom as a writer would: it finds compaction due before that.
        if round % 10 == 9 { body() }
        known = journal.counts.bytesCopied
        try #require(meter.excess <= 0, "\(meter.finding)")
      }
      return copied
    }
    #expect(try update(6000) {} > 0)
    journal.keepSpace(.unlimited)
    known = journal.counts.bytesCopied
    let begun = known
    #expect(try journal.keepingSpace { try update(6000) { journal.keepSpace(.unlimited) } } == 0)
    #expect(known > begun)
    #expect(try update(6000) {} > 0)
    try journal.close()
  }

  /// Together they write more, before the first of them looks again, than is kept free below the bound.
  @Test func `many writers of large records keep within the bound`() throws {
    let store = try TemporaryStore()
    let (journal, meter) = try metered(store, segmentByteCount: 256 << 10)
    meter.watch(journal)
    try Threads.run(16) { thread in
      let body = [UInt8](repeating: UInt8(thread), count: 60_000)
      for _ in 0..<200 {
        try journal.put(key(thread), body)
        try #require(meter.excess <= 0, "\(meter.finding)")
      }
    }
    try journal.close()
  }

  /// That nothing was worth compacting says nothing once more has died, and nothing to who waits, where a
  /// writer's share found it: what was under way then is counted as waste, so that the store need not waste
  /// more for it to be dead.
  @Test(arguments: [true, false])
  func `a verdict that nothing is worth compacting keeps no writer from waiting for room`(includesHead: Bool)
    throws
  {
    let store = try TemporaryStore()
    let (journal, meter) = try metered(store, segmentByteCount: 256 << 10)
    meter.watch(journal)
    for number in 0..<120 {
      journal.compactor.uselessAt.withLock {
        $0 = (
          wastedByteCount: .max / 2,
          diedByteCount: includesHead ? journal.catalog.segments.diedByteCount - 60_000 : .max / 2,
          includesHead: includesHead
        )
      }
      try journal.put(key(number % 4), [UInt8](repeating: 1, count: 60_000))
      try #require(meter.excess <= 0, "\(meter.finding)")
    }
    try journal.close()
  }

  /// Whoever made the bound smaller finds the room for what another writer was promised when there was more.
  @Test func `a promise of room is kept`() throws {
    let store = try TemporaryStore()
    let (journal, _) = try metered(store, segmentByteCount: 256 << 10)
    func put(_ number: Int) throws { try journal.put(key(number % 16), [UInt8](repeating: 1, count: 60_000)) }
    for number in 0..<16 { try put(number) }
    let promised = 350_000
    var timesLacking = 0
    for number in 16..<200 {
      try put(number)
      if journal.log.space.room() < promised { timesLacking += 1 }
      journal.log.space.promise(promised)
      journal.keepSpaceContract(written: 1)
      #expect(journal.log.space.room() >= promised)
      journal.log.space.promise(0)
    }
    // Else there was nothing to do for it.
    #expect(timesLacking > 0)
    try journal.close()
  }

  /// Who looks whether there is room sees neither both nor none of a record and what took its place.
  @Test func `an update is counted in one step`() throws {
    let store = try TemporaryStore()
    let (journal, _) = try metered(store)
    try journal.put(key(1), [UInt8](repeating: 1, count: 1000))
    let segments = journal.catalog.segments
    let segment = try #require(segments.all.first)
    let byteCount = segments.liveByteCount
    #expect(byteCount > 1000)
    try Threads.run(2) { thread in
      for _ in 0..<300_000 {
        if thread == 0 {
          segments.replaceLive(byteCount, in: segment, with: byteCount, in: segment)
        } else {
          try #require(segments.liveByteCount == byteCount)
        }
      }
    }
    try journal.close()
  }

  @Test func `several writers keep within the bound`() throws {
    let store = try TemporaryStore()
    let (journal, meter) = try metered(store)
    meter.watch(journal)
    try Threads.run(4) { thread in
      var random = SeededGenerator(seed: UInt64(thread))
      var byteCounts: [ID16: Int] = [:]
      for step in 0..<2000 {
        let body = random.bytes(count: random.pick(1..<8000))
        let id = key(thread * 100 + random.pick(0..<100))
        try meter.commit(replacing: byteCounts[id] ?? 0) {
          try put(body, id, in: journal, inATurn: step % 3 == 0)
        }
        byteCounts[id] = body.count
        try #require(meter.excess <= 0, "\(meter.finding)")
      }
    }
    try journal.close()
    #expect(try Journal.verify(store.storage).report.damages == [])
  }

  private func put(_ body: [UInt8], _ id: ID16, in journal: Journal, inATurn: Bool) throws {
    guard inATurn else {
      try journal.put(id, body)
      return
    }
    try journal.write(.flushed) { batch throws(Never) in
      batch.put(id, collection: 1, bodyByteCount: body.count) { bytes in
        bytes.copy(body.rawSpan, at: 0)
      }
    }
  }
}

extension MeteredStorage {
  /// Measures a journal's store from now on.
  fileprivate func watch(_ journal: Journal) {
    watch {
      (journal.catalog.segments.liveByteCount, journal.log.space.aim)
    }
  }
}
