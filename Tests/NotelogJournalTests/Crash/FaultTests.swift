// Every system call fails once, in every way: INV-T5, and an error that says so.

import NotelogBase
@testable import Notelog
import NotelogFormat
import NotelogStorage
import NotelogTestSupport
import Testing

@Suite struct `Failing calls` {
  /// Small enough that every call of it can fail, long enough to switch segments, reopen and close.
  private static func script(seed: UInt64) -> Script { Script(seed: seed, byteCount: 30_000, threadCount: 1) }

  private static let seeds = TestEffort.sample(candidates, 1)

  /// Workloads that open the store again and compact it.
  private static let candidates = (UInt64(1)...400).filter { seed in
    let steps = script(seed: seed).threads[0]
    return steps.contains { if case .reopen = $0 { true } else { false } }
      && steps.contains { if case .compact = $0 { true } else { false } }
  }.prefix(6)

  @Test(arguments: seeds)
  func `end in an error and a sound store`(seed: UInt64) {
    let script = Self.script(seed: seed)
    let start = SimulatedDisk()
    start.allocates = script.allocates
    let (struck, failures) = FaultSweep.run(from: start) { disk, kind in
      disk.allocates = script.allocates
      var run = FaultyRun(script, on: disk, kind)
      try run.run()
    }
    #expect(
      failures.isEmpty, "\(failures.count) of \(struck):\n\(failures.prefix(12).joined(separator: "\n"))")
    #expect(struck > 200)
    print("faults struck: \(struck)")
  }

  /// A sync that failed and forgot its pages must not be followed by one that succeeds.
  @Test func `a failed sync is never tried again`() throws {
    let disk = SimulatedDisk()
    let journal = try ScriptedStore.create(on: disk, seed: 1)
    try journal.put(key(1), [1], .durable)
    disk.plan(Fault(.syncDropsPages(readsOldBytes: false), of: [.sync], passing: 0))
    #expect(throws: NotelogError(.poisoned, "")) { try journal.put(key(2), [2], .durable) }
    let steps = disk.crashPoints.count
    #expect(throws: NotelogError(.poisoned, "")) { try journal.synchronize() }
    #expect(throws: NotelogError(.poisoned, "")) { try journal.put(key(3), [3], .durable) }
    #expect(throws: NotelogError.self) { try journal.close() }
    #expect(disk.crashPoints.count == steps)
    // What was acknowledged is there, and so is what a reopened store reads.
    #expect(try ScriptedStore.open(disk.crashImageNow(.allLost), seed: 1).body(of: key(1)) == [1])
    let again = try ScriptedStore.open(disk, seed: 1)
    let found = try again.body(of: key(2))
    #expect(try ScriptedStore.open(disk.crashImageNow(.allLost), seed: 1).body(of: key(2)) == found)
  }

  /// A switch without a transaction after it left the old head's footer to nobody's sync: closing took the
  /// last transaction's durability for everything's.
  @Test func `closing makes the footer of a segment durable that a failed compaction finished`() throws {
    let disk = SimulatedDisk()
    let journal = try ScriptedStore.create(on: disk, seed: 1)
    for round in 0..<2 {
      for number in 0..<8 {
        try journal.put(key(number), [UInt8](repeating: UInt8(round), count: 100), .durable)
      }
    }
    // Which chunks live is known by then: the copy is what can't be read.
    try journal.loadChunks()
    disk.plan(Fault(.error(SystemErrno.inputOutput), of: [.read], passing: 0, lasts: true))
    #expect(try journal.compact().damagedSegments == [1])
    disk.forgetFaults()
    try journal.close()
    let crashed = disk.crashImageNow(.allLost)
    let report = try Journal.verify(crashed).report
    #expect(report.verdict == .sound && report.wasClosed)
    #expect(try ScriptedStore.open(crashed, seed: 1).records().count == 8)
  }

  /// Wherever the disk fills up, nothing is lost, deleting works, and space comes back.
  @Test(arguments: [true, false])
  func `a full disk loses nothing and is recovered from by deleting`(allocates: Bool) throws {
    var fullCount = 0
    for capacity in stride(from: 140_000, to: 240_000, by: 1_111) {
      let disk = SimulatedDisk()
      disk.allocates = allocates
      disk.capacity = capacity
      var journal = try ScriptedStore.create(on: disk, seed: UInt64(capacity))
      var model: [ID16: [UInt8]] = [:]
      var random = SeededGenerator(seed: UInt64(capacity))
      var isFull = false
      for number in 0..<400 where !isFull {
        let body = random.bytes(count: random.pick(0..<1_200))
        do {
          try journal.put(key(number), body, number % 5 == 0 ? .durable : .flushed)
          model[key(number)] = body
        } catch {
          let code = (error as? NotelogError)?.code
          try #require(code == .full || (code == .poisoned && !allocates), "capacity \(capacity): \(error)")
          if code == .poisoned { journal = try ScriptedStore.open(disk, seed: UInt64(capacity)) }
          isFull = true
          fullCount += 1
        }
      }
      func check(_ what: String) throws {
        try #require(Set(try journal.records()) == Set(model.keys), "capacity \(capacity), \(what)")
        for (id, body) in model { try #require(try journal.body(of: id) == body) }
      }
      try check("full")
      guard isFull else { continue }
      // Even one by one, as long as there is something in reserve for them.
      for number in 0..<60 where number % 4 != 0 && model[key(number)] != nil {
        try journal.delete(key(number))
        model[key(number)] = nil
      }
      try check("deleted")
      _ = try journal.compact()
      try check("compacted")
      for number in 400..<420 {
        try journal.put(key(number), [1, 2, 3], .durable)
        model[key(number)] = [1, 2, 3]
      }
      try journal.close()
      journal = try ScriptedStore.open(disk, seed: UInt64(capacity))
      try check("reopened")
      #expect(try Journal.verify(disk).report.damages == [])
    }
    #expect(fullCount > 50)
  }
}
