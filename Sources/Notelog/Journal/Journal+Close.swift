// Closing in order: FORMAT.md §6, close mark.

import NotelogFormat
import NotelogStorage
import NotelogBase

extension Journal {
  /// Makes everything durable, marks the store as closed in order, and gives the lock back.
  ///
  /// - Throws: What stood in the way. The lock is given back all the same, and the next opening recovers.
  func close() throws(NotelogError) {
    // In the order in which writers take them: one that waits for room waits for whoever compacts.
    if log.turn.isHeldByThisThread { throw Self.insideWrite }
    log.turn.enter()
    defer { log.turn.leave() }
    keeping.enter()
    defer { keeping.leave() }
    // A compaction that is under way comes to its end first.
    compactor.enter()
    defer { compactor.leave() }
    let held = log.enterGate()
    defer { log.leaveGate() }
    if log.state.withLock({ $0.isClosed }) { return }
    defer {
      log.state.withLock { $0.isClosed = true }
      records.close()
      // Before the lock: after a failure some may still be writing, and whoever opens the store next must not meet them.
      for segment in catalog.segments.all { segment.file.close() }
      lock.withLock { $0?.close() }
      pin.withLock { $0 = nil }
    }
    guard holdsLock else { return }
    compactor.abandon()
    guard SystemProcess.identifier == owner else { return }
    try endInOrder(held, isForGood: true)
  }

  /// Makes everything durable, and marks the log as closed in order. The caller holds everything that writers take.
  func endInOrder(_ held: borrowing GateHeld, isForGood: Bool) throws(NotelogError) {
    // The close mark says that everything before it is durable, so that comes first.
    try log.waitUntilQuiet()
    let last = log.state.withLock { $0.nextVisible - 1 }
    if last > 0 { try log.awaitDurable(last) }
    // A segment may have been finished after the last transaction was durable.
    try log.syncOlderSegments(held)
    if isForGood { writeCheckpointAtClose(held) }
    let ending = try log.state.withLock { state throws(NotelogError) -> Ending? in
      if let failure = state.failure { throw failure }
      guard let segment = state.head?.segment, let end = state.head?.end, state.head?.isTouched == true else {
        return nil
      }
      let mark = CloseMark(
        place: LogPosition(segment: segment.number, offset: end), liveCount: state.live.count,
        liveChecksum: state.live.checksum)
      return (segment, mark, state.nextSequence)
    }
    guard let ending else { return }
    do { try write(ending) } catch {
      throw NotelogError(.inputOutput, "the store could not be closed in order", in: path, cause: error)
    }
    tellLastClose(ending)
  }

  /// The segment that the log ends in, its close mark, and the number that the next transaction gets.
  private typealias Ending = (segment: Segment, mark: CloseMark, nextSequence: UInt64)

  private func write(_ ending: Ending) throws(StorageError) {
    let (file, end) = (ending.segment.file, ending.mark.place.offset)
    var buffer = Buffer()
    ending.mark.appendFrame(
      to: &buffer, sequence: ending.nextSequence, salt: ending.segment.salt, place: end)
    try file.writeAll(buffer.bytes, at: end)
    try file.setLength(end + buffer.count)
    try log.timing(file.makeDurable)
  }
}

extension Journal {
  /// Notes outside of the log where the close mark is, which is on the medium by now. The note itself is not synced: an older one
  /// says less, and nothing false.
  private func tellLastClose(_ ending: Ending) {
    var buffer = Buffer(capacity: LastClose.byteCount)
    LastClose(storeID: storeID, mark: ending.mark.place, nextSequence: ending.nextSequence).append(
      to: &buffer)
    try? lock.withLock { $0 }?.writeAll(buffer.bytes, at: 0)
  }

  /// Throws once it was closed.
  func checkOpen() throws(NotelogError) {
    if records.isClosed { throw NotelogError.closed(path) }
  }

  /// Whether it was closed.
  var isClosed: Bool { log.state.withLock(waking: .nobody) { $0.isClosed } }
}

extension Journal {
  /// Keeps a pin until the journal is closed, or goes.
  func hold(_ pin: consuming Pin?) {
    var held = pin
    self.pin.withLock { swap(&$0, &held) }
  }
}
