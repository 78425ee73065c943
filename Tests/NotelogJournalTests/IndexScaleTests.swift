// What ten million records cost in memory and time: run by name, optimised, with NOTELOG_SCALE=1.

import Foundation
@testable import NotelogJournal
import NotelogTestSupport
import Testing

@Suite struct IndexScaleTests {
  /// Every shard grows at about the same number of records, so the largest share is reached by all of them at once.
  @Test func `a shard takes at most 24 bytes an entry from 5 to 10 million records`() {
    let shardCount = Index.shardCount
    var generator = SeededGenerator(seed: 5)
    var table = EntryTable()
    var largest = 0.0
    for number in 1...(10_000_000 / shardCount) {
      table.insert(generator.next() >> 8, Place(segment: 1, offset: number * 8))
      guard number >= 5_000_000 / shardCount else { continue }
      // While one shard grows, its old memory and its new are both there.
      let share = Double(table.byteCount) * (1 + 1 / Double(shardCount)) / Double(number)
      largest = max(largest, share)
    }
    #expect(largest <= 24)
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
        let id = RecordKey(low: UInt64(number), high: 7)
        try index.insert(
          index.fingerprint(of: id), Place(segment: 1 + UInt32(number >> 18), offset: number % 262_144 * 8))
        if number >= total / 2, number % 50_000 == 0 {
          largest = max(largest, Double(residentByteCount() - before) / Double(number))
        }
      }
    }
    var found = 0
    var generator = SeededGenerator(seed: 1)
    let hitTime = try clock.measure {
      for _ in 0..<1_000_000 {
        let id = RecordKey(low: generator.next() % UInt64(total), high: 7)
        if try index.candidate(index.fingerprint(of: id), 0) != nil { found += 1 }
      }
    }
    let missTime = try clock.measure {
      for _ in 0..<1_000_000 {
        let id = RecordKey(low: generator.next() % UInt64(total), high: 8)
        if try index.candidate(index.fingerprint(of: id), 0) != nil { found += 1 }
      }
    }
    #expect(found == 1_000_000)
    #expect(largest <= 24)
    print("bytes a record, at most:", largest, "insert:", insertTime / total, "hit:", hitTime / 1_000_000)
    print("miss:", missTime / 1_000_000)
  }

  private func residentByteCount() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
    let fields = text.split(separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4096 : 0
  }
}
