// Compaction, which needs no key.

import NotelogFormat

extension Store {
  /// What `compact()` would do now, about. Nothing is written; a store that was opened for reading will do.
  public var compactionForecast: CompactionForecast {
    var forecast = journal.compactionForecast
    // The segment that is being written to is finished first, if something in it is dead; another one is
    // begun.
    if let head = journal.statistics.segments.first(where: \.isHead) {
      let overheadByteCount = Layout.firstFrameOffset + FooterBuilder().byteCount
      let freed = head.byteCount - head.liveByteCount - head.keptByteCount - 2 * overheadByteCount
      if freed > 0 {
        forecast.segments.append(head.number)
        forecast.copiedByteCount += head.liveByteCount
        forecast.freedByteCount += freed
      }
    }
    return forecast
  }

  /// Copies what is live out of segments that are partly dead, bytes as they are, and removes those.
  ///
  /// Works on a locked store, and beside readers and writers. A crash at any moment leaves the old segments
  /// or the new ones. A segment that is damaged is left as it is, and stays reported.
  ///
  /// - Parameters:
  ///   - budget: What it may spend.
  ///   - progress: Told, from time to time, how many bytes of about how many are copied; its answer says
  ///     whether to go on.
  /// - Returns: What was done.
  /// - Throws: `full`, `poisoned`, `closed`, `readOnly`.
  @discardableResult
  public func compact(
    _ budget: WorkBudget = .unlimited,
    progress: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> CompactionSummary {
    try journal.compact(budget, progress: progress)
  }

  /// Leaves nothing dead behind: every segment with anything in it that was overwritten or deleted is
  /// replaced, however little that is. After a rotation, what was sealed under the old generation is then in
  /// no file of the store any more. What crashes tore off (`torn/`) stays.
  ///
  /// - Parameter progress: Told, from time to time, how many bytes of about how many are copied; its answer
  ///   says whether to go on.
  /// - Returns: What was done.
  /// - Throws: `full`, `poisoned`, `closed`, `readOnly`.
  @discardableResult
  public func purge(
    progress: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> CompactionSummary {
    try journal.compact(.unlimited, .purge, progress: progress)
  }

  /// Compacts if the store takes more than 1.4 × what lives in it and a segment, until it no longer does.
  ///
  /// For a thread of the app's own that calls it now and then, so that writers seldom do their share.
  ///
  /// - Parameter budget: What it may spend.
  /// - Returns: Whether there is more to do.
  /// - Throws: `full`, `poisoned`, `closed`, `readOnly`.
  @discardableResult
  public func compactIfDue(_ budget: WorkBudget = .unlimited) throws -> Bool {
    try journal.compactIfDue(budget)
  }

  // MARK: - Verifying a store a little at a time, while it is in use. It needs no key, and writes nothing.

  /// Reads what the store holds, as much as the budget allows, and checks it, beside readers and writers.
  ///
  /// For an app that keeps data for years: called now and then, it finds damage while there still is a backup
  /// that has what was damaged. A segment at least is read in each call, so that a round comes to its end.
  /// The segment that is being written to is left out until it is finished;
  /// `verify(at:unlocking:head:threadCount:progress:)` reads that too, and sealed values.
  ///
  /// - Parameters:
  ///   - segment: What the call before returned as `next`, also in another opening of the store; nil begins a
  ///     new round.
  ///   - budget: What it may spend.
  /// - Returns: What was found, and where to go on. Damage is a finding, not an error.
  /// - Throws: `inputOutput`, `closed`.
  public func scrub(
    from segment: Int? = nil, _ budget: WorkBudget = .unlimited
  ) throws -> Verification {
    try journal.scrub(from: segment, budget)
  }
}
