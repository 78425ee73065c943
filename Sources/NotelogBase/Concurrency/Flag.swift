// A Boolean that threads share.

internal import Synchronization

/// A Boolean that threads read and swap without a lock.
package final class Flag: Sendable {
  private let value: Atomic<Bool>

  package init(_ value: Bool) { self.value = Atomic(value) }

  /// Whether it is set.
  package var isSet: Bool { value.load(ordering: .acquiring) }

  /// Sets the flag and returns what it was.
  package func exchange(_ newValue: Bool) -> Bool {
    value.exchange(newValue, ordering: .acquiringAndReleasing)
  }
}
