// State that threads change under a lock and wait for: a conditional critical region.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Synchronization

/// Who is to look again after a change: rooms of a monitor.
public struct Wake: Equatable, Sendable {
  /// The most rooms that a monitor has.
  public static let roomLimit = 32
  /// Everybody in all rooms: what is right wherever nothing better is known.
  public static let everyone = Wake(all: .max)
  /// For changes that nobody waits for.
  public static let nobody = Wake(all: 0)

  /// Rooms in which all wake, a bit each.
  let all: UInt32
  /// Rooms in which one wakes.
  var one: UInt32 = 0

  /// All in two rooms, and one in another.
  public static func rooms(_ first: Int, _ second: Int, oneIn room: Int? = nil) -> Wake {
    Wake(all: 1 << UInt32(first) | 1 << UInt32(second), one: room.map { 1 << UInt32($0) } ?? 0)
  }
}

/// State behind a lock, entered when a condition holds.
///
/// The state is only touched inside `withLock`; waiting happens between accesses, never during one. Where
/// many threads wait for different things, each waits in the room of what it waits for, and whoever changes
/// that wakes that room.
///
/// There is a method for each way in: closures that are default arguments would be made anew for each call,
/// in memory of their own.
public final class Monitor<State: Sendable & ~Copyable>: Sendable {
  @usableFromInline let mutex: ConditionMutex
  // SAFETY: read and written only between `mutex.lock()` and `mutex.unlock()`.
  @usableFromInline nonisolated(unsafe) var state: State

  public init(_ state: consuming State, roomCount: Int = 1) {
    mutex = ConditionMutex(roomCount: roomCount)
    // SAFETY: nobody else has this object yet.
    unsafe self.state = state
  }

  /// Runs `body` with the lock held, and wakes whom that concerns.
  ///
  /// - Parameters:
  ///   - wake: Whom a body that returns wakes; one that throws wakes everyone.
  ///   - body: What to do.
  /// - Returns: What the body returns.
  /// - Throws: What the body throws.
  @inlinable
  public func withLock<Result: ~Copyable, Failure: Error>(
    waking wake: Wake = .everyone, _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    mutex.lock()
    return try finish(waking: wake, body)
  }

  /// Waits until the condition holds, then runs `body` with the lock held, and wakes whom that concerns.
  ///
  /// - Parameters:
  ///   - condition: What to wait for.
  ///   - room: The room to wait in, which may depend on the state.
  ///   - wake: Whom a body that returns wakes; one that throws wakes everyone.
  ///   - body: What to do.
  /// - Returns: What the body returns.
  /// - Throws: What the body throws.
  @inlinable
  public func withLock<Result: ~Copyable, Failure: Error>(
    when condition: (borrowing State) -> Bool, in room: (borrowing State) -> Int,
    waking wake: Wake = .everyone, _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    mutex.lock()
    // SAFETY: the lock is held, but for the time inside `wait`, when no access to `state` is under way.
    while unsafe !condition(state) { mutex.wait(in: unsafe room(state)) }
    return try finish(waking: wake, body)
  }

  /// Runs `body` with the lock held, and gives that back.
  @inlinable
  @inline(__always)
  func finish<Result: ~Copyable, Failure: Error>(
    waking wake: Wake, _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let result: Result
    // SAFETY: the lock is held.
    do throws(Failure) { result = try unsafe body(&state) } catch {
      mutex.unlock(waking: .everyone)
      throw error
    }
    mutex.unlock(waking: wake)
    return result
  }
}

/// A gate that one holder passes at a time.
public final class Gate: Sendable {
  private let mutex = ConditionMutex()
  /// The thread that holds it; 0 for none.
  private let holder = Atomic<UInt>(0)

  public init() {}

  /// Whether the calling thread holds it: it would wait for itself.
  public var isHeldByThisThread: Bool { holder.load(ordering: .relaxed) == threadIdentity }

  /// Waits for the gate and takes it.
  public func enter() {
    mutex.lock()
    holder.store(threadIdentity, ordering: .relaxed)
  }

  /// Takes the gate if nobody has it.
  ///
  /// - Returns: Whether it is the caller's now.
  package func enterIfFree() -> Bool {
    guard mutex.lockIfFree() else { return false }
    holder.store(threadIdentity, ordering: .relaxed)
    return true
  }

  /// Gives the gate back: on the thread that took it.
  public func leave() {
    holder.store(0, ordering: .relaxed)
    mutex.unlock()
  }
}
