// Who is still inside something that is to be closed.

internal import Synchronization

/// Counts threads that are inside, and lets nobody in once it is closed.
///
/// Entering and leaving take no lock. Closing waits for those who are inside: what they use must stay what it is until then.
package final class Occupancy: Sendable {
  /// Those inside, with `closed` added once nobody is to come in.
  private let count = Atomic<Int>(0)
  private static let closed = Int.min

  package init() {}

  /// Comes in.
  ///
  /// - Returns: Whether it is open; who is not let in does not leave either.
  package func enter() -> Bool {
    if count.add(1, ordering: .acquiring).newValue > 0 { return true }
    leave()
    return false
  }

  /// Goes out.
  package func leave() { count.subtract(1, ordering: .releasing) }

  /// Lets nobody in from now on.
  package func bar() { count.bitwiseOr(Self.closed, ordering: .acquiringAndReleasing) }

  /// Waits until nobody is inside. Who is in there is in a system call or so: nobody has to be woken for it.
  package func waitUntilEmpty() {
    while count.load(ordering: .acquiring) & ~Self.closed != 0 { pauseThread() }
  }
}
