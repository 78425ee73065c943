// What observers of a store are told.

/// What one commit changed among the records that somebody observes; or several, where the observer has
/// fallen behind. A commit of many thousands of records is told in parts.
public struct RecordChanges: Sendable, Hashable {
  /// The revisions of the commits: one, unless several were put together because the observer had fallen
  /// behind.
  public internal(set) var revisions: ClosedRange<UInt64>
  /// The records that were written.
  public internal(set) var written: Set<RecordID> = []
  /// The records that were deleted.
  public internal(set) var deleted: Set<RecordID> = []
  /// Whether every record that changed is named. Where the observer has fallen far behind, or another
  /// process's commits can't be told one by one any more, none is: read anew what matters to you.
  public internal(set) var isComplete = true

  /// How many records are named at most.
  static let recordCountMax = 4_096

  /// Whether there is no room for the name of another.
  var isFull: Bool { isComplete && written.count + deleted.count >= Self.recordCountMax }

  init(_ revisions: ClosedRange<UInt64>) { self.revisions = revisions }

  /// Adds that a record changed, where there is room.
  mutating func add(_ id: RecordID, isDeletion: Bool) {
    guard isComplete else { return }
    if isDeletion {
      written.remove(id)
      deleted.insert(id)
    } else {
      deleted.remove(id)
      written.insert(id)
    }
  }

  /// Takes in what came later.
  mutating func merge(_ later: RecordChanges) {
    let first = min(revisions.lowerBound, later.revisions.lowerBound)
    revisions = first...max(revisions.upperBound, later.revisions.upperBound)
    isComplete = isComplete && later.isComplete
    written.subtract(later.deleted)
    written.formUnion(later.written)
    deleted.subtract(later.written)
    deleted.formUnion(later.deleted)
    if written.count + deleted.count > Self.recordCountMax { isComplete = false }
    guard !isComplete else { return }
    written = []
    deleted = []
  }
}

/// What is committed to a store from a moment on: see `Store.changes(of:_:)`.
public struct Changes: AsyncSequence, AsyncIteratorProtocol, Sendable {
  let subscription: ChangeSubscription

  /// The next changes; nil once the store is closed, or the task cancelled.
  public mutating func next() async -> RecordChanges? { await subscription.next() }

  /// The next changes; nil once the store is closed, or the task cancelled.
  public mutating func next(isolation actor: isolated (any Actor)?) async -> RecordChanges? {
    await subscription.next()
  }

  /// Begins to wait.
  public func makeAsyncIterator() -> Changes { self }
}
