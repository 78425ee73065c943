// How long opening takes, and a first read: run by name, optimised, with NOTELOG_SCALE=1.

@testable import NotelogStorage
@testable import NotelogBase
import Foundation
@testable import Notelog
import Testing

@Suite(.enabled(if: ProcessInfo.processInfo.environment["NOTELOG_SCALE"] != nil), .serialized)
struct OpenScaleTests {
  @Test(arguments: [100_000, 10_000_000]) func `a clean opening and one read`(count: Int) throws {
    let store = try TemporaryStore()
    let clock = ContinuousClock()
    do {
      let journal = try Journal.create(in: store.storage, storeID: key(99))
      var batch = Batch()
      let writing = try clock.measure {
        for start in stride(from: 0, to: count, by: 1000) {
          batch.removeAll()
          for number in start..<start + 1000 {
            batch.put(key(number), collection: 1, bodyByteCount: 24) { $0.store(UInt64(number), at: 0) }
          }
          try journal.commit(&batch, .buffered)
        }
      }
      print(count, "records, a put:", writing / count)
      print("checkpoint:", try clock.measure { try journal.checkpoint() })
      print("close:", try clock.measure { try journal.close() })
    }
    var openings: [Duration] = []
    var reads: [Duration] = []
    for round in 0..<31 {
      var opened: Journal?
      openings.append(try clock.measure { opened = try Journal.open(in: store.storage) })
      let journal = try #require(opened)
      #expect(journal.report.checkpoint == .used)
      var buffer = ReadBuffer()
      var isFound = false
      reads.append(
        try clock.measure { isFound = try journal.records.read(key(round * 3001), into: &buffer) != nil })
      #expect(isFound)
      try journal.close()
    }
    print(count, "open:", openings.sorted()[15], "first read:", reads.sorted()[15])
    let journal = try Journal.open(in: store.storage)
    print("all shards:", try clock.measure { try journal.catalog.index.loadAll() })
    var generator = SystemRandomNumberGenerator()
    var buffer = ReadBuffer()
    var found = 0
    let reading = try clock.measure {
      for _ in 0..<1_000_000 {
        if try journal.records.read(key(Int.random(in: 0..<count, using: &generator)), into: &buffer) != nil {
          found += 1
        }
      }
    }
    #expect(found == 1_000_000)
    print("random read:", reading / 1_000_000)
    var scanned = 0
    let scanning = try clock.measure {
      try journal.snapshot().forEach { _, _, _ in
        scanned += 1
        return true
      }
    }
    #expect(scanned == count)
    print("scan, a record:", scanning / count)
    try journal.close()
    try store.storage.unlink("index")
    print("rebuild from footers:", try clock.measure { try Journal.open(in: store.storage).close() })
  }

  /// What a crash leaves to be read: frames of the last segment or two, and what of the footers since the
  /// last checkpoint is not sorted yet. It does not grow with what was written since.
  @Test(arguments: [100_000, 10_000_000]) func `an opening after a crash`(count: Int) throws {
    let store = try TemporaryStore()
    let clock = ContinuousClock()
    let journal = try Journal.create(in: store.storage, storeID: key(99))
    var next = 0
    func write(_ number: Int, together: Int = 1000) throws {
      var batch = Batch()
      for start in stride(from: next, to: next + number, by: together) {
        batch.removeAll()
        for number in start..<start + together {
          batch.put(key(number), collection: 1, bodyByteCount: 24) { $0.store(UInt64(number), at: 0) }
        }
        try journal.commit(&batch, .flushed)
      }
      next += number
    }
    func measure(_ what: String) throws -> Duration {
      var openings: [Duration] = []
      for _ in 0..<5 {
        let copy = try store.crashedCopy()
        var opened: Journal?
        openings.append(try clock.measure { opened = try Journal.open(in: copy.storage) })
        let journal = try #require(opened)
        #expect(!journal.report.wasClosed && journal.report.damages.isEmpty)
        var buffer = ReadBuffer()
        #expect(try journal.records.read(key(next - 1), into: &buffer) != nil)
        try journal.close()
      }
      let segments = store.segmentByteCounts
      print(
        count, "records, crashed", what, "open:", openings.sorted()[2], "segments:", segments.count,
        "the last:",
        segments.last ?? 0)
      return openings.sorted()[2]
    }
    try write(count)
    try journal.checkpoint()
    _ = try measure("right after a checkpoint")
    let segmentCount = store.segmentByteCounts.count
    while store.segmentByteCounts.count == segmentCount { try write(1000) }
    try write(count / 100)
    let one = try measure("a segment later")
    try write(count / 5)
    let many = try measure("a fifth of the store later")
    #expect(many < one * 2)
    try write(count / 5)
    _ = try measure("two fifths of the store later")
    try write(count / 25, together: 1)
    _ = try measure("after transactions of single records")
    try journal.close()
  }
}
