// The crash harness notices stores that are wrong, and stays quiet about one that is right.

import NotelogStorage
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct `The crash sweep` {
  private func sweep(_ mistake: MiniStore.Mistake?, seed: UInt64 = 1) -> CrashSweep<String> {
    let store = MiniStore(mistake: mistake)
    return CrashSweep(
      name: "mini", seed: seed, workload: { try store.run(on: $0, $1) },
      check: { try store.check($0, $1, $2) })
  }

  @Test func `a store that syncs what it promises passes everywhere`() {
    let tally = (1...20).map { sweep(nil, seed: $0).run() }.reduce(CrashTally(), +)
    #expect(tally.failures.isEmpty, "\(tally.summary)")
    #expect(tally.pairCount > 1_000)
  }

  @Test(arguments: MiniStore.Mistake.allCases)
  func `a store that leaves out one step is caught`(mistake: MiniStore.Mistake) {
    let tally = (1...10).map { sweep(mistake, seed: $0).run() }.reduce(CrashTally(), +)
    #expect(!tally.failures.isEmpty)
  }

  @Test(arguments: [
    (MiniStore.Mistake.fileNotSynced, LossModel.bytesLost), (.fileNotSynced, .zeroTail),
    (.fileNotSynced, .staleTail),
    (.folderNotSynced, .allLost), (.folderNotSynced, .entriesLost), (.folderNotSynced, .entriesSubset),
    (.folderNotSynced, .prefixKept), (.logNotSynced, .allLost), (.logNotSynced, .firstLost),
    (.logNotSynced, .lastTorn), (.logNotSynced, .sectorsTorn), (.logNotSynced, .pagesTorn),
    (.logNotSynced, .subsetKept), (.promisedTooEarly, .allKept), (.promisedTooEarly, .processKilled),
  ])
  func `each loss loses something of its own`(mistake: MiniStore.Mistake, loss: LossModel) {
    var tally = CrashTally()
    for seed in UInt64(1)...10 {
      var one = sweep(mistake, seed: seed)
      one.losses = [loss]
      tally = tally + one.run()
    }
    #expect(!tally.failures.isEmpty)
  }

  @Test func `a failing case is named by a line that leads back to it`() throws {
    let tally = sweep(.folderNotSynced).run()
    let line = try #require(tally.failures.first)
    #expect(line.hasPrefix("NOTELOG_REPLAY='mini@"))
    let text = try #require(line.split(separator: "'").dropFirst().first?.dropFirst("mini@".count))
    let point = try #require(CrashPoint(text))
    #expect(point.description == text)
    let chain = CrashPoint("12:sectorsTorn:3>4:allLost:3")
    #expect(chain?.description == "12:sectorsTorn:3>4:allLost:3")
    #expect(chain?.isPowerLoss == true)
    #expect(CrashPoint("4:processKilled:1")?.isPowerLoss == false)
    #expect(CrashPoint("4:nonsense:1") == nil)
  }

  /// A recovery that removes what is half done before it has put the whole in its place: sound in the first
  /// crash, not in the second.
  @Test func `a recovery that a second crash breaks is caught`() {
    struct Lost: Error {}
    let tally = CrashSweep<String>(
      name: "nested", seed: 1, budgets: [nil, nil],
      workload: { disk, notes in
        let file = try disk.open("a", .createNew)
        try file.writeAll([1, 2, 3], at: 0)
        try file.sync()
        try disk.syncFolder("")
        notes.note("there")
      },
      recover: { disk in
        guard let bytes = disk.contents("a") else { return }
        try disk.unlink("a")
        try disk.syncFolder("")
        let file = try disk.open("a", .createNew)
        try file.writeAll(bytes, at: 0)
        try file.sync()
        try disk.syncFolder("")
      },
      check: { disk, _, notes in if notes == ["there"], disk.contents("a") != [1, 2, 3] { throw Lost() } }
    ).run()
    #expect(!tally.failures.isEmpty)
    #expect(tally.failures.allSatisfy { $0.contains(">") })
    #expect((tally.pairs[1] ?? 0) > 0)
  }

  @Test func `faults are tried until none is left to strike`() {
    let store = MiniStore(mistake: nil)
    let (struck, failures) = FaultSweep.run { disk, kind in
      let notes = Notebook<String>(of: disk)
      do { try store.run(on: disk, notes) } catch is StorageError {}
      try store.check(disk.crashImageNow(.allLost), CrashPoint([]), notes.all)
    }
    #expect(failures == [])
    #expect(struck > 200)
  }
}
