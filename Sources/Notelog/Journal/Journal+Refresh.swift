// Moving on to what other processes have committed: FORMAT.md §25, "Following".

import NotelogFormat
import NotelogStorage
import NotelogBase

extension Journal {
  /// How often another process may go on just while it is followed.
  private static let maximumAttempts = 1000
  /// How often a read that fails is tried again: whoever closes the store cuts its last segment, and the next writer goes on in it.
  private static let maximumReadAttempts = 10

  /// Takes in what other processes have committed since the journal was opened, or since it was last asked. Who holds the store's lock
  /// knows everything anyway.
  ///
  /// Snapshots stay as they were, readers go on meanwhile, and whoever watches is told of each transaction.
  ///
  /// - Returns: Whether there was anything.
  /// - Throws: `damaged` where something is missing that the log speaks of; then what was known before is served.
  @discardableResult
  func refresh() throws(NotelogError) -> Bool {
    following.enter()
    defer { following.leave() }
    if isClosed { throw NotelogError.closed(path) }
    if holdsLock || !knowsWhatIsCurrent { return false }
    return try follow().hasNews
  }

  /// Returns when what others have committed is taken in with all that belongs to it, as far as records of it are visible now.
  func awaitFollowing() {
    if following.isHeldByThisThread { return }
    following.enter()
    following.leave()
  }

  /// The sequence number of the newest transaction that can be seen.
  var lastSequence: UInt64 { log.state.withLock(waking: .nobody) { $0.nextVisible - 1 } }

  /// The same, for who has entered `following`.
  func follow() throws(NotelogError) -> (hasNews: Bool, endsInCloseMark: Bool, place: LogPosition) {
    var hasNews = false
    var isArranging = false
    defer { if isArranging { catalog.arrangement.leave() } }
    for attempt in 1... {
      var follower = Follower(self, isArranging: isArranging)
      do {
        try follower.run()
        if follower.isArranging { catalog.arrangement.leave() }
        isArranging = false
        followDebt.withLock { $0 = nil }
        if let gap = follower.gap { tellGap(from: gap) }
        hasNews = hasNews || follower.hasNews
        if followed.withLock({ $0 })?() == true, attempt < Self.maximumAttempts { continue }
        return (hasNews, follower.endsInCloseMark, follower.place)
      } catch {
        isArranging = follower.isArranging
        if follower.gap != nil || !follower.isExact {
          followDebt.withLock { $0 = (follower.first, follower.gap, follower.isExact) }
        }
        hasNews = hasNews || follower.hasNews
        if error.cause?.errno == SystemErrno.inputOutput, attempt < Self.maximumReadAttempts { continue }
        guard error.cause?.isOfGoneFile == true else { throw error }
        guard attempt < Self.maximumAttempts else {
          throw NotelogError(
            .damaged,
            "a segment that the log names is missing or does not check; open the store again (\(error))")
        }
      }
    }
    return (hasNews, false, .zero)
  }

  private func tellGap(from first: UInt64) {
    let end = log.state.withLock(waking: .nobody) { $0.nextVisible }
    if end > first { log.watch.tellGap(first...end - 1) }
  }
}

extension StorageError {
  /// Whether a file that was named a moment ago is gone: its writer goes on.
  fileprivate var isOfGoneFile: Bool { isMissing || errno == SystemErrno.stale }
}
