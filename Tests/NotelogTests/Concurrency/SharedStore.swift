// What many threads do to one store, and what each of them must see.

import NotelogBase
import Foundation
import NotelogTestSupport
import Synchronization

@testable import Notelog

/// A store that threads share, and what is known of it while they are at work.
final class SharedStore: Sendable {
  /// What a thread saw and nobody may see.
  struct Violation: Error, CustomStringConvertible { let description: String }

  static let counters = (0..<6).map { RecordID(high: 1, low: UInt64($0 + 1)) }
  static let accounts = (0..<10).map { RecordID(high: 2, low: UInt64($0 + 1)) }

  let store: Store
  let path: String
  /// The increments of each counter that were acknowledged; what is being written may be there besides.
  private let acknowledged: [Tally]
  /// Locking and unlocking, step by step: unlocked, being locked, locked, being unlocked, and so on.
  private let phase = Atomic<UInt64>(0)
  private let runningWriters: Atomic<Int>

  private final class Tally: Sendable { let count = Atomic<Int>(0) }

  init(at path: String, _ policy: CompactionPolicy, writerCount: Int) throws {
    self.path = path
    var options = Store.Options()
    options.segmentByteCount = 128 << 10
    options.cacheByteCount = 256 << 10
    options.compaction = policy
    store = try Store.create(at: path, unlocking: TemporaryFolder.key, options: options)
    acknowledged = Self.counters.map { _ in Tally() }
    runningWriters = Atomic(writerCount)
    try store.putAll(
      Self.counters.map { Cell(id: $0, kind: Cell.counter) }
        + Self.accounts.map { Cell(id: $0, kind: Cell.account) })
  }

  static func expect(
    _ condition: @autoclosure () throws -> Bool, _ message: @autoclosure () -> String
  ) throws {
    guard try condition() else { throw Violation(description: message()) }
  }

  // MARK: - Who is at work

  var isWritten: Bool { runningWriters.load(ordering: .acquiring) > 0 }

  func endWriter() { runningWriters.subtract(1, ordering: .acquiringAndReleasing) }

  /// How many increments of each counter were acknowledged: whoever reads from now on sees at least so many.
  var floors: [Int] { acknowledged.map { $0.count.load(ordering: .acquiring) } }

  // MARK: - Locking

  /// Locks the store, runs `body`, and unlocks it.
  func locked(_ body: () throws -> Void) throws {
    phase.add(1, ordering: .sequentiallyConsistent)
    store.lock()
    phase.add(1, ordering: .sequentiallyConsistent)
    defer { phase.add(1, ordering: .sequentiallyConsistent) }
    let result = Result { try body() }
    phase.add(1, ordering: .sequentiallyConsistent)
    try store.unlock(TemporaryFolder.key)
    try result.get()
  }

  /// Runs what opens or seals a field.
  ///
  /// - Returns: nil where that was refused because the store was locked, which it must have been for a moment
  ///   at least; and where it was done, there was a moment when it was not.
  func withKeys<Result>(_ body: () throws -> Result) throws -> Result? {
    let before = phase.load(ordering: .sequentiallyConsistent)
    do {
      let result = try body()
      let isSame = phase.load(ordering: .sequentiallyConsistent) == before
      try Self.expect(!isSame || before % 4 != 2, "a locked store opened or sealed a field")
      return result
    } catch let error as NotelogError where error.code == .locked {
      let isSame = phase.load(ordering: .sequentiallyConsistent) == before
      try Self.expect(!isSame || before % 4 != 0, "an unlocked store is locked: \(error)")
      return nil
    }
  }

  // MARK: - Writing

  /// Increments a counter: its sealed fields too, unless the store is locked.
  func increment(_ number: Int, _ durability: Durability) throws {
    let id = Self.counters[number]
    let sealed: Void? = try withKeys {
      try store.write(durability) { tx in
        try tx.update(Cell.self, id) { cell in
          let next = try cell.count + 1
          cell.set(\.count, next)
          cell.set(\.base, next)
          cell.set(\.secret, Cell.secret(id, next))
          cell.set(\.scan, Cell.scan(next))
        }
      }
    }
    if sealed == nil {
      try store.write(durability) { tx in
        try tx.update(Cell.self, id) { cell in cell.set(\.count, try cell.count + 1) }
      }
    }
    acknowledged[number].count.add(1, ordering: .acquiringAndReleasing)
  }

  /// Moves something from one account to another.
  func transfer(_ amount: Int, from: Int, to: Int, _ durability: Durability) throws {
    try store.write(durability) { tx in
      for (account, change) in [(from, -amount), (to, amount)] {
        try tx.update(Cell.self, Self.accounts[account]) { cell in
          cell.set(\.count, try cell.count + 1)
          cell.set(\.balance, try cell.balance + change)
        }
      }
    }
  }

  // MARK: - What every moment must show

  /// Checks what was read at one moment: all counters, with what had been acknowledged before, and all
  /// accounts.
  static func check(_ cells: [(id: RecordID, count: Int, balance: Int)], floors: [Int]) throws {
    let known = Dictionary(cells.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    try expect(known.count == cells.count, "a record is there twice")
    for (number, id) in counters.enumerated() {
      guard let cell = known[id] else { throw Violation(description: "counter \(number) is gone") }
      try expect(cell.count >= floors[number], "counter \(number): \(cell.count) of \(floors[number])")
    }
    let balances = accounts.compactMap { known[$0]?.balance }
    try expect(balances.count == accounts.count, "there are \(balances.count) accounts")
    try expect(balances.reduce(0, +) == 0, "half of a transfer is visible: \(balances)")
  }

  /// Checks that a version's sealed fields are those that were written together.
  static func check(_ cell: Cell) throws {
    try expect(
      cell.base <= cell.count && cell.secret == Cell.secret(cell.id, cell.base)
        && cell.scan == Cell.scan(cell.base),
      "a version that was never written: \(cell.count), \(cell.base), '\(cell.secret)', \(cell.scan.count) bytes"
    )
  }
}

extension RecordID {
  /// An id of two numbers, which orders as they do.
  init(high: UInt64, low: UInt64) { self.init(ID16(low: high.byteSwapped, high: low.byteSwapped)) }
}
