// Compaction interrupted at every step: FORMAT.md §24, INV-C1 and INV-C2.

@testable import Notelog
@testable import NotelogFormat
import NotelogTestSupport
import Testing

@Suite struct `Crashes of compaction` {
  /// What a partial merge once brought back elsewhere: basho/bitcask#82.
  @Test func `deleted records never come back, whatever is compacted when`() throws {
    for seed in TestEffort.sample(UInt64(0)..<2000, 40) {
      var random = SeededGenerator(seed: seed)
      var disk = SimulatedDisk()
      var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
      var model: [Int: [UInt8]] = [:]
      for step in 0..<400 {
        let number = random.pick(0..<30)
        switch random.pick(0..<20) {
        case 0: _ = try journal.compact(WorkBudget(byteCount: random.pick(1..<8000)))
        case 1:
          // Every other time the process is killed.
          if random.oneIn(2) { try journal.close() }
          disk = disk.crashImageNow(.processKilled)
          journal = try Journal.open(in: disk, options: .small)
          #expect(try `Compaction`.contents(journal) == model, "seed \(seed), step \(step)")
        case 2..<8:
          try journal.delete(key(number))
          model[number] = nil
        default:
          try journal.put(key(number), `Compaction`.body(number, step))
          model[number] = `Compaction`.body(number, step)
        }
      }
      _ = try journal.compact()
      try journal.close()
      journal = try Journal.open(in: disk, options: .small)
      #expect(try `Compaction`.contents(journal) == model, "seed \(seed)")
    }
  }

  @Test func `a crash at any step of compaction leaves the old state or the new`() {
    let tally = TestEffort.sample(UInt64(1)..<21, 2).map { seed in
      CrashSweep<[Int: [UInt8]]>(
        name: "compaction", seed: seed, budgets: TestEffort.isSoak ? [nil, 12] : [60, 4],
        workload: { disk, notes in
          let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
          let model = try `Compaction`.fill(journal)
          try journal.synchronize()
          notes.note(model)
          while try journal.compact(WorkBudget(byteCount: 6000)).isUnfinished {}
          _ = try journal.compact()
          try journal.close()
        },
        recover: { disk in _ = try Journal.open(in: disk, options: .small) },
        check: { disk, point, notes in
          struct Wrong: Error { let what: String }
          guard let model = notes.last else { return }
          for _ in 0..<2 {
            let journal = try Journal.open(in: disk, options: .small)
            guard journal.report.damages.isEmpty else { throw Wrong(what: "\(journal.report.damages)") }
            guard try `Compaction`.contents(journal) == model else { throw Wrong(what: "contents") }
            // It goes on from there.
            _ = try journal.compact()
            guard try `Compaction`.contents(journal) == model else {
              throw Wrong(what: "contents, compacted")
            }
            try journal.close()
          }
          let report = try Journal.verify(disk).report
          guard report.verdict == .sound, try Self.mayStray(report.strays, on: disk, point) else {
            throw Wrong(what: "\(report)")
          }
        }
      ).run()
    }.reduce(CrashTally(), +)
    #expect(tally.failures.isEmpty, "\(tally.summary)")
    #expect(TestEffort.replay != nil || tally.pairCount > 150)
  }

  /// Of a creation that was interrupted the name may be there, with whatever the medium held under it; or,
  /// where its sectors are torn, with its live set and neither copy of its header, which nothing tells from a
  /// segment that was damaged later.
  private static func mayStray(_ names: [String], on disk: SimulatedDisk, _ point: CrashPoint) throws -> Bool
  {
    let losses = point.crashes.map(\.loss)
    if names.isEmpty || losses.contains(.staleTail) { return true }
    let headless = try Survey(disk, storeID: key(99)).unreadable.map { FileName.segment($0) }
    return losses.contains(.sectorsTorn) && names.allSatisfy(headless.contains)
  }

  @Test func `whatever fails in compaction, nothing is lost`() throws {
    let start = SimulatedDisk()
    let first = try Journal.create(in: start, storeID: key(99), options: .small)
    let model = try `Compaction`.fill(first)
    try first.close()
    let (struck, failures) = FaultSweep.run(from: start) { disk, kind in
      struct Wrong: Error { let what: String }
      do {
        let journal = try Journal.open(in: disk, options: .small)
        _ = try journal.compact()
        try journal.close()
      } catch is NotelogError {}
      disk.forgetFaults()
      let again = try Journal.open(in: disk.crashImageNow(.allLost), options: .small)
      guard try `Compaction`.contents(again) == model else { throw Wrong(what: "contents") }
      _ = try again.compact()
      guard try `Compaction`.contents(again) == model else { throw Wrong(what: "contents, compacted") }
    }
    #expect(failures == [])
    #expect(struck > 200)
  }
}
