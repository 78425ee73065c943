// The same verbs for tasks: none of them blocks a thread of the cooperative pool.

import NotelogBase
import NotelogJournal

extension Store {
  /// Creates a store in a folder that is missing or empty. As the other, without blocking the caller's thread.
  public static func create(
    at path: String, unlocking credential: Credential, options: Options = Options()
  ) async throws -> Store {
    try await offPool {
      try create(at: path, unlocking: credential, options: options)
    }
  }

  /// Opens a store. As the other, without blocking the caller's thread.
  public static func open(
    at path: String, unlocking credential: Credential? = nil, options: Options = Options()
  ) async throws -> Store {
    try await offPool {
      try open(at: path, unlocking: credential, options: options)
    }
  }

  /// Opens a store once more, with another opening's keys. As the other, without blocking the caller's thread.
  public static func open(
    at path: String, sharingKeysOf other: Store, options: Options = Options()
  ) async throws -> Store {
    try await offPool {
      try open(at: path, sharingKeysOf: other, options: options)
    }
  }

  /// Makes everything durable and closes the store. As the other, without blocking the caller's thread.
  public func close() async throws {
    try await offPool { try self.close() }
  }

  /// Unlocks the keys: a password takes a while on purpose. As the other, without blocking the caller's thread.
  public func unlock(_ credential: Credential) async throws {
    try await offPool { try self.unlock(credential) }
  }

  /// Runs a closure that reads and writes, alone. As the other, without blocking the caller's thread: the closure runs
  /// elsewhere, and waits for disks and other writers there.
  @discardableResult
  public func write<Result: Sendable>(
    _ durability: Durability = .durable,
    _ body: @escaping @Sendable (inout Transaction) throws -> Result
  ) async throws -> Result {
    try await offPool { try self.write(durability, body) }
  }

  /// Writes records without reading any. As the other, without blocking the caller's thread.
  @discardableResult
  public func putAll<R: Record>(
    _ records: some Sequence<R> & Sendable, _ durability: Durability = .durable
  ) async throws -> UInt64 {
    try await offPool { try self.putAll(records, durability) }
  }

  /// The record with an id. As the other, without blocking the caller's thread.
  public func get<R: Record>(_ type: R.Type, _ id: RecordID) async throws -> Entry<R>? {
    try await offPool { try self.get(type, id) }
  }

  /// The records with these ids. As the other, without blocking the caller's thread.
  public func getMany<R: Record>(_ type: R.Type, _ ids: [RecordID]) async throws -> [Entry<R>?] {
    try await offPool { try self.getMany(type, ids) }
  }

  /// Copies what is live out of segments that are mostly dead. As the other, without blocking the caller's thread.
  @discardableResult
  public func compact() async throws -> CompactionSummary {
    try await offPool { try self.compact() }
  }

  /// Reads what the store holds, as much as the budget allows, and checks it. As the other, without blocking the caller's
  /// thread.
  public func scrub(
    from position: ScrubPosition? = nil, _ budget: WorkBudget = .unlimited
  ) async throws -> ScrubSummary {
    try await offPool { try self.scrub(from: position, budget) }
  }

  /// Reads every byte of a store and checks it. As the other, without blocking the caller's thread.
  public static func verify(
    at path: String, unlocking credential: Credential? = nil
  ) async throws -> Verification {
    try await offPool { try verify(at: path, unlocking: credential) }
  }
}

extension StoreSnapshot {
  /// The record with an id as it was. As the other, without blocking the caller's thread.
  public func get<R: Record>(_ type: R.Type, _ id: RecordID) async throws -> Entry<R>? {
    try await offPool { try self.get(type, id) }
  }
}

extension Query {
  /// The records found. As the other, without blocking the caller's thread.
  public func entries() async throws -> [Entry<R>] { try await cancellable { try $0.entries() } }

  /// The first record found. As the other, without blocking the caller's thread.
  public func first() async throws -> Entry<R>? { try await cancellable { try $0.first() } }

  /// How many records there are. As the other, without blocking the caller's thread.
  public func count() async throws -> Int { try await cancellable { try $0.count() } }

  /// How the query would be answered now. As the other, without blocking the caller's thread.
  public func explain() async throws -> QueryPlan { try await cancellable { try $0.explain() } }

  /// Runs `body` with the query on a thread that may block; it ends when the task is cancelled.
  private func cancellable<Result: Sendable>(
    _ body: @escaping @Sendable (Query) throws -> Result
  ) async throws -> Result {
    let stop = Flag(false)
    var query = self
    query.stop = stop
    return try await withTaskCancellationHandler {
      let query = query
      return try await offPool { try body(query) }
    } onCancel: {
      _ = stop.exchange(true)
    }
  }
}

extension Entry {
  /// The value of a field. As the other, without blocking the caller's thread: for large values.
  public func value<Value: Sendable>(of path: FieldKeyPath<R, Value>) async throws -> Value {
    try await offPool { try self.value(of: path) }
  }
}
