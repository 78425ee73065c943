// Going through all records of a type, and all pieces of a store's files, for tasks.

import NotelogBase

extension StoreSnapshot {
  /// Calls `body` with each record of a type, in the order in which they lie on the disk, until it returns false. As the other, without
  /// blocking the caller's thread: the closures run elsewhere. It ends with `CancellationError` when the task is cancelled.
  public func scan<R: Record>(
    _ type: R.Type, part: Int = 0, of partCount: Int = 1,
    damaged: @escaping @Sendable (Verification.Finding) throws -> Void = { _ in },
    _ body: @escaping @Sendable (ScannedEntry<R>) throws -> Bool
  ) async throws {
    try await offPool { stop in
      try self.scan(type, part: part, of: partCount, damaged: damaged) { entry in
        if stop.isSet { throw CancellationError() }
        return try body(entry)
      }
    }
  }
}

extension Store {
  /// Calls `body` with each record of a type as the store is now, until it returns false. As the other, without blocking the caller's
  /// thread: the closures run elsewhere. It ends with `CancellationError` when the task is cancelled.
  public func scan<R: Record>(
    _ type: R.Type, damaged: @escaping @Sendable (Verification.Finding) throws -> Void = { _ in },
    _ body: @escaping @Sendable (ScannedEntry<R>) throws -> Bool
  ) async throws {
    try await snapshot().scan(type, damaged: damaged, body)
  }

  /// Calls `body` with each piece of a store's files. As the other, without blocking the caller's thread: the closure runs elsewhere. It
  /// ends with `CancellationError` when the task is cancelled.
  public static func forEachPiece(
    at path: String, _ body: @escaping @Sendable (StoredPiece) throws -> Void
  ) async throws {
    try await offPool { stop in
      try forEachPiece(at: path) { piece in
        if stop.isSet { throw CancellationError() }
        try body(piece)
      }
    }
  }
}
