// Verifying a store a little at a time, while it is in use. It needs no key, and writes nothing.

/// Where a scrub goes on. It may be kept, and taken up in another opening of the store.
public struct ScrubPosition: Sendable, Hashable, Codable {
  /// Segments with lower numbers have been verified in this round.
  let segment: UInt32
}

/// What a call of a scrub found.
public struct ScrubSummary: Sendable {
  /// What is damaged, in the order in which it was found.
  public let findings: [Verification.Finding]
  /// How many segments were read.
  public let segmentCount: Int
  /// How many frames were checked.
  public let frameCount: Int
  /// How many bytes were read.
  public let byteCount: Int
  /// Where to go on; nil where this round has come to its end.
  public let next: ScrubPosition?
}

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
    let result = try journaling(at: journal.path, journal.scrub(from: position?.segment ?? 0, budget))
    return ScrubSummary(
      findings: result.damages.map(Verification.Finding.init), segmentCount: result.segmentCount,
      frameCount: result.frameCount, byteCount: result.byteCount,
      next: result.next.map(ScrubPosition.init(segment:)))
  }
}
