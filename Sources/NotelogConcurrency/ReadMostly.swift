// State that many threads read and hardly any changes.

/// State in several equal copies, each under a lock of its own.
///
/// Threads that read take different locks, so that they neither wait for each other nor pull a cache line to and fro. A
/// change goes through all copies: it is for what is read millions of times between two changes.
package final class ReadMostly<State: Sendable>: Sendable {
  @usableFromInline let copies: InlineArray<8, Lock<State>>
  private let changing: Lock<State>

  package init(_ state: State) {
    copies = InlineArray { _ in Lock(state) }
    changing = Lock(state)
  }

  /// Runs `body` on the state as it is now.
  @inlinable
  package func read<Result: Sendable, Failure: Error>(
    _ body: (State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try copies[ThreadNumber.current & 7].withLock { state throws(Failure) in try body(state) }
  }

  /// Changes the state. Whoever reads after this has returned reads the new one.
  package func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    changing.withLock { state in
      let result = body(&state)
      let changed = state
      for index in copies.indices { copies[index].withLock { $0 = changed } }
      return result
    }
  }
}
