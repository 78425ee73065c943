// A lock around its state.

/// State that one thread at a time reads and changes.
///
/// It stands on the C library's mutex: what ThreadSanitizer sees, it can check. The standard library's `Mutex` it does
/// not see on Linux (docs/decisions/0006).
// SAFETY: the state is reached through `withLock` alone, so one thread at a time.
@safe package struct Lock<State: ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let mutex = ConditionMutex()
  // SAFETY: touched only between `mutex.lock()` and `mutex.unlock()`; allocated in init and freed in deinit.
  @usableFromInline nonisolated(unsafe) let state: UnsafeMutablePointer<State>

  package init(_ state: consuming sending State) {
    // SAFETY: allocated and initialised here, and not touched before.
    unsafe self.state = .allocate(capacity: 1)
    unsafe self.state.initialize(to: state)
  }

  deinit {
    // SAFETY: a value that is destroyed is not in use.
    unsafe state.deinitialize(count: 1)
    unsafe state.deallocate()
  }

  /// Runs `body` with the lock held.
  @inlinable
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    mutex.lock()
    defer { mutex.unlock() }
    // SAFETY: the lock is held until the closure has returned.
    return try unsafe body(&state.pointee)
  }
}
