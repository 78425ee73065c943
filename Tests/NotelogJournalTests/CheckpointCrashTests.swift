// Crashes at every call of writing and replacing checkpoints: INV-X1, INV-X2.

import NotelogBase
import NotelogFormat
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct CheckpointCrashTests {
  private static let idCount = 12
  private static let storeID = ID16(low: 1, high: 2)

  /// What the store holds after so many commits.
  private static func state(after count: Int, _ seed: UInt64) -> [ID16: [UInt8]] {
    var state: [ID16: [UInt8]] = [:]
    for number in 0..<count {
      let (id, body) = change(number, seed)
      state[id] = body
    }
    return state
  }

  private static func change(_ number: Int, _ seed: UInt64) -> (ID16, [UInt8]?) {
    var generator = SeededGenerator(mixing: seed, UInt64(number))
    let id = key(generator.pick(0..<idCount))
    let body = [UInt8](count: generator.pick(0..<900), from: number)
    return (id, generator.oneIn(4) ? nil : body)
  }

  /// How many records differ.
  private static func difference(_ left: [ID16: [UInt8]], _ right: [ID16: [UInt8]]) -> Int {
    (0..<idCount).count { left[key($0)] != right[key($0)] }
  }

  private struct Wrong: Error {
    let acknowledged: Int
    let nearest: Int
    let report: RecoveryReport
  }

  private static var options: JournalOptions {
    var options = JournalOptions.small
    // With this few bits most records share a fingerprint with another.
    options.fingerprintBitCount = 3
    return options
  }

  private static func run(on disk: SimulatedDisk, _ notes: Notebook<Int>, seed: UInt64) throws {
    var journal = try Journal.create(in: disk, storeID: storeID, options: options)
    notes.note(0)
    for number in 0..<70 {
      let (id, body) = change(number, seed)
      // What is only buffered must not get into a checkpoint that outlives it.
      let durability: Durability = number % 5 == 0 ? .durable : .buffered
      if let body { try journal.put(id, body, durability) } else { try journal.delete(id, durability) }
      if number % 16 == 9 { try journal.checkpoint() }
      if durability == .durable || number % 16 == 9 { notes.note(number + 1) }
      if number % 24 == 20 { _ = try journal.compact() }
      if number % 30 == 29 {
        try journal.close()
        journal = try Journal.open(in: disk, options: options)
      }
    }
    try journal.checkpoint()
    try journal.close()
  }

  @Test(arguments: [UInt64(1)])
  func `a crash around a checkpoint loses nothing`(seed: UInt64) {
    let sweep = CrashSweep<Int>(
      name: "checkpoint", seed: seed, budgets: [1200, 4],
      workload: { try Self.run(on: $0, $1, seed: seed) },
      recover: { _ = try? Journal.open(in: $0, options: Self.options) },
      check: { disk, _, notes in
        guard let acknowledged = notes.last else { return }
        let journal = try Journal.open(in: disk, options: Self.options)
        #expect(journal.report.damages == [])
        var state: [ID16: [UInt8]] = [:]
        for id in try journal.records() { state[id] = try journal.body(of: id) }
        // Commits may be there that were not acknowledged yet.
        guard (acknowledged...70).contains(where: { Self.state(after: $0, seed) == state }) else {
          let best = (0...70).min {
            Self.difference(Self.state(after: $0, seed), state)
              < Self.difference(Self.state(after: $1, seed), state)
          }
          throw Wrong(acknowledged: acknowledged, nearest: best ?? 0, report: journal.report)
        }
        guard journal.catalog.index.recordCount == state.count else {
          throw Wrong(
            acknowledged: acknowledged, nearest: journal.catalog.index.recordCount, report: journal.report)
        }
        try journal.close()
      })
    let tally = sweep.run()
    #expect(tally.failures.isEmpty, "\(tally.summary)")
    #expect(tally.pairCount > 300)
  }
}
