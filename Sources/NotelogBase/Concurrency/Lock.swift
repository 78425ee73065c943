// A lock around its state.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

/// State that one thread at a time reads and changes.
///
/// It stands on the C library's mutex: what ThreadSanitizer sees, it can check. The standard library's `Mutex` it does
/// not see on Linux (decision 0006). Mutex and state lie beside each other: whoever takes the lock has fetched the
/// beginning of the state with it.
// SAFETY: the state is reached through `withLock` alone, so one thread at a time.
@safe public struct Lock<State: ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let mutex: PlacedMutex
  // SAFETY: touched only between `mutex.lock()` and `mutex.unlock()`; allocated in init and freed in deinit.
  @usableFromInline nonisolated(unsafe) let state: UnsafeMutablePointer<State>
  private nonisolated(unsafe) let memory: UnsafeMutableRawPointer

  public init(_ state: consuming sending State) {
    let layout = GuardedLayout(of: State.self)
    // SAFETY: allocated here with room for both, one behind the other; initialised here, and not touched before.
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

/// What processors pass to each other of their memory.
enum CacheLine {
  static let byteCount = 64
}

/// Where a mutex and the state that it guards lie in one piece of memory.
struct GuardedLayout {
  /// Where the state begins behind its mutex.
  let stateStart: Int
  let alignment: Int
  /// The bytes of both, up to where another mutex may begin on a cache line of its own.
  let byteCount: Int

  init<State: ~Copyable>(of _: State.Type) {
    alignment = max(CacheLine.byteCount, MemoryLayout<State>.alignment)
    stateStart = Self.up(PlacedMutex.byteCount, to: MemoryLayout<State>.alignment)
    byteCount = Self.up(stateStart + MemoryLayout<State>.size, to: alignment)
  }

  private static func up(_ byteCount: Int, to alignment: Int) -> Int {
    (byteCount + alignment - 1) / alignment * alignment
  }
}
