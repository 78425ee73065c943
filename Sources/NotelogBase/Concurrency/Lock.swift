// A lock around its state.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

internal import Synchronization

/// State that one thread at a time reads and changes.
///
/// It stands on the C library's mutex: what ThreadSanitizer sees, it can check. The standard library's
/// `Mutex` it does not see on Linux (decision 0006). Mutex and state lie beside each other: whoever takes the
/// lock has fetched the beginning of the state with it.
// SAFETY: the state is reached through `withLock` alone, so one thread at a time.
@safe public struct Lock<State: ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let mutex: PlacedMutex
  // SAFETY: touched only between `mutex.lock()` and `mutex.unlock()`; allocated in init and freed in deinit.
  @usableFromInline nonisolated(unsafe) let state: UnsafeMutablePointer<State>
  private nonisolated(unsafe) let memory: UnsafeMutableRawPointer

  public init(_ state: consuming sending State) {
    let layout = guardedLayout(of: State.self)
    // SAFETY: allocated here with room for both, one behind the other; initialised here, and not touched
    // before.
    unsafe memory = .allocate(byteCount: layout.byteCount, alignment: layout.alignment)
    mutex = unsafe PlacedMutex(at: memory)
    unsafe self.state = (memory + layout.stateStart).initializeMemory(as: State.self, to: state)
  }

  deinit {
    // SAFETY: a value that is destroyed is not in use.
    unsafe state.deinitialize(count: 1)
    mutex.end()
    unsafe memory.deallocate()
  }

  /// Runs `body` with the lock held.
  @inlinable
  @inline(__always)
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    mutex.lock()
    defer { mutex.unlock() }
    // SAFETY: the lock is held until the closure has returned.
    return try unsafe body(&state.pointee)
  }
}

/// Where a state begins behind its mutex in one piece of memory, how that is aligned, and the bytes of both, up
/// to where another mutex may begin on cache lines of its own.
private func guardedLayout<State: ~Copyable>(
  of _: State.Type
) -> (stateStart: Int, alignment: Int, byteCount: Int) {
  func up(_ byteCount: Int, to alignment: Int) -> Int { (byteCount + alignment - 1) / alignment * alignment }
  // Two cache lines: processors fetch them in pairs.
  let alignment = max(128, MemoryLayout<State>.alignment)
  let stateStart = up(PlacedMutex.byteCount, to: MemoryLayout<State>.alignment)
  return (stateStart, alignment, up(stateStart + MemoryLayout<State>.size, to: alignment))
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
    precondition(count >= 0, "there can't be fewer than no locks")
    self.count = count
    let layout = guardedLayout(of: State.self)
    stride = layout.byteCount
    stateStart = layout.stateStart
    // SAFETY: allocated here with room for all; initialised here, and not touched before.
    unsafe memory = .allocate(byteCount: count * stride, alignment: layout.alignment)
    for index in 0..<count {
      let place = unsafe memory + index * stride
      _ = unsafe PlacedMutex(at: place)
      unsafe (place + stateStart).initializeMemory(as: State.self, to: state(index))
    }
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
