// Writing: closures one at a time, and batches side by side.

import NotelogConcurrency
import NotelogCrypto
import NotelogJournal

extension Store {
  /// Runs a closure that reads and writes, alone; what it wrote is committed when it has returned.
  ///
  /// ```swift
  /// try store.write { tx in try tx.update(Note.self, id) { $0.set(\.time, Date()) } }
  /// ```
  ///
  /// Closures run one at a time: don't write to the same store inside one. What the closure throws is thrown, and
  /// nothing was written.
  ///
  /// - Parameters:
  ///   - durability: What the commit survives.
  ///   - body: The closure.
  /// - Returns: What the closure returns.
  /// - Throws: `locked`, `full`, `poisoned`, `closed`, and what the closure throws.
  @discardableResult
  public func write<Result>(
    _ durability: Durability = .durable, _ body: (inout Transaction) throws -> Result
  ) throws -> Result {
    var stored: [SchemaRegistry.Stored] = []
    var isCommitted = false
    defer {
      if !stored.isEmpty {
        registry.withLock { registry in
          registry.storingCount -= 1
          if isCommitted { for schema in stored { registry.take(schema) } }
        }
      }
    }
    var ticket: UInt64?
    defer { if let ticket { indexes.end(ticket) } }
    let result: Result
    do throws(WriteError<any Error>) {
      result = try journal.write(durability.journal) { (turn: inout Turn) throws(any Error) in
        var transaction = Transaction(self, turn)
        do {
          try naming("writing") { () throws(CryptoError) in try nonces.mixFreshEntropy() }
          let result = try body(&transaction)
          stored = Array(transaction.schemas.values)
          if !stored.isEmpty { registry.withLock { $0.storingCount += 1 } }
          ticket = indexes.begin(transaction.additions)
          turn = transaction.end()
          return result
        } catch {
          turn = transaction.end()
          throw error
        }
      }
    } catch {
      switch error {
      case .body(let error): throw error
      case .journal(let error): throw NotelogError(journal: error)
      }
    }
    isCommitted = true
    return result
  }

  /// Writes records without reading any: they are sealed outside every lock, so that several threads use several cores.
  ///
  /// - Parameters:
  ///   - records: The records; each takes the place of an earlier version. No id may occur twice.
  ///   - durability: What the commit survives.
  /// - Returns: The revision that all of them have now.
  /// - Throws: `locked`, `limitExceeded`, `invalidArgument`, `full`, `poisoned`, `closed`.
  @discardableResult
  public func putAll<R: Record>(
    _ records: some Sequence<R>, _ durability: Durability = .durable
  ) throws -> UInt64 {
    let plan = try storedPlan(for: R.self)
    try naming("writing") { () throws(CryptoError) in try nonces.mixFreshEntropy() }
    var batch = Batch()
    var encoder = RecordEncoder()
    var run = NonceRun()
    var keys = SealingKeys(vault, for: plan.collection)
    var written = KeySet()
    var additions: [FieldIndexes.Addition] = []
    defer { encoder.wipe() }
    for record in records {
      let id = record.id
      guard !id.isReserved, written.insert(id.key) else {
        throw NotelogError(.invalidArgument, "id \(id) is the store's own, or occurs twice")
      }
      encoder.begin()
      for slot in plan.slots {
        try encoder.add(slot.index, of: plan.collection) { try slot.definition.access.encode(record, &$0) }
      }
      try encoder.put(id, plan.collection, carriedFrom: [], &keys, &run, into: &batch, &additions)
    }
    let ticket = indexes.begin(additions)
    defer { indexes.end(ticket) }
    return try journaling { () throws(JournalError) in try journal.commit(&batch, durability.journal) }
  }

  /// A record type's plan, its schema stored.
  private func storedPlan<R: Record>(for type: R.Type) throws -> RecordPlan<R> {
    if let reader = readers.find(type), reader.isComplete { return reader.plan }
    try write { tx in _ = try tx.plan(for: type) }
    return try reader(for: type).plan
  }
}
