// The space contract holds at every moment; a scrub comes round to everything.

import NotelogJournal
import NotelogTestSupport
import Testing

@Suite struct `Space and scrub` {
  @Test(arguments: [
    (50, 4000, 64 << 10), (1000, 600, 64 << 10), (20_000, 100, 1 << 20), (1 << 20, 8, 1 << 20),
  ])
  func `the space contract holds at every moment of random updates`(
    byteCount: Int, recordCount: Int, segmentByteCount: Int
  ) throws {
    let store = try TemporaryStore()
    var options = JournalOptions()
    options.segmentByteCount = segmentByteCount
    options.compactsAutomatically = true
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: options)
    var random = SeededGenerator(seed: UInt64(byteCount))
    let body = random.bytes(count: byteCount)
    var worst = 0.0
    // A transaction larger than a segment makes its segment that large.
    let size = max(segmentByteCount, byteCount + 8192)
    let rounds = 20 * min(recordCount, 400)
    for step in 0..<recordCount + rounds {
      let number = step < recordCount ? step : random.pick(0..<recordCount)
      try journal.put(key(number), body)
      if step % 20 == 0 {
        let statistics = journal.statistics
        let over = Double(statistics.byteCount - 2 * size) / Double(max(1, statistics.liveByteCount))
        worst = max(worst, over)
      }
    }
    #expect(worst <= 1.5, "\(worst)")
    #expect((journal.statistics.bytesWrittenPerByteStored ?? 0) >= 1)
    _ = try journal.compact()
    let statistics = journal.statistics
    #expect(statistics.byteCount <= statistics.liveByteCount * 105 / 100 + size)
    print(
      "space: \(byteCount) B: worst \(worst), after compact",
      Double(statistics.byteCount) / Double(statistics.liveByteCount), "written per byte",
      statistics.bytesWrittenPerByteStored ?? 0)
    try journal.close()
    #expect(try Journal.verify(store.storage).report.damages == [])
  }

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
    #expect(Set(whole.damages.map(\.segment)) == [2, 4])
    #expect(whole.next == nil)
    var damages: [NotelogJournal.Damage] = []
    var position: ScrubPosition? = ScrubPosition()
    var steps = 0
    while let from = position {
      let part = try journal.scrub(from: from, CompactionBudget(byteCount: 1))
      #expect(part.segmentCount == 1)
      damages += part.damages
      position = part.next
      steps += 1
    }
    #expect(steps == whole.segmentCount)
    #expect(damages == whole.damages)
  }
}
