// A close mark that can be read and is not on the medium: FORMAT.md §22, line 12.

@testable import NotelogFormat
@testable import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct UnprovenMarkTests {
  private let body = [UInt8](repeating: 7, count: 100)

  /// A store half of which is dead, whose close mark a failed sync forgot: it is read from memory still. The
  /// mark ends at the beginning of a page, or a little behind it, so that what follows it need not bring its
  /// page along.
  private func stores() throws -> [SimulatedDisk] {
    var stores: [SimulatedDisk] = []
    for padding in stride(from: 0, to: 4_096, by: 8) {
      let disk = SimulatedDisk()
      let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
      for _ in 0..<2 { for number in 0..<4 { try journal.put(key(number), body) } }
      try journal.put(key(4), [UInt8](repeating: 1, count: padding), .durable)
      disk.plan(Fault(.syncDropsPages(readsOldBytes: false), of: [.sync], passing: 0, lasts: true))
      #expect(throws: NotelogError.self) { try journal.close() }
      disk.forgetFaults()
      let head = try #require(disk.contents("000000000001.journal"))
      if head.count % 4_096 < 56 { stores.append(disk) }
    }
    return stores
  }

  /// The bug: compaction finished the head without writing the mark again. After a crash the log seemed to
  /// break there, and what had been committed durably behind it was cut off.
  @Test func `a mark that a failed sync forgot is written again before the head is finished`() throws {
    let stores = try stores()
    #expect(stores.count > 4)
    for disk in stores {
      let journal = try Journal.open(in: disk, options: .small)
      #expect(journal.report.wasClosed)
      // As compaction does. It may find nothing to do then, or be cut short.
      try journal.finishHeadWithDeadBytes()
      try journal.put(key(5), body, .durable)
      let found = try Journal.open(in: disk.crashImageNow(.allLost), options: .small)
      #expect(found.report.damages.isEmpty)
      for number in [0, 1, 2, 3, 5] where try found.body(of: key(number)) != body {
        Issue.record("record \(number) is gone")
      }
    }
  }

  /// The bug: who opened a store behind a process that died while it created the head, and closed it, wrote a
  /// checkpoint that covers the log up to that head, which nobody had synced. After a power loss the
  /// checkpoint spoke of a segment that was not there: the store was refused as damaged, though nothing was
  /// lost. Found by Tests/Models.
  @Test(arguments: LossModel.allCases)
  func `a checkpoint does not cover a head that may not be on the medium`(loss: LossModel) throws {
    for passing in 0..<2 {
      let disk = SimulatedDisk()
      var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
      for number in 0..<4 { try journal.put(key(number), body, .durable) }
      // It dies: recovery leaves a log without a head.
      try journal.abandon()
      journal = try Journal.open(in: disk, options: .small)
      // It dies before the new head is synced, or before its name is.
      disk.plan(
        Fault(.error(SystemErrno.inputOutput), of: [.sync, .syncFolder], passing: passing, lasts: true))
      #expect(throws: NotelogError.self) { try journal.put(key(4), body, .durable) }
      disk.forgetFaults()
      try journal.abandon()
      journal = try Journal.open(in: disk, options: .small)
      #expect(journal.report.wasClosed)
      try journal.close()
      #expect(disk.contents(FileName.index) != nil)
      for seed in 0..<4 {
        let found = try Journal.open(in: disk.crashImageNow(loss, seed: UInt64(seed)), options: .small)
        #expect(found.report.damages.isEmpty)
        for number in 0..<4 where try found.body(of: key(number)) != body {
          Issue.record("record \(number) is gone")
        }
      }
    }
  }
}
