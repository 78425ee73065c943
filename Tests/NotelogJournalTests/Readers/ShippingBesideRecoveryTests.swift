// Shipping of a store that another process recovers meanwhile: FORMAT.md §26.

import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

/// The bug: a recovery cut the log between a backup's examination and its copy, and the backup reported
/// frames that it had moved as lost, and exited 3.
@Suite struct `Shipping beside a recovery` {
  /// Ships a killed store that is recovered and written to after one of the calls that the round makes.
  ///
  /// - Returns: Whether the round made so many calls.
  private func ship(recoveringAfter target: Int) throws -> Bool {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<40 { try journal.put(key(number), [UInt8](repeating: 1, count: 200), .durable) }
    for number in 20..<60 { try journal.put(key(number), [UInt8](repeating: 2, count: 100), .buffered) }
    let killed = disk.crashImageNow(.processKilled)
    let calls = Lock(0)
    killed.afterEachCall { _, _ in
      let count = calls.withLock {
        $0 += 1
        return $0
      }
      guard count == target else { return }
      do {
        let writer = try Journal.open(in: killed, options: .small)
        for number in 60..<80 { try writer.put(key(number), [3], .durable) }
        try writer.close()
      } catch { Issue.record("\(error)") }
    }
    defer { killed.afterEachCall(nil) }
    let copy = SimulatedDisk()
    let report = try backUp(killed, to: copy)
    killed.afterEachCall(nil)
    #expect(report.findings == [], "call \(target)")
    let restored = SimulatedDisk()
    _ = try restore(copy, to: restored).findings
    let journalBack = try Journal.open(in: restored, options: .small)
    #expect(journalBack.report.damages == [], "call \(target)")
    #expect(try journalBack.records().count >= 60, "call \(target)")
    return calls.withLock { $0 } >= target
  }

  @Test func `finds no damage where the log is recovered at any moment`() throws {
    var target = 1
    while try ship(recoveringAfter: target) { target += TestEffort.isSoak ? 1 : 3 }
    #expect(target > 60)
  }
}
