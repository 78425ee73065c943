// Writing: closures that read and write, one at a time.

import NotelogBase
import NotelogCrypto

extension Store {
  /// Runs a closure that reads and writes, alone; what it wrote is committed when it has returned.
  ///
  /// ```swift
  /// try store.write { tx in try tx.update(Note.self, id) { $0.set(\.time, Date()) } }
  /// ```
  ///
  /// A closure that changes nothing writes nothing; with ``Durability/durable``, what it has read is durable when the call returns.
  ///
  /// Closures run one at a time: one that writes to the store itself, not to its transaction, is refused with `busy`. What the closure
  /// throws is thrown, and nothing was written.
  ///
  /// - Parameters:
  ///   - durability: What the commit survives.
  ///   - body: The closure.
  /// - Returns: What the closure returns.
  /// - Throws: `limitExceeded` where what the closure wrote takes more than ``Limits/transactionBytes``; `locked`, `full`,
  ///   `poisoned`, `closed`, and what the closure throws.
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
    do throws(WriteError<any Error>) {
      result = try journal.write(
        durability,
        numbered: { sequence in
          // Before anybody sees a record of it, and before anybody else writes. If writing fails now, nothing is ever written behind it.
          if !stored.isEmpty { registry.withLock { for schema in stored { $0.register(schema) } } }
          numbered(sequence)
        }
      ) { (turn: inout Turn) throws(any Error) in
        var transaction = Transaction(self, turn)
        do {
          let result = try body(&transaction)
          if transaction.hasRules, transaction.checksRules { try UniqueCheck.run(transaction) }
          if !transaction.schemas.isEmpty {
            try copySchemas(transaction.schemas, takingReserve: transaction.turn.batch.isOfKeys)
          }
          stored = Array(transaction.schemas.values)
          uploads = transaction.uploads
          for schema in stored { hub.name(schema.plan.schema) }
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
      case .journal(let error): throw refusal(error)
      }
    }
    if !stored.isEmpty { countSchemas() }
    return result
  }

  /// Why the journal refused a transaction. Where that is for an id, both types are named.
  func refusal(_ error: NotelogError) -> NotelogError {
    var refusal = error
    guard let (new, old) = error.collections, let id = error.record else { return refusal }
    refusal.message =
      "id \(id) is that of a record of \(hub.shownName(of: old)), and none of \(hub.shownName(of: new)) can have it: an id is one record's in the whole store"
    return refusal
  }
}
