// A number that threads add to.
import Synchronization

final class Counter: Sendable {
  private let total = Atomic<Int>(0)

  var value: Int { total.load(ordering: .acquiring) }

  func add(_ count: Int) { total.add(count, ordering: .acquiringAndReleasing) }
}
