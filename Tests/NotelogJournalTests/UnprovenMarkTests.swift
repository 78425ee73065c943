// A close mark that can be read and is not on the medium: FORMAT.md §12, line 12.

import NotelogJournal
import NotelogTestSupport
import Testing

@Suite struct UnprovenMarkTests {
  /// The bug: compaction finished the head without writing the mark again. Where the mark had a page to itself, only its
  /// memory ever held it, and after a crash the log seemed to break there.
  @Test func `a mark that a failed sync forgot is written again before the head is finished`() throws {
    let body = [UInt8](repeating: 7, count: 100)
    // The mark is at each place in a page once.
    for padding in stride(from: 0, to: 4_096, by: 8) {
      let disk = SimulatedDisk()
      let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
      for _ in 0..<2 { for number in 0..<4 { try journal.put(key(number), body) } }
      try journal.put(key(4), [UInt8](repeating: 1, count: padding))
      disk.plan(Fault(.syncDropsPages(readsOldBytes: false), of: [.sync], passing: 0, lasts: true))
      #expect(throws: JournalError.self) { try journal.close() }
      disk.forgetFaults()
      let again = try Journal.open(in: disk, options: .small)
      #expect(try again.compact().removedSegments == 1)
      try again.put(key(5), body, .durable)
      let found = try Journal.open(in: disk.crashImageNow(.allLost), options: .small)
      guard found.report.damages.isEmpty, try found.body(of: key(5)) == body, try found.records().count == 6
      else {
        Issue.record("padding \(padding): \(found.report)")
        return
      }
    }
  }
}
