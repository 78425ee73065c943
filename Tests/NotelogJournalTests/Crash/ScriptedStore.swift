// Runs scripted workloads on the engine, and reads a store whole.

@testable import Notelog
import NotelogFormat
import NotelogBase
import NotelogTestSupport

/// What a workload notes: the store exists, or a commit was acknowledged.
enum Acknowledgement: Sendable {
  case created
  case committed(sequence: UInt64, Durability)
}

/// A workload on a store of its own, and what the log made of it.
final class ScriptedStore: Sendable {
  static let storeID = ID16(low: 1, high: 2)
  static let segmentByteCount = 16_384

  let script: Script
  private let entries = Lock<[History.Entry]>([])

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
    let journal = Lock(try Self.create(on: disk, seed: script.seed))
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
      try journal.write(durability, numbered: { sequence = $0 }) { batch throws(Never) in
        fill(&batch, with: transaction)
      }
      return sequence
    }
    var batch = Batch()
    let uploaded = transaction.uploadsFirst ? transaction.changes.filter { $0.chunkCount > 0 } : []
    defer { for change in uploaded { journal.catalog.chunks.endUpload(transaction.value(of: change)) } }
    for change in uploaded {
      journal.catalog.chunks.beginUpload(transaction.value(of: change))
      putChunks(of: change, in: transaction, into: &batch)
      try journal.commit(&batch, .buffered)
    }
    fill(&batch, with: transaction, areChunksWritten: !uploaded.isEmpty)
    return try journal.commit(&batch, durability)
  }

  static func fill(
    _ batch: inout Batch, with transaction: ScriptedTransaction, areChunksWritten: Bool = false
  ) {
    for change in transaction.changes {
      if let body = transaction.body(of: change) {
        if !areChunksWritten { putChunks(of: change, in: transaction, into: &batch) }
        let inline = body.count - change.chunkCount * ScriptedChange.chunkByteCount
        let envelope = change.chunkCount > 0 ? WrittenEnvelope(values: [transaction.value(of: change)]) : nil
        batch.put(change.key, collection: 1, envelope: envelope, bodyByteCount: inline) { span in
          _ = span.copy(from: body, at: 0, atMost: inline)
        }
      } else {
        batch.delete(change.key, collection: 1)
      }
    }
  }

  private static func putChunks(
    of change: ScriptedChange, in transaction: ScriptedTransaction, into batch: inout Batch
  ) {
    guard let body = transaction.body(of: change) else { return }
    let byteCount = ScriptedChange.chunkByteCount
    for number in 0..<change.chunkCount {
      let start = body.count - (change.chunkCount - number) * byteCount
      batch.putChunk(
        ChunkMark(UInt32(number), isLast: number == change.chunkCount - 1), of: transaction.value(of: change),
        sealedByteCount: byteCount
      ) { span in
        _ = span.copy(from: body, at: start, atMost: byteCount)
      }
    }
  }

  // MARK: - Opening

  /// Small segments, so that switches are common, and salts that a seed repeats.
  static func options(seed: UInt64) -> JournalOptions {
    var options = JournalOptions()
    options.segmentByteCount = segmentByteCount
    options.acceptsUnprovenDamage = true
    options.deletionReserve = segmentByteCount
    let random = Lock(SeededGenerator(mixing: seed))
    options.random = { random.withLock { $0.next() } }
    return options
  }

  static func create(
    on disk: SimulatedDisk, seed: UInt64, storeID: ID16 = ScriptedStore.storeID
  ) throws -> Journal {
    try Journal.create(in: disk, storeID: storeID, options: options(seed: seed))
  }

  /// Opens the store; salts differ from opening to opening, as a system's random numbers would.
  static func open(
    _ disk: SimulatedDisk, seed: UInt64, storeID: ID16? = ScriptedStore.storeID
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
      guard let record = try journal.records.read(id, into: &buffer) else { continue }
      let values = Envelope.values(buffer.envelope)
      var body = buffer.body.copiedBytes()
      for value in values { body += try content(of: value, in: journal, &buffer) }
      state[id] = History.Version(revision: record.revision, body: body)
    }
    return state
  }

  /// All of a large value; as far as there are chunks, where some are missing.
  static func content(
    of value: ID16, in journal: Journal, _ buffer: inout ReadBuffer
  ) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var number: UInt32 = 0
    while let mark = try journal.readChunk(number, of: value, into: &buffer) {
      bytes += buffer.body.copiedBytes()
      if mark.isLast { break }
      number += 1
    }
    return bytes
  }
}
