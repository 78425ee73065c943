// Work shared by several threads.

internal import Dispatch

/// Calls `body` with each number below a count, each on a thread of its own as far as there are processors, and returns
/// when all have returned.
package func inParallel(_ count: Int, _ body: @Sendable (Int) -> Void) {
  if count == 1 { return body(0) }
  DispatchQueue.concurrentPerform(iterations: count, execute: body)
}
