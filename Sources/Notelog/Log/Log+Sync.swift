// Durability, shared by whoever waits for it: group commit. FORMAT.md §21.2, INV-T3 to INV-T5.

import NotelogStorage
import NotelogFormat
import NotelogBase

extension Log {
  /// Returns when the transaction is durable. One of those who wait syncs for all.
  ///
  /// Those whom a sync under way covers wait for its end, the others for the end of the next: so a sync wakes
  /// those it was for, and one more, who starts the next.
  func awaitDurable(_ sequence: UInt64) throws(NotelogError) {
    while true {
      let role = try state.withLock(
        when: { !$0.isSyncing || $0.nextDurable > sequence || $0.failure != nil },
        in: { Self.syncRoom($0.syncNumber(covering: sequence)) }, waking: .nobody
      ) {
        state throws(NotelogError)
          -> (number: UInt64, older: [Segment], head: Segment?, upTo: UInt64, end: LogPosition)? in
        if state.nextDurable > sequence { return nil }
        if let failure = state.failure { throw failure }
        state.isSyncing = true
        state.syncNumber += 1
        state.syncLimit = state.nextVisible
        return (state.syncNumber, state.unsynced, state.head?.segment, state.nextVisible, state.visibleEnd)
      }
      guard let (number, older, head, nextVisible, end) = role else { return }
      try sync(older, head)
      state.withLock(
        waking: .rooms(Self.generalRoom, Self.syncRoom(number), oneIn: Self.syncRoom(number + 1))
      ) { state in
        state.isSyncing = false
        state.nextDurable = max(state.nextDurable, nextVisible)
        state.floor = max(state.floor, end)
        state.unsynced.removeAll { segment in older.contains { $0 === segment } }
      }
    }
  }

  /// Syncs segments, oldest first: a later one must not be on the medium while an earlier one is not. Those
  /// before the head are only read from then on.
  private func sync(_ older: [Segment], _ head: Segment?) throws(NotelogError) {
    do {
      try timing { () throws(StorageError) in
        for segment in older { try segment.file.makeDurable() }
        try head?.file.makeDurable()
      }
    } catch {
      let failure = poison(error)
      state.withLock { $0.isSyncing = false }
      throw failure
    }
    // The one before the head gets its footer yet, as long as it is not finished.
    for segment in older where segment.isFinished { segment.file.endWriting() }
  }

  /// Counts a sync that commits or the store's end wait for, and tells of a slow one.
  func timing(_ sync: () throws(StorageError) -> Void) throws(StorageError) {
    let start = ContinuousClock.now
    try sync()
    let duration = ContinuousClock.now - start
    state.withLock(waking: .nobody) { state in
      state.counters.syncs += 1
      state.counters.slowestSync = max(state.counters.slowestSync, duration)
    }
    if let tell = options.tell, duration >= options.slowSync { tell(.slowSync(duration)) }
  }

  /// Syncs the segments before the head, so that at most two ever reach above the floor.
  func syncOlderSegments(_: borrowing GateHeld) throws(NotelogError) {
    let older = try state.withLock(
      when: { !$0.isSyncing || $0.failure != nil }, in: { _ in Self.generalRoom }
    ) {
      state throws(NotelogError) -> [Segment] in
      try state.checkWritable(at: storage.path)
      if !state.unsynced.isEmpty { state.isSyncing = true }
      return state.unsynced
    }
    guard !older.isEmpty else { return }
    try sync(older, nil)
    state.withLock { state in
      state.isSyncing = false
      state.unsynced.removeAll { segment in older.contains { $0 === segment } }
      // All before the head is durable, and so is the head's own start.
      let number = state.head?.segment.number ?? 0
      state.floor = max(state.floor, LogPosition(segment: number, offset: Layout.firstFrameOffset))
    }
  }
}
