// The live set and its changes, however many segments they name.

import Testing

@testable import NotelogJournal

@Suite struct `Live set` {
  /// Each segment that a change added was put into its place in an array, behind a search from the array's start: a live change of
  /// 64 MiB held its reader up for as good as ever. Found by reading what a fuzzed segment may hold.
  @Test(.timeLimit(.minutes(1))) func `a change of very many segments takes no longer than it is long`()
    throws
  {
    let count: UInt32 = 100_000
    let added = (1...count).reversed().map {
      LiveEntry(number: $0, byteCount: 8192, salt: 1, footerChecksum: $0)
    }
    var buffer = Buffer()
    LiveChange(added: added, removed: [7]).append(to: &buffer)
    var live = LiveSet()
    let change = LiveChange(payload: buffer.bytes)
    live.apply(try #require(change))
    #expect(live.entries.map(\.number) == (1...count).filter { $0 != 7 })
  }

  @Test func `of two entries of one segment the later one counts`() {
    var live = LiveSet()
    for checksum in UInt32(1)...2 {
      live.insert(LiveEntry(number: 3, byteCount: 8192, salt: 1, footerChecksum: checksum))
    }
    #expect(live.count == 1)
    #expect(live[3]?.footerChecksum == 2)
  }
}
