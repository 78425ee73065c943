// The same verbs for tasks: none of them blocks a thread of the cooperative pool.

import NotelogBase

extension Store {
  /// Creates a store in a folder that is missing or empty. As the other, without blocking the caller's thread.
  public static func create(
    at path: String, unlocking credential: Credential, options: Options = Options()
  ) async throws -> Store {
    try await offPool {
      try create(at: path, unlocking: credential, options: options)
    }
  }

  /// Creates a store with what the closure puts into it. As the other, without blocking the caller's thread: the closure runs elsewhere.
  public static func create(
    at path: String, unlocking credential: Credential, options: Options = Options(),
    filling body: @escaping @Sendable (Store) throws -> Void
  ) async throws -> Store {
    try await offPool {
      try create(at: path, unlocking: credential, options: options, filling: body)
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

  /// The record that a reference points to. As the other, without blocking the caller's thread.
  public func get<R: Record>(_ type: R.Type, _ reference: RecordReference) async throws -> Entry<R>? {
    try await offPool { try self.get(type, reference) }
  }

  /// The records with these ids. As the other, without blocking the caller's thread.
  public func getMany<R: Record>(_ type: R.Type, _ ids: [RecordID]) async throws -> [Entry<R>?] {
    try await offPool { try self.getMany(type, ids) }
  }
}

extension StoreSnapshot {
  /// The record with an id as it was. As the other, without blocking the caller's thread.
  public func get<R: Record>(_ type: R.Type, _ id: RecordID) async throws -> Entry<R>? {
    try await offPool { try self.get(type, id) }
  }
}

extension Entry {
  /// The value of a field. As the other, without blocking the caller's thread: for large values.
  public func value<Value: Sendable>(of path: FieldKeyPath<R, Value>) async throws -> Value {
    try await offPool { try self.value(of: path) }
  }
}
