// A lock around its state.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

internal import Synchronization

/// State that one thread at a time reads and changes.
///
/// It stands on the C library's mutex: what ThreadSanitizer sees, it can check. The standard library's
/// `Mutex` it does not see on Linux (decision 0006). Mutex and state lie beside each other: whoever takes the
/// lock has fetched the beginning of the state with it.
public struct Lock<State: ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let row: Locks<State>

  public init(_ state: consuming sending State) {
    row = Locks(count: 1)
    // SAFETY: memory for it, in which nothing is yet.
    unsafe row.state(0).initialize(to: state)
  }

  /// Runs `body` with the lock held.
  @inlinable
  @inline(__always)
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result { try row.withLock(0, body) }
}

// MARK: - A row of locks, each around a state of its own.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

/// States that one thread at a time reads and changes, each behind its own lock, in one piece of memory.
///
/// What a ``Lock`` is for one state, this is for many: making hundreds of them, a memory allocation each,
/// took longer than all else of opening a store.
// SAFETY: each state is reached through `withLock` alone, so by one thread at a time.
@safe public struct Locks<State: ~Copyable>: ~Copyable, Sendable {
  // SAFETY: what is in it is touched with its mutex held; allocated in init and freed in deinit.
  @usableFromInline nonisolated(unsafe) let memory: UnsafeMutableRawPointer
  @usableFromInline let count: Int
  /// From one mutex to the next, each on cache lines of its own.
  @usableFromInline let stride: Int
  /// Where a state begins behind its mutex.
  @usableFromInline let stateStart: Int

  /// Makes `count` locks, around what `state` gives for their numbers.
  public init(count: Int, _ state: (Int) -> sending State) {
    self.init(count: count)
    // SAFETY: memory for them, in which nothing is yet.
    for index in 0..<count { unsafe self.state(index).initialize(to: state(index)) }
  }

  /// Makes `count` locks around states that whoever calls initialises.
  fileprivate init(count: Int) {
    precondition(count >= 0, "there can't be fewer than no locks")
    func up(_ count: Int, to alignment: Int) -> Int { (count + alignment - 1) / alignment * alignment }
    // Two cache lines: processors fetch them in pairs.
    let alignment = max(128, MemoryLayout<State>.alignment)
    self.count = count
    stateStart = up(PlacedMutex.byteCount, to: MemoryLayout<State>.alignment)
    stride = up(stateStart + MemoryLayout<State>.size, to: alignment)
    // SAFETY: allocated here with room for all.
    unsafe memory = .allocate(byteCount: count * stride, alignment: alignment)
    for index in 0..<count { _ = unsafe PlacedMutex(at: memory + index * stride) }
  }

  deinit {
    for index in 0..<count {
      // SAFETY: states of a value that is destroyed are not in use.
      unsafe state(index).deinitialize(count: 1)
      mutex(index).end()
    }
    unsafe memory.deallocate()
  }

  // SAFETY: made in init, and there until deinit.
  @inlinable
  @inline(__always)
  func mutex(_ index: Int) -> PlacedMutex { unsafe PlacedMutex(existingAt: memory + index * stride) }

  // SAFETY: as above.
  @inlinable
  @inline(__always)
  func state(_ index: Int) -> UnsafeMutablePointer<State> {
    unsafe (memory + index * stride + stateStart).assumingMemoryBound(to: State.self)
  }

  /// Runs `body` with one of the locks held.
  @inlinable
  @inline(__always)
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ index: Int, _ body: (inout sending State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    precondition(index >= 0 && index < count, "there is no lock of that number")
    let mutex = mutex(index)
    mutex.lock()
    defer { mutex.unlock() }
    // SAFETY: the lock is held until the closure has returned.
    return try unsafe body(&state(index).pointee)
  }
}

// MARK: - A Boolean that threads share.

/// A Boolean that threads read and swap without a lock.
package final class Flag: Sendable {
  private let value: Atomic<Bool>

  package init(_ value: Bool) { self.value = Atomic(value) }

  /// Whether it is set.
  package var isSet: Bool { value.load(ordering: .acquiring) }

  /// Sets the flag and returns what it was.
  package func exchange(_ newValue: Bool) -> Bool {
    value.exchange(newValue, ordering: .acquiringAndReleasing)
  }
}
