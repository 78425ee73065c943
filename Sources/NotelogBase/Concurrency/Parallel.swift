// Work shared by several threads.

internal import Dispatch
import Synchronization

/// Calls `body` with each number below a count, each on a thread of its own as far as there are processors,
/// and returns when all have returned.
package func inParallel(_ count: Int, _ body: @Sendable (Int) -> Void) {
  if count == 1 { return body(0) }
  DispatchQueue.concurrentPerform(iterations: count, execute: body)
}

/// Pieces of work by their numbers: whoever is free takes the next one, until nothing is left.
package final class WorkQueue: Sendable {
  private let count: Int
  private let taken = Atomic(0)

  /// A queue of the numbers below a count.
  package init(count: Int) { self.count = count }

  /// Leaves nothing to be taken: whoever is at work comes to its end, and finds nothing more to do.
  package func stop() { taken.store(count, ordering: .relaxed) }

  /// A number that nobody has taken.
  package func next() -> Int? {
    let number = taken.wrappingAdd(1, ordering: .relaxed).oldValue
    return number < count ? number : nil
  }
}
