// A number that threads add to.
import Synchronization

final class Counter: Sendable {
  private let total = Atomic<Int>(0)

  /// Starts from zero again, and returns what was counted.
  func take() -> Int { total.exchange(0, ordering: .acquiringAndReleasing) }

  func add(_ count: Int) { total.add(count, ordering: .acquiringAndReleasing) }
}
