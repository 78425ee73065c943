// What ten million records cost in memory and time: run by name, optimised, with NOTELOG_SCALE=1.

@testable import NotelogBase
@testable import NotelogFormat
import Foundation
@testable import Notelog
import NotelogTestSupport
import Testing

// One after another: they measure the process.
@Suite(.serialized) struct IndexScaleTests {
  /// All shards get about the same number of records; eight of them stand for all.
  @Test func `shards take at most 21 bytes an entry from 5 to 10 million records`() {
    let shardCount = Index.shardCount
    let counts = 5_000_000 / shardCount..<10_000_000 / shardCount
    var shares = [Double](repeating: 0, count: counts.count)
    let staggers = stride(from: 16, to: shardCount, by: 32)
    for stagger in staggers {
      var generator = SeededGenerator(seed: 5)
      var table = EntryTable(stagger: stagger)
      var largest = 0.0
      for number in 1..<counts.upperBound {
        table.insert(generator.next() >> 8, FrameAddress(segment: 1, offset: number * 8))
        guard number >= counts.lowerBound else { continue }
        // While one shard grows, its old memory and its new are both there.
        let share = Double(table.byteCount) * (1 + 1 / Double(shardCount)) / Double(number)
        largest = max(largest, share)
        shares[number - counts.lowerBound] += share / 8
      }
      #expect(largest <= 22)
    }
    #expect(staggers.underestimatedCount == 8)
    #expect((shares.max() ?? 0) <= 21)
  }

  @Test(.enabled(if: ProcessInfo.processInfo.environment["NOTELOG_SCALE"] != nil))
  func `ten million records in memory`() throws {
    let before = residentByteCount()
    let index = Index(key: FingerprintKey(low: 1, high: 2))
    let clock = ContinuousClock()
    let total = 10_000_000
    var largest = 0.0
    let insertTime = try clock.measure {
      for number in 0..<total {
        let id = ID16(low: UInt64(number), high: 7)
        try index.insert(
          index.fingerprint(of: id),
          FrameAddress(segment: 1 + UInt32(number >> 18), offset: number % 262_144 * 8))
        if number >= total / 2, number % 50_000 == 0 {
          largest = max(largest, Double(residentByteCount() - before) / Double(number))
        }
      }
    }
    var found = 0
    var generator = SeededGenerator(seed: 1)
    let hitTime = try clock.measure {
      for _ in 0..<1_000_000 {
        let id = ID16(low: generator.next() % UInt64(total), high: 7)
        if try index.candidate(index.fingerprint(of: id), 0) != nil { found += 1 }
      }
    }
    let missTime = try clock.measure {
      for _ in 0..<1_000_000 {
        let id = ID16(low: generator.next() % UInt64(total), high: 8)
        if try index.candidate(index.fingerprint(of: id), 0) != nil { found += 1 }
      }
    }
    #expect(found == 1_000_000)
    #expect(largest <= 24)
    print("bytes a record, at most:", largest, "insert:", insertTime / total, "hit:", hitTime / 1_000_000)
    print("miss:", missTime / 1_000_000)
  }

  @Test(.enabled(if: ProcessInfo.processInfo.environment["NOTELOG_SCALE"] != nil))
  func `ten million records in a journal`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99))
    let before = residentByteCount()
    var batch = Batch()
    var largest = 0.0
    for start in stride(from: 0, to: 10_000_000, by: 1000) {
      batch.removeAll()
      for number in start..<start + 1000 {
        batch.put(key(number), collection: 1, bodyByteCount: 8) { $0.store(UInt64(number), at: 0) }
      }
      try journal.commit(&batch, .flushed)
      guard start >= 5_000_000, start % 10_000 == 0 else { continue }
      largest = max(largest, Double(residentByteCount() - before) / Double(start))
    }
    try journal.close()
    print("bytes a record in a journal, at most:", largest)
    #expect(largest <= 24)
  }

  private func residentByteCount() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
    let fields = text.split(separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4096 : 0
  }
}
