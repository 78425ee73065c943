// Workloads for the crash tests: what is written, drawn by a seed.

import NotelogBase
import NotelogFormat
@testable import Notelog
import NotelogTestSupport

/// One change in a transaction.
struct ScriptedChange: Sendable {
  /// The record's number; small, so that records are written over again and again.
  let record: Int
  /// How long the body is; nil deletes.
  let byteCount: Int?
  /// How many chunks of a large value the body's end stands in; the record then names the value.
  var chunkCount = 0

  /// How much of the body each chunk holds.
  static let chunkByteCount = 700

  var key: ID16 { ID16(low: UInt64(record), high: 0x6b65_7900) }
}

/// A transaction, told apart from all others of its script by its number.
struct ScriptedTransaction: Sendable {
  let number: Int
  let changes: [ScriptedChange]
  /// Whether large values are written before the transaction, in others: as long uploads are.
  var uploadsFirst = false

  /// The large value of a change: of a new id each time, as every value's is.
  func value(of change: ScriptedChange) -> ID16 {
    ID16(low: UInt64(number) << 32 | UInt64(change.record), high: 0x7661_6c75_6500)
  }

  /// A body that no other transaction writes.
  func body(of change: ScriptedChange) -> [UInt8]? {
    change.byteCount.map { count in
      var random = SeededGenerator(mixing: UInt64(number), UInt64(change.record))
      return random.bytes(count: count)
    }
  }
}

/// What one workload does.
struct Script: Sendable {
  /// One thing after another on one thread.
  enum Step: Sendable {
    case commit(ScriptedTransaction, Durability)
    /// Closes the store and opens it again; in scripts with one thread only.
    case reopen
    case compact
    case checkpoint
  }

  let seed: UInt64
  /// The steps of each thread.
  let threads: [[Step]]
  /// Whether the file system promises space.
  let allocates: Bool
  /// Whether the store is closed at the end.
  let closes: Bool

  var transactions: [ScriptedTransaction] {
    threads.joined().compactMap { if case .commit(let transaction, _) = $0 { transaction } else { nil } }
  }

  /// Draws a workload of about so many bytes.
  init(seed: UInt64, byteCount: Int = 60_000, threadCount: Int? = nil) {
    var random = SeededGenerator(mixing: seed)
    self.seed = seed
    let threadCount = threadCount ?? [1, 1, 1, 2, 4].randomElement(using: &random) ?? 1
    // Some workloads stay at one level, so that each level is also seen alone.
    let levels: [Durability] =
      [
        [.durable], [.flushed], [.buffered], [.durable, .flushed, .buffered],
        [.durable, .buffered, .buffered],
      ]
      .randomElement(using: &random) ?? []
    allocates = !random.oneIn(4)
    closes = !random.oneIn(3)
    var number = 0
    var threads: [[Step]] = []
    for _ in 0..<threadCount {
      var steps: [Step] = []
      var left = byteCount / threadCount
      while left > 0 {
        let transaction = Self.transaction(number, using: &random)
        number += 1
        left -= transaction.changes.reduce(120) { $0 + 48 + ($1.byteCount ?? 0) }
        steps.append(.commit(transaction, levels.randomElement(using: &random) ?? .durable))
        if threadCount == 1, random.oneIn(16) { steps.append(.reopen) }
        if random.oneIn(32) { steps.append(.compact) }
        if random.oneIn(24) { steps.append(.checkpoint) }
      }
      threads.append(steps)
    }
    self.threads = threads
  }

  private static func transaction(_ number: Int, using random: inout SeededGenerator) -> ScriptedTransaction {
    let count = random.oneIn(3) ? random.pick(2..<12) : 1
    // Now and then one transaction is longer than a segment is meant to be.
    let isLong = random.oneIn(24)
    let records = Set((0..<count).map { _ in random.pick(0..<40) }).sorted()
    // One transaction in five has large values.
    let hasChunks = random.oneIn(5)
    return ScriptedTransaction(
      number: number,
      changes: records.map { record in
        let small = random.pick(0..<random.pick(16..<2_000))
        let byteCount = isLong ? random.pick(2_000..<20_000) : small
        if random.oneIn(6) { return ScriptedChange(record: record, byteCount: nil) }
        return ScriptedChange(
          record: record, byteCount: byteCount,
          chunkCount: hasChunks ? min(6, byteCount / ScriptedChange.chunkByteCount) : 0)
      }, uploadsFirst: hasChunks && random.oneIn(2))
  }
}
