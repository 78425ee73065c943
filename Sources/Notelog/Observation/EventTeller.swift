// Tells a store's events, away from where they happen.

import Dispatch
import Synchronization

/// Tells an observer of events, one after another in the order in which they happened, on a thread that holds
/// none of the store's locks.
final class EventTeller: Sendable {
  /// How many events may wait for an observer that is slow; more are counted, and not told.
  static let waitingMax = 1000

  private let observer: @Sendable (StoreEvent) -> Void
  private let queue = DispatchQueue(label: "notelog.events")
  private let ownQueue = DispatchSpecificKey<Bool>()
  private let waiting = Atomic<Int>(0)
  private let untold = Atomic<Int>(0)

  init(_ observer: @escaping @Sendable (StoreEvent) -> Void) {
    self.observer = observer
    queue.setSpecific(key: ownQueue, value: true)
  }

  /// How many events the observer was not told of, because too many waited.
  var untoldCount: Int { untold.load(ordering: .relaxed) }

  /// Has the observer told. Returns at once, so that it may be called with locks held.
  func tell(_ event: StoreEvent) {
    guard waiting.add(1, ordering: .relaxed).newValue <= Self.waitingMax else {
      waiting.subtract(1, ordering: .relaxed)
      untold.add(1, ordering: .relaxed)
      return
    }
    queue.async { [self] in
      observer(event)
      waiting.subtract(1, ordering: .relaxed)
    }
  }

  /// Waits until the observer has been told of everything; not in the observer itself, which would wait for
  /// its own end.
  func waitUntilTold() {
    if DispatchQueue.getSpecific(key: ownQueue) != true { queue.sync {} }
  }
}
