// How durable a commit is when it is acknowledged: FORMAT.md 21.2.

/// What a commit survives once it has returned.
public enum Durability: Sendable, Hashable, CaseIterable {
  /// Loss of power: the commit is on the medium.
  case durable
  /// The end of the process, also by `kill -9`: the commit is with the operating system.
  case flushed
  /// Nothing but order is promised; the cheapest.
  case buffered
}
