// State that many threads read and hardly any changes.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

/// State under a lock of eight pieces: reading it takes one of them, changing it takes all.
///
/// Threads that read take different pieces, each on a cache line of its own, so that they neither wait for
/// each other nor pull a line to and fro. It is for what is read millions of times between two changes.
// SAFETY: the state is read with a piece of the lock held, and changed by whoever holds all of them.
@safe public struct ReadMostly<State: Sendable & ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let pieces = Locks(count: 8) { _ in () }
  // SAFETY: as said above; allocated in init and freed in deinit.
  @usableFromInline nonisolated(unsafe) let state: UnsafeMutablePointer<State>

  public init(_ state: consuming State) {
    // SAFETY: nobody else has it yet.
    unsafe self.state = .allocate(capacity: 1)
    unsafe self.state.initialize(to: state)
  }

  deinit {
    // SAFETY: a value that is destroyed is not in use.
    unsafe state.deinitialize(count: 1)
    unsafe state.deallocate()
  }

  /// Runs `body` on the state as it is now.
  @inlinable
  @inline(__always)
  public borrowing func read<Result: ~Copyable, Failure: Error>(
    _ body: (borrowing State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let piece = pieces.mutex(threadNumber & 7)
    piece.lock()
    defer { piece.unlock() }
    // SAFETY: whoever changes the state holds this piece too.
    return try unsafe body(state.pointee)
  }

  /// Changes the state. Whoever reads after this has returned reads the new one.
  @inlinable
  public borrowing func change<Result: ~Copyable>(_ body: (inout State) -> Result) -> Result {
    // Always in the same order, so that two that change it don't wait for each other.
    for index in 0..<8 { pieces.mutex(index).lock() }
    defer { for index in 0..<8 { pieces.mutex(index).unlock() } }
    // SAFETY: all pieces are held: nobody reads or changes it meanwhile.
    return unsafe body(&state.pointee)
  }
}
