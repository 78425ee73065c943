// What verification looks into: each record's newest version, once, on however many threads.

import NotelogConcurrency
@testable import NotelogJournal
import Testing

@Suite struct VerificationTests {
  /// What a verification looked into: the revisions of each record.
  private func seen(_ store: TemporaryStore, threadCount: Int) throws -> [RecordKey: [UInt64]] {
    let seen = Lock<[RecordKey: [UInt64]]>([:])
    let verification = try Journal.verify(
      store.storage, threadCount: threadCount,
      visit: { inspect in
        inspect { record, _ in seen.withLock { $0[record.id, default: []].append(record.revision) } }
      })
    #expect(verification.report.damages == [])
    return seen.withLock { $0 }
  }

  /// Some segments hold nothing that is dead, and in them nothing is looked up; others do.
  @Test(arguments: [1, 2, 3]) func `each record's newest version is looked into, once`(threadCount: Int)
    throws
  {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    for number in 0..<400 { try journal.put(key(number), [UInt8](repeating: 1, count: 200)) }
    // Of the first quarter there are two versions, segments apart, and of the next ten in one and the same segment.
    for number in 0..<100 { try journal.put(key(number), [UInt8](repeating: 2, count: 200)) }
    for _ in 0..<2 {
      for number in 100..<110 { try journal.put(key(number), [UInt8](repeating: 3, count: 20)) }
    }
    // Two versions in one transaction: the later one counts.
    var batch = Batch()
    for _ in 0..<2 { batch.put(key(110), collection: 1, bodyByteCount: 8) { $0.store(UInt64(4), at: 0) } }
    try journal.commit(&batch, .flushed)
    try journal.delete(key(399), .flushed)
    try journal.close()
    let seen = try seen(store, threadCount: threadCount)
    #expect(seen.count == 399)
    for (id, revisions) in seen {
      let number = Int(id.low)
      let newest =
        number < 100 ? 401 + number : number < 110 ? 411 + number : number == 110 ? 521 : number + 1
      #expect(revisions == [UInt64(newest)], "record \(number)")
    }
  }
}
