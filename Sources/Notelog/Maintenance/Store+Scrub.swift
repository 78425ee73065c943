// Verifying a store a little at a time, while it is in use. It needs no key, and writes nothing.

extension Store {
  /// Reads what the store holds, as much as the budget allows, and checks it, beside readers and writers.
  ///
  /// For an app that keeps data for years: called now and then, it finds damage while there still is a backup that has what
  /// was damaged. A segment at least is read in each call, so that a round comes to its end. The segment that is being written to
  /// is left out until it is finished; `verify(at:unlocking:threadCount:progress:)` reads that too, and sealed values.
  ///
  /// - Parameters:
  ///   - position: What the call before returned as `next`; nil begins a new round.
  ///   - budget: What it may spend.
  /// - Returns: What was found, and where to go on. Damage is a finding, not an error.
  /// - Throws: `inputOutput`, `closed`.
  public func scrub(
    from position: ScrubPosition? = nil, _ budget: WorkBudget = .unlimited
  ) throws -> ScrubSummary {
    try journal.scrub(from: position, budget)
  }
}
