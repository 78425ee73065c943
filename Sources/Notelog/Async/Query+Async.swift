// What a query finds, for tasks: it ends when the task is cancelled.

import NotelogBase

extension Query {
  /// The records found. As the other, without blocking the caller's thread.
  public func entries() async throws -> [Entry<R>] { try await cancellable { try $0.entries() } }

  /// The first record found. As the other, without blocking the caller's thread.
  public func first() async throws -> Entry<R>? { try await cancellable { try $0.first() } }

  /// How many records there are. As the other, without blocking the caller's thread.
  public func count() async throws -> Int { try await cancellable { try $0.count() } }

  /// The least value of a field. As the other, without blocking the caller's thread.
  public func min<Value: Comparable & FieldValue>(of path: FieldKeyPath<R, Value>) async throws -> Value? {
    try await cancellable { try $0.min(of: path) }
  }

  /// The least value of a field, nil passed over. As the other, without blocking the caller's thread.
  public func min<Value: Comparable & FieldValue>(of path: FieldKeyPath<R, Value?>) async throws -> Value? {
    try await cancellable { try $0.min(of: path) }
  }

  /// The greatest value of a field. As the other, without blocking the caller's thread.
  public func max<Value: Comparable & FieldValue>(of path: FieldKeyPath<R, Value>) async throws -> Value? {
    try await cancellable { try $0.max(of: path) }
  }

  /// The greatest value of a field, nil passed over. As the other, without blocking the caller's thread.
  public func max<Value: Comparable & FieldValue>(of path: FieldKeyPath<R, Value?>) async throws -> Value? {
    try await cancellable { try $0.max(of: path) }
  }

  /// The sum of a field's values. As the other, without blocking the caller's thread.
  public func sum<Value: FixedWidthInteger & FieldValue>(
    of path: FieldKeyPath<R, Value>
  ) async throws -> Value {
    try await cancellable { try $0.sum(of: path) }
  }

  /// The sum of a field's values, nil passed over. As the other, without blocking the caller's thread.
  public func sum<Value: FixedWidthInteger & FieldValue>(
    of path: FieldKeyPath<R, Value?>
  ) async throws -> Value {
    try await cancellable { try $0.sum(of: path) }
  }

  /// The sum of a field's values. As the other, without blocking the caller's thread.
  public func sum<Value: BinaryFloatingPoint & FieldValue>(
    of path: FieldKeyPath<R, Value>
  ) async throws -> Value {
    try await cancellable { try $0.sum(of: path) }
  }

  /// The sum of a field's values, nil passed over. As the other, without blocking the caller's thread.
  public func sum<Value: BinaryFloatingPoint & FieldValue>(
    of path: FieldKeyPath<R, Value?>
  ) async throws -> Value {
    try await cancellable { try $0.sum(of: path) }
  }

  /// How the query would be answered now. As the other, without blocking the caller's thread.
  public func explain() async throws -> QueryPlan { try await cancellable { try $0.explain() } }

  /// Runs `body` with the query on a thread that may block; it ends when the task is cancelled.
  private func cancellable<Result: Sendable>(
    _ body: @escaping @Sendable (Query) throws -> Result
  ) async throws -> Result {
    try await offPool { stop in
      var query = self
      query.stop = stop
      return try body(query)
    }
  }
}
