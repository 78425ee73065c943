// State that threads change under a lock and wait for: a conditional critical region.

/// State behind a lock, entered when a condition holds.
///
/// The state is only touched inside `withLock`; waiting happens between accesses, never during one.
package final class Monitor<State: Sendable & ~Copyable>: Sendable {
  @usableFromInline let mutex: ConditionMutex
  // SAFETY: read and written only between `mutex.lock()` and `mutex.unlock()`.
  @usableFromInline nonisolated(unsafe) var state: State

  package init(_ state: consuming State) {
    mutex = ConditionMutex()
    // SAFETY: nobody else has this object yet.
    unsafe self.state = state
  }

  /// Waits until the condition holds, then runs `body` with the lock held. Whoever else waits looks again afterwards.
  @inlinable
  package func withLock<Result: ~Copyable, Failure: Error>(
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
package final class Gate: Sendable {
  private let isTaken = Monitor(false)

  package init() {}

  /// Waits for the gate and takes it.
  package func enter() { isTaken.withLock(when: { !$0 }) { $0 = true } }

  /// Gives the gate back.
  package func leave() { isTaken.withLock { $0 = false } }
}
