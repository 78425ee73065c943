// The door for tasks: what waits for disks and locks runs on a thread that may, and holds up none of the
// cooperative pool.

import NotelogBase

extension Store {
  /// Runs a closure that uses the store, and waits for it without blocking the caller's thread: the closure
  /// runs on another one.
  ///
  /// ```swift
  /// let newest = try await store.run { try $0.query(Note.self).sorted(by: \.time).first() }
  /// ```
  ///
  /// When the task is cancelled, long work in the closure ends: queries, scans, uploads, verifying and
  /// copying with `CancellationError`; `compact`, `purge`, `scrub` and `rotate` as if their budget were
  /// spent. What the closure does besides goes on, and in a task that is cancelled already nothing is begun.
  ///
  /// - Parameter body: Uses the store as any thread does.
  /// - Returns: What the closure returns.
  /// - Throws: What the closure throws; `CancellationError`.
  public func run<Result: Sendable>(
    _ body: @escaping @Sendable (Store) throws -> Result
  ) async throws -> Result {
    try await Self.run { try body(self) }
  }

  /// The same for what needs no open store: verifying, copying, salvaging.
  ///
  /// ```swift
  /// let found = try await Store.run { try Store.verify(at: path) }
  /// ```
  public static func run<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try Task.checkCancellation()
    let flag = Flag(false)
    return try await withTaskCancellationHandler {
      try await offPool {
        do { return try Cancellation.$flag.withValue(flag, operation: body) } catch let error as NotelogError
          where error.code == .cancelled && flag.isSet
        { throw CancellationError() }
      }
    } onCancel: {
      _ = flag.exchange(true)
    }
  }

  /// Creates a store in a folder that is missing or empty, with what the closure puts into it. As the other,
  /// without blocking the caller's thread: the closure runs elsewhere.
  public static func create(
    at path: String, unlocking credential: Credential, options: Options = Options(),
    filling body: @escaping @Sendable (Store) throws -> Void = { _ in }
  ) async throws -> Store {
    try await offPool { try create(at: path, unlocking: credential, options: options, filling: body) }
  }

  /// Opens a store. As the other, without blocking the caller's thread.
  public static func open(
    at path: String, unlocking credential: Credential? = nil, options: Options = Options()
  ) async throws -> Store {
    try await offPool { try open(at: path, unlocking: credential, options: options) }
  }

  /// Opens a store, or creates it where there is none, with what the closure puts into it. As the other,
  /// without blocking the caller's thread: the closure runs elsewhere.
  public static func openOrCreate(
    at path: String, unlocking credential: Credential, options: Options = Options(),
    filling body: @escaping @Sendable (Store) throws -> Void = { _ in }
  ) async throws -> Store {
    try await offPool { try openOrCreate(at: path, unlocking: credential, options: options, filling: body) }
  }

  /// Makes everything durable and closes the store. As the other, without blocking the caller's thread.
  public func close() async throws { try await offPool { try self.close() } }

  /// Runs a closure that reads and writes, alone. As the other, without blocking the caller's thread: the
  /// closure runs elsewhere, and waits for disks and other writers there.
  @discardableResult
  public func write<Result: Sendable>(
    _ durability: Durability = .durable, _ body: @escaping @Sendable (inout Transaction) throws -> Result
  ) async throws -> Result {
    try await offPool { try self.write(durability, body) }
  }
}

/// Runs `body` on a thread that may block, and waits for it as tasks do.
func offPool<Result: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () throws(Failure) -> Result
) async throws(Failure) -> Result {
  let outcome = await withCheckedContinuation {
    (continuation: CheckedContinuation<Swift.Result<Result, Failure>, Never>) in
    onWaitingThread { continuation.resume(returning: Swift.Result(catching: body)) }
  }
  return try outcome.get()
}
