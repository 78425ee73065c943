// The journal's first duties: what is written is read, survives closing, and survives not closing.

@testable import Notelog
@testable import NotelogStorage
@testable import NotelogBase
import NotelogFormat
import NotelogTestSupport
import Testing

@Suite struct JournalTests {
  /// A body that can be recognised, of a length that varies.
  private func body(_ number: Int, version: Int = 0) -> [UInt8] {
    [UInt8](count: 20 + number % 300, from: number &* 31 &+ version &* 7)
  }

  @Test func `what is written is read, in this opening and the next`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    for number in 0..<500 { try journal.put(key(number), body(number)) }
    for number in 0..<500 { #expect(try journal.body(of: key(number)) == body(number)) }
    try journal.close()
    let again = try Journal.open(in: store.storage, options: .small)
    #expect(again.report.verdict == .sound)
    #expect(again.report.wasClosed)
    #expect(try again.records().count == 500)
    for number in 0..<500 { #expect(try again.body(of: key(number)) == body(number)) }
    try again.put(key(1000), body(1000), .durable)
    try again.close()
    #expect(try Journal.verify(store.storage).report.verdict == .sound)
  }

  @Test func `what is taken back from a batch was never in it`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    var batch = Batch()
    func add(_ number: Int, to batch: inout Batch) {
      let body = body(number)
      batch.put(key(number), collection: 1, bodyByteCount: body.count) { bytes in
        for index in body.indices { bytes.store(body[index], at: index) }
      }
    }
    add(1, to: &batch)
    let count = batch.count
    batch.putChunk(ChunkMark(0, isLast: true), of: key(5), sealedByteCount: 500) { _ in }
    add(2, to: &batch)
    batch.removeAll(since: count)
    #expect(batch.count == 1)
    add(3, to: &batch)
    try journal.commit(&batch)
    #expect(try journal.body(of: key(1)) == body(1))
    #expect(try journal.body(of: key(2)) == nil)
    #expect(try journal.body(of: key(3)) == body(3))
    let statistics = journal.statistics
    #expect(statistics.segments.liveByteCount < 600)
    try journal.close()
    #expect(try Journal.verify(store.storage).report.verdict == .sound)
  }

  @Test func `a store that was not closed is recovered, twice the same`() throws {
    let store = try TemporaryStore()
    do {
      let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
      for number in 0..<300 {
        try journal.put(key(number), body(number), number % 7 == 0 ? .durable : .flushed)
      }
      for number in 0..<50 { try journal.delete(key(number)) }
    }
    for _ in 0..<2 {
      let journal = try Journal.open(in: store.storage, options: .small)
      #expect(journal.report.verdict == .sound)
      #expect(try journal.records().count == 250)
      for number in 50..<300 { #expect(try journal.body(of: key(number)) == body(number)) }
      #expect(try journal.body(of: key(3)) == nil)
    }
    let verification = try Journal.verify(store.storage)
    #expect(verification.report.damages == [])
  }

  @Test func `of several frames of one id in a transaction the last counts, reopened and compacted too`()
    throws
  {
    let store = try TemporaryStore()
    var journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    var batch = Batch()
    for number in 0..<20 {
      for version in 0..<3 {
        batch.put(key(number), collection: 1, bodyByteCount: 200 + version) { bytes in
          bytes.copy(body(version, version: number).rawSpan, at: 0)
        }
      }
      if number % 4 == 0 { batch.delete(key(number), collection: 1) }
    }
    try journal.commit(&batch, .durable)
    func check() throws {
      let live = (0..<20).filter { $0 % 4 != 0 }
      #expect(try journal.records() == live.map(key))
      for number in live {
        #expect(
          try journal.body(of: key(number)) == body(2, version: number) + Array(repeating: 0, count: 180))
      }
      let frame = (Layout.frameHeaderByteCount + 202 + 7) / 8 * 8 + Layout.footerEntryByteCount
      // Deletions of what never was are dropped by compaction, and count until then.
      let tombstones = journal.statistics.segments.liveByteCount - live.count * frame
      #expect(
        tombstones == 0 || tombstones == 5 * (Layout.frameHeaderByteCount + Layout.footerEntryByteCount))
    }
    try check()
    try journal.close()
    journal = try Journal.open(in: store.storage, options: .small)
    try check()
    #expect(try journal.compact().removedSegments == 1)
    try check()
    #expect(try Journal.verify(store.storage).report.verdict == .sound)
  }

  @Test func `compaction keeps what is live and frees the rest`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    for version in 0..<10 {
      for number in 0..<100 { try journal.put(key(number), body(number, version: version)) }
    }
    for number in 0..<20 { try journal.delete(key(number)) }
    let result = try journal.compact()
    #expect(result.byteCountAfter < result.byteCountBefore / 4)
    for number in 20..<100 { #expect(try journal.body(of: key(number)) == body(number, version: 9)) }
    try journal.close()
    let again = try Journal.open(in: store.storage, options: .small)
    #expect(again.report.damages == [])
    #expect(try again.records().count == 80)
    for number in 20..<100 { #expect(try again.body(of: key(number)) == body(number, version: 9)) }
    #expect(try Journal.verify(store.storage).report.damages == [])
  }

  @Test func `of several frames of one id in a transaction the last one counts, also after reopening`() throws
  {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99))
    var batch = Batch()
    for byte: UInt8 in [1, 2, 3] {
      batch.put(key(1), collection: 1, bodyByteCount: 1) { $0.store(byte, at: 0) }
      batch.put(key(2), collection: 1, bodyByteCount: 1) { $0.store(byte, at: 0) }
    }
    batch.delete(key(2), collection: 1)
    try journal.commit(&batch)
    let isEmptied = batch.isEmpty
    #expect(isEmptied)
    #expect(try journal.body(of: key(1)) == [3])
    #expect(try journal.body(of: key(2)) == nil)
    try journal.close()
    let again = try Journal.open(in: store.storage)
    #expect(try again.body(of: key(1)) == [3])
    #expect(try again.body(of: key(2)) == nil)
  }

  @Test func `what was begun to be created can be created`() throws {
    let store = try TemporaryStore()
    let file = try store.storage.open(FileName.segment(1), .createNew)
    try file.allocate(0..<65_536)
    file.close()
    try Journal.create(in: store.storage, storeID: key(99)).close()
    #expect(throws: NotelogError(.alreadyExists, "")) {
      try Journal.create(in: store.storage, storeID: key(99))
    }
  }

  @Test func `a second writer is refused at once`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99))
    #expect(throws: NotelogError(.busy, "")) { try Journal.open(in: store.storage) }
    try journal.close()
    try Journal.open(in: store.storage).close()
  }

  @Test func `a write closure reads its own writes, and what it throws undoes it`() throws {
    struct Refusal: Error {}
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99))
    try journal.write(.flushed) { batch in
      batch.put(key(1), collection: 1, bodyByteCount: 1) { $0.store(UInt8(7), at: 0) }
      var buffer = ReadBuffer()
      let record = try journal.read(key(1), as: batch, into: &buffer)
      #expect(record != nil)
      #expect(buffer.body.array() == [7])
    }
    #expect(throws: (any Error).self) {
      try journal.write(.flushed) { batch in
        batch.delete(key(1), collection: 1)
        throw Refusal()
      }
    }
    #expect(try journal.body(of: key(1)) == [7])
  }

  /// The bug: an empty batch returned at once, and what was committed before it was lost with the power.
  @Test(arguments: [false, true])
  func `an empty durable commit makes durable what came before it`(inClosure: Bool) throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(1), [1], .flushed)
    if inClosure {
      try journal.write(.durable) { _ in }
    } else {
      var batch = Batch()
      #expect(try journal.commit(&batch, .durable) == 1)
    }
    let reopened = try Journal.open(in: disk.crashImageNow(.allLost, seed: 1), options: .small)
    #expect(try reopened.body(of: key(1)) == [1])
  }

  /// The bug: it returned the number of what somebody committed while it waited, which its sync did not cover.
  @Test func `an empty durable commit returns the number that it waited for`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(1), [1], .flushed)
    let isCommitted = Flag(false)
    disk.afterEachCall { call, _ in
      if call == .sync, !isCommitted.exchange(true) { try? journal.put(key(2), [2], .flushed) }
    }
    defer { disk.afterEachCall(nil) }
    var batch = Batch()
    let sequence = try journal.commit(&batch, .durable)
    #expect(sequence == 1 && journal.lastSequence == 2)
    let nextDurable = journal.log.state.withLock { $0.nextDurable }
    #expect(sequence < nextDurable)
  }

  /// A recovered segment is finished when it gets its name: one without a footer is damaged, and nothing is
  /// written into it.
  @Test func `a recovered segment without its footer is not gone on in`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(1), [1], .flushed)
    let torn = try #require(try disk.names(in: "").first { FileName.segmentNumber($0) != nil })
    let file = try disk.open(torn, .update)
    let end = journal.log.state.withLock { $0.visibleEnd.offset }
    var zeros = Buffer()
    zeros.appendZeros(24)
    try file.writeAll(zeros.bytes, at: end - 24)
    try journal.abandon()
    // What was torn is cut, and nothing was whole.
    try Journal.open(in: disk, options: .small).close()
    let recovered = try #require(try Examination(disk, storeID: nil).newest)
    #expect(recovered.header.kind == .recovered)
    let start = try recovered.unitsStart()
    #expect(recovered.trailer?.footerOffset == start)
    try disk.open(FileName.segment(recovered.number), .update).truncate(to: start)
    let examination = try Examination(disk, storeID: nil)
    #expect(examination.appendable == nil && examination.needsRecovery)
  }

  /// The bug: a last segment that holds nothing yet was taken for one that was not closed, once a checkpoint
  /// covered its start.
  @Test func `what is opened after a crash and closed again was closed in order`() throws {
    let disk = SimulatedDisk()
    let first = try Journal.create(in: disk, storeID: key(99), options: .small)
    try first.put(key(1), [1], .durable)
    let recovered = disk.crashImageNow(.allLost, seed: 1)
    let second = try Journal.open(in: recovered, options: .small)
    try second.put(key(2), [2], .flushed)
    // Of the segment in which that was written, only the start was durable.
    let image = recovered.crashImageNow(.allLost, seed: 1)
    try Journal.open(in: image, options: .small).close()
    #expect(try image.names(in: "").contains(FileName.index))
    let reopened = try Journal.open(in: image, options: .small)
    #expect(reopened.report.wasClosed && reopened.report.verdict == .sound)
    #expect(try reopened.records() == [key(1)])
    withExtendedLifetime((first, second)) {}
  }
}
