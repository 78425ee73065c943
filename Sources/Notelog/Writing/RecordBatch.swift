// Writing: closures that read and write, one at a time.

import NotelogBase
import NotelogCrypto
import Synchronization

extension Store {
  /// Runs a closure that reads and writes, alone; what it wrote is committed when it has returned.
  ///
  /// ```swift
  /// try store.write { tx in try tx.update(Note.self, id) { $0.set(\.time, Date()) } }
  /// ```
  ///
  /// A closure that changes nothing writes nothing; with ``Durability/durable``, what it has read is durable
  /// when the call returns.
  ///
  /// Closures run one at a time: one that writes to the store itself, not to its transaction, is refused with
  /// `busy`. What the closure throws is thrown, and nothing was written.
  ///
  /// - Parameters:
  ///   - durability: What the commit survives.
  ///   - body: The closure.
  /// - Returns: What the closure returns.
  /// - Throws: `limitExceeded` where what the closure wrote takes more than ``Limits/transactionBytes``;
  ///   `locked`, `full`, `poisoned`, `closed`, and what the closure throws.
  @discardableResult
  public func write<Result>(
    _ durability: Durability = .durable, _ body: (inout Transaction) throws -> Result
  ) throws -> Result {
    try write(durability, numbered: { _ in }, body)
  }

  /// The same, and tells the revision that what is written has.
  @discardableResult
  func write<Result>(
    _ durability: Durability, numbered: (UInt64) -> Void, _ body: (inout Transaction) throws -> Result
  ) throws -> Result {
    var stored: [SchemaRegistry.Stored] = []
    var uploads: [any Sendable] = []
    defer { withExtendedLifetime(uploads) {} }
    var ticket: UInt64?
    defer { if let ticket { indexes.end(ticket) } }
    let result: Result
    do {
      result = try journal.write(
        durability,
        numbered: { sequence in
          // Before anybody sees a record of it, and before anybody else writes. If writing fails now, nothing
          // is ever written behind it.
          if !stored.isEmpty { register(stored, at: sequence) }
          numbered(sequence)
        }
      ) { batch in
        var transaction = Transaction(self, batch)
        do {
          let result = try body(&transaction)
          if transaction.checksRules {
            try transaction.holdReferences()
            try UniqueCheck.run(transaction)
          }
          if !transaction.schemas.isEmpty {
            try copySchemas(transaction.schemas, takingReserve: transaction.batch.isOfKeys)
          }
          stored = Array(transaction.schemas.values)
          uploads = transaction.uploads
          for schema in stored { hub.name(schema.plan.schema) }
          ticket = indexes.begin(transaction.batch.frames, transaction.batch.buffer.bytes)
          batch = transaction.end()
          return result
        } catch {
          batch = transaction.end()
          throw error
        }
      }
    } catch let error as NotelogError { throw refusal(error) }
    if !stored.isEmpty { countSchemas() }
    return result
  }

  /// Why the journal refused a transaction. Where that is for an id, both types are named, once: another
  /// store's closure, which this was called in, knows others.
  func refusal(_ error: NotelogError) -> NotelogError {
    var refusal = error
    guard let (new, old) = error.collections, let id = error.record else { return refusal }
    refusal.collections = nil
    refusal.message =
      "id \(id) is that of a record of \(hub.shownName(of: old)), and none of \(hub.shownName(of: new)) can have it: an id is one record's in the whole store"
    return refusal
  }
}

// MARK: - Records that are committed together, sealed into memory that is used again.

/// Records of one type on their way into a store: sealed as they are put, outside every lock, and committed
/// together.
///
/// ```swift
/// var batch = try store.batch(of: Note.self)
/// for line in lines {
///   try batch.put(Note(title: line))
///   if batch.count >= 1_000 { try batch.commit(.flushed) }
/// }
/// try batch.commit()
/// ```
///
/// Where what records replace has a say, because their type doesn't declare all fields of the collection or a
/// key is locked (see ``Transaction/put(_:if:)``), they are kept as they are, and sealed one after another
/// when they are committed.
///
/// A batch belongs to one thread, and several threads' batches are sealed side by side. Once its memory has
/// grown to what a transaction needs, putting allocates nothing any more. What is not committed when the
/// batch goes is forgotten.
public struct RecordBatch<R: Record>: ~Copyable {
  private let store: Store
  private var plan: RecordPlan<R>
  /// How often schemas had changed when the plan was taken.
  private var epoch: UInt64
  private var batch = Batch()
  private var encoder = RecordEncoder()
  private var nonces = NonceRun()
  private var keys: SealingKeys
  /// The ids put, so that none is there twice.
  private var written: Set<ID16> = []
  /// Records in which what they replace has a say: they are sealed when they are committed.
  private var waiting: [R] = []
  private var mustWait = false

  init(_ store: Store) throws {
    self.store = store
    epoch = store.schemaEpoch.load(ordering: .acquiring)
    plan = try store.storedPlan(for: R.self)
    keys = SealingKeys(store.vault, store.schemasAreVerified, for: plan.collection)
  }

  fileprivate var collection: CollectionPlan { plan.collection }

  /// How many records were put since the last commit.
  public var count: Int { written.count }

  /// Seals a record; it is written by the next commit.
  ///
  /// - Parameter record: The record. It takes the place of an earlier version.
  /// - Throws: `invalidArgument` where its id was put before since the last commit; `locked`,
  ///   `limitExceeded`, and what a value's encoding throws. The record is then not in the batch, and the
  ///   others are.
  public mutating func put(_ record: R) throws {
    if batch.isEmpty, waiting.isEmpty { try begin() }
    if plan.hasRetired { try plan.refuseRetired(record) }
    let id = record.id
    guard !id.isReserved, written.insert(id.bytes).inserted else {
      throw NotelogError(.invalidArgument, "id \(id) is the store's own, or occurs twice")
    }
    do {
      if mustWait {
        var buffer = ReadBuffer()
        let stored = try store.read(id, in: collection.number, &buffer)
        _ = try store.slotsToWrite(of: record, over: stored, plan)
        waiting.append(record)
      } else {
        try plan.gather(record, into: &encoder)
        try encoder.put(id, plan.collection, &keys, &nonces, into: &batch)
        encoder.wipe()
      }
    } catch {
      written.remove(id.bytes)
      encoder.wipe()
      throw error
    }
  }

  /// Writes what was put, all of it or nothing; the batch is empty then, and may be used again.
  ///
  /// An empty batch writes nothing; committed as ``Durability/durable``, it returns when everything that came
  /// before it is durable.
  ///
  /// - Parameter durability: What the commit survives.
  /// - Returns: The revision that all of the records have now.
  /// - Throws: `alreadyExists` where a record of another type has one of the ids; `notUnique` where another
  ///   record has what is ``Unique``; `brokenReference` where one refers to a record that is not there;
  ///   `conflict` where keys or rules changed since they were put: put them again; `full`, and `limitExceeded`
  ///   where they take more than ``Limits/transactionBytes``: the records are then still in the batch;
  ///   `poisoned`, `closed`.
  @discardableResult
  public mutating func commit(_ durability: Durability = .durable) throws -> UInt64 {
    if !waiting.isEmpty { return try commitWaiting(durability) }
    let ticket = store.indexes.begin(batch.frames, batch.buffer.bytes)
    defer {
      store.indexes.end(ticket)
      if batch.isEmpty { forget() }
    }
    let (store, collection) = (store, plan.collection)
    var failure: (any Error)?
    do throws(NotelogError) {
      return try store.journal.commit(&batch, durability, seesAll: collection.hasRules) {
        (batch: borrowing Batch) throws(NotelogError) in
        guard store.isInForce(collection) else {
          throw NotelogError(.conflict, "keys or rules changed since these records were put; put them again")
        }
        do {
          if !collection.references.isEmpty {
            try store.checkReferences(batch, store.referringFields(of: [collection]))
          }
          try UniqueCheck.run(store, batch, collection)
        } catch {
          failure = error
          throw NotelogError(ours: error)
        }
      }
    } catch { throw failure ?? store.refusal(error) }
  }

  /// Forgets what was put since the last commit.
  public mutating func removeAll() {
    batch.removeAll()
    forget()
  }

  private mutating func forget() {
    written.removeAll(keepingCapacity: true)
    waiting.removeAll(keepingCapacity: true)
  }

  /// Gets ready for a transaction: its nonces are its own, and its keys and schema are those of now.
  private mutating func begin() throws {
    nonces = NonceRun()
    let now = store.schemaEpoch.load(ordering: .acquiring)
    if epoch != now {
      plan = try store.storedPlan(for: R.self)
      epoch = now
    }
    keys.reset(for: plan.collection)
    mustWait = plan.leavesFields || store.hasLockedKey(plan.collection)
  }

  /// Writes records over what they replace, in a closure of their own.
  private mutating func commitWaiting(_ durability: Durability) throws -> UInt64 {
    var revision: UInt64 = 0
    let records = waiting
    try store.write(durability, numbered: { revision = $0 }) { tx in
      for record in records { try tx.put(record) }
    }
    forget()
    return revision
  }
}

extension Store {
  /// What records of a type are put into, to be committed together.
  ///
  /// - Parameter type: The record type; its schema is stored, if it isn't yet.
  /// - Returns: A batch, empty.
  /// - Throws: `locked`, `schemaConflict`, `full`, `poisoned`, `closed`.
  public func batch<R: Record>(of type: R.Type) throws -> RecordBatch<R> { try RecordBatch(self) }

  /// Writes records without reading any: they are sealed outside every lock, so that several threads use
  /// several cores.
  ///
  /// - Parameters:
  ///   - records: The records; each takes the place of an earlier version. No id may occur twice.
  ///   - durability: What the commit survives.
  /// - Returns: The revision that all of them have now.
  /// - Throws: `alreadyExists` where a record of another type has one of the ids; `notUnique` where another
  ///   record has what is ``Unique``; `brokenReference` where one refers to a record that is not there;
  ///   `limitExceeded` where a record
  ///   is too long, or all of them take more than ``Limits/transactionBytes``; `locked`, `invalidArgument`,
  ///   `full`, `poisoned`, `closed`.
  @discardableResult
  public func putAll<R: Record>(
    _ records: some Sequence<R>, _ durability: Durability = .durable
  ) throws -> UInt64 {
    var batch = try batch(of: R.self)
    for record in records { try batch.put(record) }
    do { return try batch.commit(durability) } catch let error as NotelogError {
      // Where keys or rules changed meanwhile, once more by the new ones: what can be gone through twice.
      guard error.code == .conflict, !isInForce(batch.collection), let again = records as? [R]
      else { throw error }
      batch.removeAll()
      for record in again { try batch.put(record) }
      return try batch.commit(durability)
    }
  }

  /// Whether values that were sealed by a collection's plan at some time are under the keys in force still, and
  /// its rules are those of now. Asked with the turn in hand, it stays so until what is asked for is committed.
  func isInForce(_ plan: CollectionPlan) -> Bool {
    registry.withLock { registry in
      guard let now = registry.byNumber[plan.number]?.plan, now !== plan else { return true }
      return plan.hasSameRules(as: now)
        && plan.fields.allSatisfy { field in
          guard field.isSealed, let index = now.index(of: field.number) else { return true }
          return now.fields[index].keepsKeysInForce(of: field)
        }
    }
  }

  /// A record type's plan, its schema stored.
  func storedPlan<R: Record>(for type: R.Type) throws -> RecordPlan<R> {
    if let reader = knownReader(of: type), reader.isComplete { return reader.plan }
    try write { tx in _ = try tx.plan(for: type) }
    return try reader(for: type).plan
  }
}
