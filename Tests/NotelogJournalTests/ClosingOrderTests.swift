// In which order a store's files are closed.

@testable import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct ClosingOrderTests {
  /// The bug: after a failed write, somebody may still be writing while the store is closed. The lock was
  /// given back first, and whoever opened the store next met them.
  @Test(arguments: [false, true])
  func `segments are closed before the lock is given back`(afterFailure: Bool) throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<40 { try journal.put(key(number), [UInt8](repeating: 1, count: 1_000), .flushed) }
    if afterFailure {
      disk.plan(Fault(.error(SystemErrno.inputOutput), of: [.write], passing: 0, lasts: true))
      #expect(throws: NotelogError.self) { try journal.put(key(1), [1], .flushed) }
      disk.forgetFaults()
    }
    let before = disk.closedNames.count
    try? journal.close()
    let closed = disk.closedNames.dropFirst(before)
    #expect(closed.count { $0.hasSuffix(".journal") } > 1)
    #expect(closed.last == "lock")
    withExtendedLifetime(journal) {}
  }
}
