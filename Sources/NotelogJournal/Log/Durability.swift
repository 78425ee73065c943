// How durable a commit is when it is acknowledged: FORMAT.md §21.2.

/// What an acknowledged commit survives.
package enum Durability: String, Sendable, CaseIterable {
  /// Loss of power: the commit is on the medium.
  case durable
  /// The end of the process, also by `kill -9`: the commit is with the system.
  case flushed
  /// Nothing is promised but order; the cheapest.
  case buffered
}
