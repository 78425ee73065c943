// State that threads change under a lock and wait for: a conditional critical region.

/// State behind a lock, entered when a condition holds.
///
/// The state is only touched inside `withLock`; waiting happens between accesses, never during one.
final class Monitor<State: Sendable & ~Copyable>: Sendable {
  private let mutex: ConditionMutex
  // SAFETY: read and written only between `mutex.lock()` and `mutex.unlock()`.
  private nonisolated(unsafe) var state: State

  init(_ state: consuming State) {
    mutex = ConditionMutex()
    unsafe self.state = state
  }

  /// Waits until the condition holds, then runs `body` with the lock held. Whoever else waits looks again afterwards.
  @inline(__always)
  func withLock<Result: ~Copyable, Failure: Error>(
    when condition: (borrowing State) -> Bool = { _ in true },
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    mutex.lock()
    // SAFETY: the lock is held, but for the time inside `wait`, when no access to `state` is under way.
    while unsafe !condition(state) { mutex.wait() }
    defer { mutex.unlockAndWakeAll() }
    return try unsafe body(&state)
  }
}

/// A gate that one holder passes at a time.
final class Gate: Sendable {
  private let isTaken = Monitor(false)

  /// Waits for the gate and takes it.
  func enter() { isTaken.withLock(when: { !$0 }) { $0 = true } }

  /// Gives the gate back.
  func leave() { isTaken.withLock { $0 = false } }
}
