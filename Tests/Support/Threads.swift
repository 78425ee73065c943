// Threads of their own for tests: what blocks must not block the pool that tests run on.

import Foundation
import NotelogBase
import Synchronization

/// Runs closures side by side, each on a thread of its own.
package enum Threads {
  /// Runs the body once for each number below the count, all at the same time, and waits for all of them.
  ///
  /// - Throws: The first error that one of them threw; the others still run to their end.
  package static func run(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    let firstError = Lock<(any Error)?>(nil)
    let group = DispatchGroup()
    for number in 0..<count {
      group.enter()
      let thread = Thread {
        do { try body(number) } catch { firstError.withLock { $0 = $0 ?? error } }
        group.leave()
      }
      thread.stackSize = 1 << 20
      thread.start()
    }
    group.wait()
    if let error = firstError.withLock({ $0 }) { throw error }
  }

  /// Lets other threads go first.
  package static func yield() { sched_yield() }

  /// Gives each element to the body, two at a time, and collects what it returns in the elements' order.
  package static func map<Element: Sendable, Result: Sendable>(
    _ elements: [Element], _ body: @escaping @Sendable (Element) throws -> Result
  ) throws -> [Result] {
    let next = Atomic(0)
    let results = Lock<[Result?]>(Array(repeating: nil, count: elements.count))
    try run(min(2, elements.count)) { _ in
      while true {
        let index = next.add(1, ordering: .relaxed).oldValue
        guard index < elements.count else { return }
        let result = try body(elements[index])
        results.withLock { $0[index] = result }
      }
    }
    return results.withLock { $0.compactMap(\.self) }
  }
}
