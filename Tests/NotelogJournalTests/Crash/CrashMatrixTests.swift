// Crashes at every call, in every loss model, and crashes in the recovery from crashes: INV-R1, INV-R2,
// INV-R3, INV-R4, INV-R5 and INV-R7, and with compactions among the calls INV-C1 and INV-C2.

import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct `Crashes` {
  /// Runs workloads two at a time and adds up what their sweeps found.
  private func sweep(
    _ name: String, seeds: [UInt64], budgets: [Int?], script: @escaping @Sendable (UInt64) -> Script
  ) throws -> CrashTally {
    let tallies = try Threads.map(seeds) { seed in
      let store = ScriptedStore(script(seed))
      let check = Lock<CrashCheck?>(nil)
      return CrashSweep<Acknowledgement>(
        name: "\(name)-\(seed)", seed: seed, budgets: budgets,
        workload: { disk, notes in
          try store.run(on: disk, notes)
          check.withLock { $0 = CrashCheck(store) }
        },
        recover: { disk in
          let journal = try ScriptedStore.open(disk, seed: seed)
          var batch = Batch()
          batch.put(CrashCheck.extraKey, collection: 2, bodyByteCount: 8) { _ in }
          try journal.commit(&batch, .durable)
          try journal.close()
        },
        check: { disk, point, notes in try check.withLock { $0 }?.check(disk, point, notes) }
      ).run()
    }
    return tallies.reduce(CrashTally(), +)
  }

  @Test func `at every call leave a prefix that holds everything promised`() throws {
    let seeds = TestEffort.sample(UInt64(1)..<401, 40)
    let tally = try sweep("matrix", seeds: seeds, budgets: [TestEffort.isSoak ? 250 : 24]) {
      Script(seed: $0)
    }
    #expect(tally.failures.isEmpty, "\(tally.summary)")
    #expect(TestEffort.replay != nil || tally.pairCount >= (TestEffort.isSoak ? 70_000 : 800))
    print("crash matrix: \(tally.pairs)")
  }

  @Test func `in a recovery, and in the recovery from that, change nothing`() throws {
    let tally = try sweep(
      "nested", seeds: TestEffort.sample(UInt64(1)..<101, 6),
      budgets: TestEffort.isSoak ? [12, 8, 4] : [5, 5, 2]
    ) { Script(seed: $0, byteCount: 40_000, threadCount: 1) }
    #expect(tally.failures.isEmpty, "\(tally.summary)")
    #expect(TestEffort.replay != nil || tally.pairCount >= (TestEffort.isSoak ? 20_000 : 300))
    print("nested crashes: \(tally.pairs)")
  }
}
