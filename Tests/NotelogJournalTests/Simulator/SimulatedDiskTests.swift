// What the simulated disk keeps, loses and refuses: the crash tests are worth what these hold.

import NotelogStorage
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct `The simulated disk` {
  /// A disk with `old` durable (three pages of 1), then unsynced: three pages of 2, 3 and 4 over it and one
  /// of 5 after it, `new` created and written, `old` renamed to `moved`.
  private func uncertainDisk() throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    let old = try disk.open("old", .createNew)
    try old.writeAll(pages(1, 1, 1), at: 0)
    try old.sync()
    try disk.syncFolder("")
    for (page, byte) in [2, 3, 4, 5].enumerated() {
      try old.writeAll(pages(UInt8(byte)), at: page * 4_096)
    }
    let new = try disk.open("new", .createNew)
    try new.writeAll(pages(9), at: 0)
    try disk.rename("old", to: "moved")
    return disk
  }

  private func pages(_ bytes: UInt8...) -> [UInt8] { bytes.flatMap { [UInt8](repeating: $0, count: 4_096) } }

  /// What every seed in turn leaves, for models that choose.
  private func outcomes(_ loss: LossModel, of name: String) throws -> [[UInt8]?] {
    let disk = try uncertainDisk()
    return (0..<200).map { disk.crashImageNow(loss, seed: UInt64($0)).contents(name) }
  }

  @Test func `reads see what was written, synced or not`() throws {
    let disk = try uncertainDisk()
    #expect(disk.fileNames == ["moved", "new"])
    #expect(disk.contents("moved") == pages(2, 3, 4, 5))
    let killed = disk.crashImageNow(.processKilled)
    #expect(killed.contents("moved") == pages(2, 3, 4, 5))
    // What a killed process left unsynced is still unsynced.
    #expect(killed.crashImageNow(.allLost).contents("old") == pages(1, 1, 1))
  }

  @Test func `what was not synced is lost, and what was stays`() throws {
    let lost = try uncertainDisk().crashImageNow(.allLost)
    #expect(lost.fileNames == ["old"])
    #expect(lost.contents("old") == pages(1, 1, 1))
    let kept = try uncertainDisk().crashImageNow(.allKept)
    #expect(kept.fileNames == ["moved", "new"])
    #expect(kept.contents("moved") == pages(2, 3, 4, 5))
  }

  @Test func `bytes and names are lost apart`() throws {
    let entriesLost = try uncertainDisk().crashImageNow(.entriesLost)
    #expect(entriesLost.fileNames == ["old"])
    #expect(entriesLost.contents("old") == pages(2, 3, 4, 5))
    let bytesLost = try uncertainDisk().crashImageNow(.bytesLost)
    #expect(bytesLost.fileNames == ["moved", "new"])
    #expect(bytesLost.contents("moved") == pages(1, 1, 1))
    #expect(bytesLost.contents("new") == [])
    let disk = try uncertainDisk()
    let names = Set((0..<100).map { disk.crashImageNow(.entriesSubset, seed: $0).fileNames })
    // A rename happens or doesn't: the file has one of its names, never both or none.
    #expect(names == [["old"], ["moved"], ["new", "old"], ["moved", "new"]])
  }

  @Test func `a sync covers a file's bytes and not its name`() throws {
    let disk = SimulatedDisk()
    let file = try disk.open("a", .createNew)
    try file.writeAll(pages(7), at: 0)
    try file.sync()
    #expect(disk.crashImageNow(.allLost).fileNames == [])
    try disk.syncFolder("")
    #expect(disk.crashImageNow(.allLost).contents("a") == pages(7))
  }

  @Test func `a prefix of each file's writes stays`() throws {
    let found = Set(try outcomes(.prefixKept, of: "moved") + outcomes(.prefixKept, of: "old"))
    let possible: [[UInt8]] = [
      pages(1, 1, 1), pages(2, 1, 1), pages(2, 3, 1), pages(2, 3, 4), pages(2, 3, 4, 5),
    ]
    #expect(found.subtracting([nil]) == Set(possible))
  }

  @Test func `a later write can be there without an earlier one`() throws {
    #expect(try outcomes(.firstLost, of: "moved").allSatisfy { $0 == pages(1, 3, 4, 5) })
    let found = Set(try outcomes(.subsetKept, of: "moved") + outcomes(.subsetKept, of: "old"))
    #expect(found.contains(pages(1, 1, 1, 5)))
    #expect(found.contains(pages(1, 1, 4)))
    #expect(found.contains(pages(1, 3, 1, 5)))
  }

  @Test func `writes are torn between sectors and between pages`() throws {
    let last = try outcomes(.lastTorn, of: "moved").map { try #require($0) }
    #expect(last.allSatisfy { $0.prefix(3 * 4_096) == pages(2, 3, 4)[...] && $0.count % 512 == 0 })
    #expect(Set(last.map(\.count)).count == 8)
    let pieces = try outcomes(.sectorsTorn, of: "moved").map { try #require($0) }
    #expect(pieces.contains { $0.count > 512 && $0[0] != $0[512] })
    #expect(pieces.allSatisfy { bytes in bytes.indices.allSatisfy { bytes[$0] == bytes[$0 & ~511] } })
    let whole = try outcomes(.pagesTorn, of: "moved").map { try #require($0) }
    #expect(whole.allSatisfy { bytes in bytes.indices.allSatisfy { bytes[$0] == bytes[$0 & ~4_095] } })
    // Pages tear within one write too.
    let disk = SimulatedDisk()
    let file = try disk.open("a", .createNew)
    try disk.syncFolder("")
    try file.writeAll(pages(1, 2, 3), at: 0)
    let torn = Set((0..<100).map { disk.crashImageNow(.pagesTorn, seed: $0).contents("a") })
    #expect(torn.contains(pages(0, 2)) && torn.contains(pages(0, 0, 3)) && torn.contains(pages(1)))
  }

  @Test func `new space holds zeros or stale bytes`() throws {
    #expect(try outcomes(.zeroTail, of: "moved").allSatisfy { $0 == pages(1, 1, 1, 0) })
    let disk = SimulatedDisk()
    let first = try disk.open("first", .createNew)
    try first.writeAll(pages(1, 2, 3, 4), at: 0)
    try first.sync()
    try disk.unlink("first")
    let second = try disk.open("second", .createNew)
    try second.writeAll(pages(5), at: 0)
    try second.sync()
    try disk.syncFolder("")
    try second.allocate(0..<4 * 4_096)
    let tails = (0..<100).compactMap { disk.crashImageNow(.staleTail, seed: $0).contents("second") }
    #expect(tails.allSatisfy { $0.count == 4 * 4_096 && $0.prefix(4_096) == pages(5)[...] })
    // The unlinked file's bytes turn up where they were.
    #expect(tails.contains { $0[4_096..<8_192] == pages(2)[...] })
    #expect(tails.contains { Set($0[8_192...]).count > 5 })
  }

  @Test func `what is in a lost folder is lost with it`() throws {
    let disk = SimulatedDisk()
    try disk.makeFolder("inner")
    let file = try disk.open("inner/a", .createNew)
    try file.sync()
    try disk.syncFolder("inner")
    #expect(try disk.names(in: "") == ["inner"])
    #expect(try disk.names(in: "inner") == ["a"])
    #expect(disk.crashImageNow(.allLost).fileNames == [])
    try disk.syncFolder("")
    #expect(disk.crashImageNow(.allLost).fileNames == ["inner/a"])
    // A move between folders is one step, durable with either of them.
    try disk.rename("inner/a", to: "b")
    #expect(disk.crashImageNow(.allLost).fileNames == ["inner/a"])
    try disk.syncFolder("inner")
    #expect(disk.crashImageNow(.allLost).fileNames == ["b"])
  }

  @Test func `every call's crash is found again in the record of one run`() throws {
    let disk = SimulatedDisk()
    let notes = CrashSweep<String>(
      name: "", seed: 0, workload: { disk, notes in try MiniStore(mistake: nil).run(on: disk, notes) },
      check: { _, _, _ in })
    #expect(notes.run().failures == [])
    var seen: [(Int, [UInt8]?, [UInt8]?)] = []
    let file = try disk.open("a", .createNew)
    try disk.syncFolder("")
    for round in 0..<200 {
      try file.writeAll([UInt8(round)], at: round * 3)
      if round % 7 == 0 { try file.sync() }
      if round % 50 == 0 { try file.truncate(to: round) }
      let lost = disk.crashImageNow(.allLost).contents("a")
      seen.append((disk.callCount - 1, disk.contents("a"), lost))
    }
    for (call, cached, durable) in seen.shuffled() {
      #expect(disk.crashImage(after: call, .processKilled).contents("a") == cached)
      #expect(disk.crashImage(after: call, .allLost).contents("a") == durable)
    }
  }

  @Test func `locks belong to the open file`() throws {
    let disk = SimulatedDisk()
    let first = try disk.open("lock", .createIfMissing)
    let second = try disk.open("lock", .createIfMissing)
    let refused = StorageError(.lock, "lock", errno: SystemErrno.wouldBlock)
    try first.lock(.exclusive)
    try first.lock(.exclusive)
    #expect(throws: refused) { try second.lock(.shared) }
    try first.lock(.shared)
    try second.lock(.shared)
    #expect(throws: refused) { try second.lock(.exclusive) }
    first.close()
    try second.lock(.exclusive)
    // The system lets go of a dead process's locks.
    try disk.crashImageNow(.processKilled).open("lock", .update).lock(.exclusive)
  }

  @Test func `a full disk refuses allocations and writes, and gives space back`() throws {
    let disk = SimulatedDisk()
    disk.capacity = 10_000
    let file = try disk.open("a", .createNew)
    try file.allocate(0..<8_192)
    #expect(throws: StorageError(.allocate, "a", errno: SystemErrno.noSpace)) {
      try file.allocate(0..<16_384)
    }
    // What was promised is there; beyond it as much as fits is taken.
    #expect(try file.write(pages(1, 2), at: 0) == 8_192)
    #expect(try file.write(pages(3), at: 8_192) == 1_808)
    #expect(throws: StorageError(.write, "a", errno: SystemErrno.noSpace)) {
      _ = try file.write(pages(3), at: 10_000)
    }
    // Growing by truncation promises nothing.
    try file.truncate(to: 20_000)
    #expect(throws: StorageError(.write, "a", errno: SystemErrno.noSpace)) {
      _ = try file.write(pages(3), at: 12_000)
    }
    try disk.unlink("a")
    #expect(try disk.open("b", .createNew).write(pages(1, 2), at: 0) == 8_192)
    disk.allocates = false
    #expect(throws: StorageError(.allocate, "b", errno: SystemErrno.notSupported)) {
      try disk.open("b", .update).allocate(0..<1)
    }
  }

  @Test(arguments: [false, true])
  func `a failed sync drops what it could not write, and the next one succeeds`(readsOldBytes: Bool) throws {
    let disk = try uncertainDisk()
    try disk.syncFolder("")
    disk.plan(Fault(.syncDropsPages(readsOldBytes: readsOldBytes), of: [.sync], passing: 0))
    let file = try disk.open("moved", .update)
    #expect(throws: StorageError(.sync, "moved", errno: SystemErrno.inputOutput)) { try file.sync() }
    #expect(disk.contents("moved") == (readsOldBytes ? pages(1, 1, 1) : pages(2, 3, 4, 5)))
    try file.sync()
    for loss in LossModel.allCases where loss.isPowerLoss {
      #expect(disk.crashImageNow(loss).contents("moved") == pages(1, 1, 1))
    }
    // Later writes are synced by themselves.
    try file.writeAll(pages(8), at: 4_096)
    try file.sync()
    #expect(disk.crashImageNow(.allLost).contents("moved") == pages(1, 8, 1))
  }

  @Test func `faults strike the call they were planned for`() throws {
    let disk = SimulatedDisk()
    let file = try disk.open("a", .createNew)
    disk.plan(Fault(.error(SystemErrno.interrupted), of: [.write], passing: 1))
    disk.plan(Fault(.shortCount, of: [.read], passing: 0))
    try file.writeAll(pages(1), at: 0)
    #expect(throws: StorageError(.write, "a", errno: SystemErrno.interrupted)) {
      _ = try file.write(pages(2), at: 0)
    }
    #expect(disk.contents("a") == pages(1))
    #expect(try file.read(3, at: 0) == [1])
    #expect(try file.read(3, at: 4_094) == [1, 1])
    disk.plan(Fault(.errorAfterHalf(SystemErrno.inputOutput), of: [.write], passing: 0, lasts: true))
    #expect(throws: StorageError.self) { try file.write(pages(3), at: 0) }
    #expect(disk.contents("a")?.prefix(2_049) == [UInt8](repeating: 3, count: 2_048)[...] + [1])
    #expect(throws: StorageError.self) { try file.write(pages(3), at: 0) }
    disk.forgetFaults()
    try file.writeAll(pages(4), at: 0)
    #expect(disk.firedFaults.count == 4)
  }

  @Test func `writes that arrive during a sync are not covered by it`() throws {
    let disk = SimulatedDisk()
    let file = try disk.open("a", .createNew)
    try disk.syncFolder("")
    try file.writeAll(pages(1), at: 0)
    disk.afterEachCall { call, _ in
      if call == .sync { _ = try? file.write([UInt8](repeating: 2, count: 4_096), at: 0) }
    }
    try file.sync()
    #expect(disk.contents("a") == pages(2))
    #expect(disk.crashImageNow(.allLost).contents("a") == pages(1))
  }
}
