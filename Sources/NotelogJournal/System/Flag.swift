// A Boolean that threads share.

import Synchronization

/// A Boolean that threads read and swap without a lock.
final class Flag: Sendable {
  private let value: Atomic<Bool>

  init(_ value: Bool) { self.value = Atomic(value) }

  /// Sets the flag and returns what it was.
  func exchange(_ newValue: Bool) -> Bool { value.exchange(newValue, ordering: .acquiringAndReleasing) }
}
