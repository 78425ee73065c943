// Crashes while orders are written into the checkpoint's file, which is synced before, and not after:
// docs/format-derived.md §32.

import Foundation
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct StoredOrderCrashTests {
  /// A store of some notes, and the calls in which an order was stored: behind a checkpoint and what was
  /// written since, by a checkpoint, by closing after the index was made, and by a checkpoint that carries
  /// it.
  private func storedOrders() throws -> (disk: SimulatedDisk, calls: Range<Int>) {
    let disk = SimulatedDisk()
    var options = Store.Options()
    options.segmentByteCount = 64 << 10
    var random = SeededGenerator(seed: 5)
    func notes(_ count: Int) -> [Note] {
      (0..<count).map { _ in
        Note(time: Date(timeIntervalSinceReferenceDate: Double(random.pick(0..<1_000))))
      }
    }
    var store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    func reopen() throws {
      try store.close()
      store = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: options)
    }
    let old = notes(350)
    try store.putAll(old)
    try store.journal.checkpoint()
    let start = disk.callCount
    // The index that is made then lacks keys that the checkpoint covers, and the order must not survive what
    // took them away.
    try store.write(.flushed) { tx in
      for note in old[100..<140] {
        try tx.update(Note.self, note.id) { $0.set(\.time, Date(timeIntervalSinceReferenceDate: 5_000)) }
      }
    }
    _ = try store.query(Note.self).sorted(by: \.time).limit(1).entries()
    store.journal.storeOrders()
    _ = try store.query(Note.self).sorted(by: \.time).limit(1).entries()
    try store.putAll(notes(20))
    try reopen()
    _ = try store.query(Note.self).sorted(by: \.time).limit(1).entries()
    try store.putAll(notes(20))
    try store.write { tx in try tx.delete(Note.self, old[3].id) }
    try store.journal.checkpoint()
    try store.putAll(notes(20))
    try reopen()
    try store.putAll(notes(20))
    try store.journal.checkpoint()
    try store.close()
    return (disk, start..<disk.callCount)
  }

  /// An opening that knows less than an order was made of would miss what the order lacks.
  @Test func `what an order was made of is durable once the order counts`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    let note = Note(time: Date(timeIntervalSinceReferenceDate: 1))
    try store.putAll([note])
    try store.journal.checkpoint()
    let later = Date(timeIntervalSinceReferenceDate: 2)
    try store.write(.flushed) { tx in try tx.update(Note.self, note.id) { $0.set(\.time, later) } }
    _ = try store.query(Note.self).sorted(by: \.time).limit(1).entries()
    func timeAfterPowerLoss() throws -> Date? {
      let image = disk.crashImageNow(.allLost)
      let again = try Store.open(in: image, unlocking: TemporaryFolder.key, options: Store.Options())
      return try again.get(Note.self, note.id)?.time
    }
    // Else there would be nothing to see.
    #expect(try timeAfterPowerLoss() == note.time)
    store.journal.storeOrders()
    let name = try #require(try indexName(of: \Note.time, in: store))
    #expect(store.journal.storedOrder(name) != nil)
    #expect(try timeAfterPowerLoss() == later)
  }

  @Test func `a crash at any call leaves an order that is right, or none`() throws {
    let (disk, calls) = try storedOrders()
    var (tried, stored) = (0, 0)
    for call in TestEffort.sample(disk.crashPoints.filter(calls.contains), 40) {
      for loss in LossModel.allCases {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let store = try Store.open(in: image, unlocking: TemporaryFolder.key, options: Store.Options())
        let all = try store.query(Note.self).sorted(by: \.time).entries().map(\.id)
        let found = try store.query(Note.self).sorted(by: \.time).limit(all.count).entries().map(\.id)
        #expect(found == all, "after \(disk.describe(call: call)), \(loss)")
        let name = try #require(try indexName(of: \Note.time, in: store))
        tried += 1
        stored += store.indexes.index(name)?.isStored == true ? 1 : 0
      }
    }
    // Some were whole and some were lost, or the sweep looked at the wrong calls.
    #expect(
      tried >= (TestEffort.isSoak ? 400 : 100) && stored >= (TestEffort.isSoak ? 30 : 10) && stored < tried,
      "\(stored) of \(tried)")
  }
}
