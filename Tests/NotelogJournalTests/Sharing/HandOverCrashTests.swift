// Crashes while the store's lock is handed over: FORMAT.md §25, "Lending".

import NotelogBase
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct `Crashes of a hand-over` {
  private static func contents(_ journal: Journal) throws -> [ID16: [UInt8]] {
    var contents: [ID16: [UInt8]] = [:]
    for id in try journal.records() { contents[id] = try journal.body(of: id) }
    return contents
  }

  /// What was acknowledged, and after which call.
  private struct Acknowledgement {
    let call: Int
    let isDurable: Bool
    let contents: [ID16: [UInt8]]
  }

  private struct Run {
    let disk = SimulatedDisk()
    var random: SeededGenerator
    var model: [ID16: [UInt8]] = [:]
    var acknowledged: [Acknowledgement] = []

    mutating func write(to journal: Journal) throws {
      var batch = Batch()
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let id = key(Int.random(in: 0..<12, using: &random))
        if Int.random(in: 0..<4, using: &random) == 0 {
          batch.delete(id, collection: 1)
          model[id] = nil
        } else {
          let body = random.bytes(count: Int.random(in: 0..<900, using: &random))
          batch.put(id, collection: 1, bodyByteCount: body.count) { $0.copy(body.rawSpan, at: 0) }
          model[id] = body
        }
      }
      let isDurable = Bool.random(using: &random)
      try journal.commit(&batch, isDurable ? .durable : .flushed)
      acknowledged.append(
        Acknowledgement(call: disk.callCount, isDurable: isDurable, contents: model))
    }
  }

  /// Two processes that write in turns, one of which compacts.
  private static func run(seed: UInt64) throws -> Run {
    var run = Run(random: SeededGenerator(seed: seed))
    var options = JournalOptions.small
    options.isLeased = true
    let first = try Journal.create(in: run.disk, storeID: key(99), options: options)
    run.acknowledged.append(Acknowledgement(call: run.disk.callCount, isDurable: true, contents: [:]))
    for _ in 0..<4 { try run.write(to: first) }
    try first.suspend()
    let second = try Journal.open(in: run.disk, options: options)
    for turn in 0..<6 {
      let journal = turn % 2 == 0 ? second : first
      for _ in 0..<3 { try run.write(to: journal) }
      if turn == 3 { _ = try journal.compact() }
      try journal.suspend()
    }
    try first.close()
    try second.close()
    return run
  }

  /// Whatever a crash leaves, everybody finds what was acknowledged, and goes on.
  @Test(arguments: TestEffort.sample(0..<30, 2))
  func `a crash at any call of a hand-over loses nothing that was acknowledged`(seed: Int) throws {
    let run = try Self.run(seed: UInt64(seed))
    let states = run.acknowledged
    var tried = 0
    for call in run.disk.crashPoints where call >= states[0].call {
      for loss in LossModel.allCases {
        let image = run.disk.crashImage(after: call, loss, seed: UInt64(call))
        let place = "seed \(seed), after \(run.disk.describe(call: call)) (\(call)), \(loss)"
        let least = states.lastIndex { $0.call <= call && ($0.isDurable || loss == .processKilled) } ?? 0
        let journal = try Journal.open(in: image, options: .small)
        let found = try Self.contents(journal)
        let isKnown = states[least...].contains { $0.contents == found }
        try #require(isKnown && journal.report.verdict != .contained, "\(place)")
        try journal.put(key(50), [1], .durable)
        try journal.suspend()
        try journal.resume()
        #expect(try journal.body(of: key(50)) == [1], "\(place)")
        try journal.close()
        tried += 1
      }
    }
    #expect(tried > 500)
  }

  /// One process dies at any of its calls, and another that has the store open takes over.
  @Test(arguments: TestEffort.sample(0..<30, 2))
  func `who has the store open takes over from a process that died at any call`(seed: Int) throws {
    var options = JournalOptions.small
    options.isLeased = true
    var passing = 0
    var isOver = false
    while !isOver {
      var run = Run(random: SeededGenerator(seed: UInt64(seed)))
      let survivor = try Journal.create(in: run.disk, storeID: key(99), options: options)
      for _ in 0..<6 { try run.write(to: survivor) }
      try survivor.suspend()
      let mortal = try Journal.open(in: run.disk, options: options)
      try run.write(to: mortal)
      run.disk.plan(Fault(.error(SystemErrno.inputOutput), of: .everyCall, passing: passing, lasts: true))
      let before = run.acknowledged.count
      do {
        for _ in 0..<3 { try run.write(to: mortal) }
        _ = try mortal.compact()
        try run.write(to: mortal)
        try mortal.suspend()
        isOver = true
      } catch {}
      // What was under way when it died may be there or not.
      let underWay = run.model
      run.disk.forgetFaults()
      try mortal.abandon()
      try survivor.refresh()
      let states = run.acknowledged[(before - 1)...].map(\.contents) + [underWay]
      let seen = try Self.contents(survivor)
      let first = try #require(states.firstIndex(of: seen), "seed \(seed), call \(passing): following")
      run.model = seen
      try survivor.put(key(50), [1], .durable)
      let found = try Self.contents(survivor).filter { $0.key != key(50) }
      let second = try #require(states.firstIndex(of: found), "seed \(seed), call \(passing): taking over")
      #expect(second >= first, "seed \(seed), call \(passing)")
      let acknowledged = states.count - 1 - (isOver ? 0 : 1)
      #expect(
        second >= acknowledged || states[second] == states[acknowledged], "seed \(seed), call \(passing)")
      try survivor.close()
      let again = try Journal.open(in: run.disk, options: .small)
      #expect(try Self.contents(again).filter { $0.key != key(50) } == found, "seed \(seed), call \(passing)")
      try again.close()
      passing += 1
    }
    #expect(passing > 60)
  }
}
