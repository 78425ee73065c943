// A scrub in steps comes round to everything: docs/maintenance.md, "Scrub".

@testable import NotelogStorage
@testable import Notelog
import NotelogTestSupport
import Synchronization
import Testing

@Suite struct `Scrub` {
  @Test func `a scrub in steps finds what one at once finds`() throws {
    let disk = SimulatedDisk()
    var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<300 { try journal.put(key(number), [UInt8](repeating: 7, count: 200)) }
    try journal.close()
    for name in ["000000000002.journal", "000000000004.journal"] {
      var bytes = try #require(disk.contents(name))
      bytes[7000] ^= 1
      disk.replace(name, with: bytes)
    }
    journal = try Journal.open(in: disk, options: .small)
    let whole = try journal.scrub()
    #expect(Set(whole.findings.map(\.segment)) == [2, 4])
    #expect(whole.next == nil)
    var damages: [Finding] = []
    var position: Int?
    var steps = 0
    repeat {
      let part = try journal.scrub(from: position, WorkBudget(byteCount: 1))
      #expect(part.segmentCount == 1)
      damages += part.findings
      position = part.next
      steps += 1
    } while position != nil
    #expect(steps == whole.segmentCount)
    #expect(damages == whole.findings)
  }

  @Test func `segments that compaction takes away during a scrub are passed over`() throws {
    let disk = SimulatedDisk()
    var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<300 { try journal.put(key(number), [UInt8](repeating: 7, count: 200)) }
    for number in 0..<300 { try journal.put(key(number), [UInt8](repeating: 8, count: 200)) }
    try journal.close()
    // Opened anew, most segments' files are opened when somebody reads them.
    journal = try Journal.open(in: disk, options: .small)
    let compactions = Atomic<Int>(0)
    let budget = WorkBudget(isOver: { [journal] in
      // Between the first segment and the second.
      if compactions.add(1, ordering: .relaxed).oldValue == 0 { _ = try? journal.compact() }
      return false
    })
    let segmentCount = journal.statistics.segments.count
    let result = try journal.scrub(budget)
    #expect(result.findings.isEmpty && result.next == nil)
    #expect(compactions.load(ordering: .relaxed) > 1)
    #expect(result.segmentCount < segmentCount - 1)
    try journal.close()
    #expect(throws: NotelogError(.closed, "")) { try journal.scrub() }
  }

  @Test func `a store that is closed between two segments stops the scrub`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<300 { try journal.put(key(number), [UInt8](repeating: 7, count: 200)) }
    let closing = WorkBudget(isOver: { [journal] in
      try? journal.close()
      return false
    })
    #expect(throws: NotelogError(.closed, "")) { try journal.scrub(closing) }
  }

  /// Its descriptors may be other files' by then.
  @Test func `what is read when the store is being closed is no finding`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<300 { try journal.put(key(number), [UInt8](repeating: 7, count: 200)) }
    let reads = Atomic<Int>(0)
    let step = WorkBudget(byteCount: 1)
    disk.afterEachCall { call, _ in if call == .read { reads.add(1, ordering: .relaxed) } }
    _ = try journal.scrub(step)
    let last = reads.load(ordering: .relaxed)
    reads.store(0, ordering: .relaxed)
    // At the last read of the same step.
    disk.afterEachCall { [journal] call, _ in
      if call == .read, reads.add(1, ordering: .relaxed).newValue == last { try? journal.close() }
    }
    #expect(throws: NotelogError(.closed, "")) { try journal.scrub(step) }
    disk.afterEachCall(nil)
  }
}
