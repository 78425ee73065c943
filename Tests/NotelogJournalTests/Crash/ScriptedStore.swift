// Runs scripted workloads on the engine, and reads a store whole.

import NotelogJournal
import NotelogTestSupport
import Synchronization

/// What a workload notes: the store exists, or a commit was acknowledged.
enum Acknowledgement: Sendable {
  case created
  case committed(sequence: UInt64, Durability)
}

/// A workload on a store of its own, and what the log made of it.
final class ScriptedStore: Sendable {
  static let storeID = RecordKey(low: 1, high: 2)
  static let segmentByteCount = 16_384

  let script: Script
  private let entries = Mutex<[History.Entry]>([])

  init(_ script: Script) { self.script = script }

  /// Every transaction by its place in the log; whole once the workload has ended.
  var history: History { History(entries.withLock { $0 }) }

  // MARK: - The workload

  /// Runs the script, and notes what is acknowledged.
  func run(on disk: SimulatedDisk, _ notes: Notebook<Acknowledgement>) throws {
    disk.allocates = script.allocates
    if script.threads.count > 1 {
      // Where threads run side by side, let others go first now and then, also in the middle of a switch.
      disk.afterEachCall { _, _ in Threads.yield() }
    }
    let journal = Mutex(try Self.create(on: disk, seed: script.seed))
    notes.note(.created)
    try Threads.run(script.threads.count) { [self] thread in
      for step in script.threads[thread] {
        switch step {
        case .commit(let transaction, let durability):
          let sequence = try Self.commit(transaction, durability, to: journal.withLock { $0 })
          entries.withLock { $0.append(History.Entry(sequence: sequence, transaction: transaction)) }
          notes.note(.committed(sequence: sequence, durability))
        case .compact:
          _ = try journal.withLock { $0 }.compact()
        case .checkpoint:
          try journal.withLock { $0 }.checkpoint()
        case .reopen:
          try journal.withLock { journal in
            try journal.close()
            // Everything acknowledged before a clean close is durable by it.
            notes.note(.committed(sequence: entries.withLock { $0.map(\.sequence).max() ?? 0 }, .durable))
            journal = try Self.open(disk, seed: script.seed)
          }
        }
      }
    }
    disk.afterEachCall(nil)
    if script.closes {
      try journal.withLock { try $0.close() }
      notes.note(.committed(sequence: entries.withLock { $0.map(\.sequence).max() ?? 0 }, .durable))
    }
  }

  /// Commits a transaction, as a blind batch or in a closure, and returns its sequence number.
  static func commit(
    _ transaction: ScriptedTransaction, _ durability: Durability, to journal: Journal
  ) throws -> UInt64 {
    if transaction.number % 3 == 0 {
      var sequence: UInt64 = 0
      try journal.write(durability, numbered: { sequence = $0 }) { turn throws(Never) in
        fill(&turn.batch, with: transaction)
      }
      return sequence
    }
    var batch = Batch()
    fill(&batch, with: transaction)
    return try journal.commit(&batch, durability)
  }

  static func fill(_ batch: inout Batch, with transaction: ScriptedTransaction) {
    for change in transaction.changes {
      if let body = transaction.body(of: change) {
        batch.put(change.key, collection: 1, bodyByteCount: body.count) { span in
          _ = span.copy(from: body, at: 0, atMost: body.count)
        }
      } else {
        batch.delete(change.key, collection: 1)
      }
    }
  }

  // MARK: - Opening

  /// Small segments, so that switches are common, and salts that a seed repeats.
  static func options(seed: UInt64) -> JournalOptions {
    var options = JournalOptions()
    options.segmentByteCount = segmentByteCount
    let random = Mutex(SeededGenerator(mixing: seed))
    options.random = { random.withLock { $0.next() } }
    return options
  }

  static func create(
    on disk: SimulatedDisk, seed: UInt64, storeID: RecordKey = ScriptedStore.storeID
  ) throws -> Journal {
    try Journal.create(in: disk, storeID: storeID, options: options(seed: seed))
  }

  /// Opens the store; salts differ from opening to opening, as a system's random numbers would.
  static func open(
    _ disk: SimulatedDisk, seed: UInt64, storeID: RecordKey? = ScriptedStore.storeID
  ) throws -> Journal {
    let opening = UInt64(disk.callCount) &+ UInt64(disk.usedByteCount) << 20
    return try Journal.open(
      in: disk, storeID: storeID, options: options(seed: seed ^ (opening &* 0x9e37_79b9)))
  }

  /// Every record of an open store.
  static func state(of journal: Journal) throws -> History.State {
    var state: History.State = [:]
    var buffer = ReadBuffer()
    for id in try journal.records() {
      guard let record = try journal.read(id, into: &buffer) else { continue }
      state[id] = History.Version(revision: record.revision, body: buffer.body.copiedBytes())
    }
    return state
  }
}
