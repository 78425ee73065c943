// What collection 0 holds, whatever order versions come in: docs/format-derived.md §31.

@testable import Notelog
import Testing

@Suite struct ListedRecordsTests {
  private func entry(_ number: Int, _ sequence: UInt64) -> ListedRecords.Entry {
    ListedRecords.Entry(id: key(number), sequence: sequence)
  }

  @Test func `the list forgets what was listed and is elsewhere now`() {
    let listed = ListedRecords([entry(1, 5), entry(2, 6)])
    listed.note(key(3), sequence: 7, isPresent: true)
    #expect(listed.entries.map(\.id) == [key(1), key(2), key(3)].sorted())
    // One of each kind: listed from the start, and taken in.
    listed.note(key(1), sequence: 8, isPresent: false)
    listed.note(key(3), sequence: 9, isPresent: false)
    #expect(listed.entries == [entry(2, 6)])
    // What came before that does not bring it back, and what comes later does.
    listed.note(key(1), sequence: 4, isPresent: true)
    #expect(listed.entries == [entry(2, 6)])
    listed.note(key(1), sequence: 10, isPresent: true)
    #expect(Set(listed.entries.map(\.sequence)) == [6, 10])
  }

  @Test func `millions that were never in it leave nothing in it`() {
    let listed = ListedRecords([entry(0, 1)])
    for number in 1..<100_000 { listed.note(key(number), sequence: UInt64(number), isPresent: false) }
    #expect(listed.entries == [entry(0, 1)])
  }
}
