// Space: preallocation, the switch to the next segment, and a full disk. FORMAT.md §21.2.

import NotelogBase
import NotelogFormat
import NotelogStorage
import Synchronization

extension Log {
  /// What a close mark takes; room for one is always promised.
  private static let closeMarkByteCount = aligned(Layout.frameHeaderByteCount + CloseMark.byteCount)

  /// Sees to it that the head has promised space for a transaction and for the footer and close mark behind
  /// it.
  func makeRoom(
    _ held: borrowing GateHeld, byteCount: Int, footerByteCount: Int, takesReserve: Bool
  ) throws(NotelogError) {
    let segmentByteCount = byteCount + footerByteCount + CompactionCandidate.overheadByteCount
    if !takesReserve, !space.isReserved(for: segmentByteCount) {
      // A log that takes no more writes says so, whatever room there is.
      try state.withLock(waking: .nobody) { state throws(NotelogError) in
        try state.checkWritable(at: storage.path)
      }
      if let error = space.fill(for: segmentByteCount) { throw error }
    }
    do {
      try tryMakeRoom(held, byteCount: byteCount, footerByteCount: footerByteCount)
    } catch {
      // The reserve is for whoever makes room.
      guard error.code == .full, takesReserve, space.release(forDeletions: true) else { throw error }
      try tryMakeRoom(held, byteCount: byteCount, footerByteCount: footerByteCount)
    }
  }

  /// Collects the footer of a head that was opened and not written to yet.
  ///
  /// It is put off until then: opening takes no longer for a head with much in it.
  func readFooter(_: borrowing GateHeld) throws(NotelogError) {
    let head = state.withLock(waking: .nobody) { state -> (segment: Segment, end: Int)? in
      guard let segment = state.head?.segment, let end = state.head?.end, state.head?.isFooterKnown == false
      else {
        return nil
      }
      return (segment, end)
    }
    guard let (segment, end) = head else { return }
    var footer: FooterBuilder? = try fromStorage(
      FooterBuilder(framesOf: segment.file, salt: segment.salt, to: end))
    state.withLock { state in
      if let footer = footer.take() { state.head?.know(footer) }
    }
  }

  private func tryMakeRoom(
    _ held: borrowing GateHeld, byteCount: Int, footerByteCount: Int
  ) throws(NotelogError) {
    let aim = space.affordableAim
    try readFooter(held)
    try writeUnsyncedAgain()
    let room = try state.withLock(waking: .nobody) {
      state throws(NotelogError)
        -> (segment: Segment, end: Int, allocatedEnd: Int, footerByteCount: Int)? in
      try state.checkWritable(at: storage.path)
      guard let segment = state.head?.segment, let end = state.head?.end,
        let allocatedEnd = state.head?.allocatedEnd, let footer = state.head?.footerByteCount
      else { return nil }
      return (segment, end, allocatedEnd, footer)
    }
    guard let room else {
      try openHead(held, aim: aim, needing: byteCount + footerByteCount)
      return
    }
    let needed = room.end + byteCount + room.footerByteCount + footerByteCount + Self.closeMarkByteCount + 8
    if needed > aim, room.footerByteCount != FooterBuilder().byteCount {
      try switchSegment(held, aim: aim, needing: byteCount + footerByteCount)
      return
    }
    guard needed > room.allocatedEnd else { return }
    let allocatedEnd = try allocate(room.segment.file, from: room.allocatedEnd, to: needed, aim: aim)
    noteAllocation(room.allocatedEnd..<allocatedEnd)
  }

  /// Notes that more of the head's file has been promised.
  private func noteAllocation(_ range: Range<Int>) {
    space.headByteCount.add(range.count, ordering: .relaxed)
    state.withLock { state in
      state.head?.allocatedEnd = range.upperBound
      state.head?.isTouched = true
    }
  }

  /// Writes the close mark that the head ends in once more, or its start if nothing follows that.
  ///
  /// A process that was killed, or a sync that failed, before the store was reopened may have left it in
  /// memory only, looking as if it were on the medium. A mark written again is covered by the next sync. A
  /// start must be durable, and the segment's name with it, before anything goes into the segment, or the
  /// segment is finished.
  private func writeUnsyncedAgain() throws(NotelogError) {
    let head = try state.withLock(waking: .nobody) { state throws(NotelogError) -> (Segment, Range<Int>)? in
      try state.checkWritable(at: storage.path)
      guard let segment = state.head?.segment, let unsynced = state.head?.unsynced else { return nil }
      return (segment, unsynced)
    }
    guard let (segment, unsynced) = head else { return }
    do {
      var buffer = Buffer()
      try buffer.fill(unsynced.count, from: segment.file, at: unsynced.lowerBound)
      try segment.file.writeAll(buffer.bytes, at: unsynced.lowerBound)
      if unsynced.lowerBound == 0 {
        try segment.file.makeDurable()
        try storage.makeNamesDurable()
      }
    } catch { throw poison(error) }
    // It needs no close mark for that: nothing follows the one it ends in.
    state.withLock { $0.head?.unsynced = nil }
  }

  /// Makes the start of a head durable that was there to read when the store was opened, if nothing follows
  /// it: before that, nothing may say that the log reaches up to there.
  func proveStart(_: borrowing GateHeld) throws(NotelogError) {
    let isStartUnsynced = state.withLock(waking: .nobody) { $0.head?.unsynced?.lowerBound == 0 }
    if isStartUnsynced { try writeUnsyncedAgain() }
  }

  /// Promises space in steps, or just what is needed where a step finds no room.
  private func allocate(
    _ file: any StorageFile, from start: Int, to needed: Int, aim: Int
  ) throws(NotelogError) -> Int {
    let step = min(SegmentSize.allocationStep, max(aim - start, 0))
    // Near the bound of the space contract nothing is taken that is not needed yet.
    let room = options.compactsAutomatically ? max(space.contract().room, 0) : step
    let wished = space.isSparing ? aligned(needed) : aligned(max(needed, start + min(step, room)))
    do {
      try file.promise(start..<wished)
      return wished
    } catch {
      guard error.isNoSpace, wished > aligned(needed) else { throw NotelogError(error) }
    }
    try fromStorage(file.promise(start..<aligned(needed)))
    return aligned(needed)
  }

  /// Goes on in the segment that is there, or creates the first.
  private func openHead(_: borrowing GateHeld, aim: Int, needing byteCount: Int) throws(NotelogError) {
    let (live, firstSequence, number) = try state.withLock { state throws(NotelogError) in
      (state.live, state.nextSequence, try state.allocateNumber())
    }
    try createHead(
      number: number, live: live, firstSequence: firstSequence,
      floor: LogPosition(segment: number, offset: Layout.firstFrameOffset), aim: aim, needing: byteCount)
    state.withLock { state in
      state.floor = LogPosition(segment: number, offset: Layout.firstFrameOffset)
      state.visibleEnd = state.floor
    }
  }

  /// Finishes the head and goes on in a new segment.
  func switchSegment(_ held: borrowing GateHeld, aim: Int, needing byteCount: Int) throws(NotelogError) {
    try waitUntilQuiet()
    try writeUnsyncedAgain()
    try syncOlderSegments(held)
    // Nobody adds to it: there are no writers now.
    var footer = FooterBuilder()
    var frame = FooterBuilder.Frame()
    let finished = try state.withLock { state throws(NotelogError) -> Finished? in
      guard let head = state.head?.segment, let header = state.head?.header, let end = state.head?.end else {
        return nil
      }
      let allocatedEnd = state.head?.allocatedEnd ?? end
      let number = try state.allocateNumber()
      state.head?.exchangeFooter(with: &footer)
      frame = footer.frame(at: end, header: header, salt: head.salt)
      let entry = LiveEntry(
        number: head.number, byteCount: end + footer.byteCount, salt: head.salt.value,
        footerChecksum: frame.checksum)
      var live = state.live
      live.insert(entry)
      return Finished(
        segment: head, end: end, allocatedEnd: allocatedEnd, entry: entry, live: live,
        firstSequence: state.nextSequence, number: number, floor: state.floor)
    }
    guard let finished else { throw NotelogError.closed(storage.path) }
    do {
      // A head that was closed has given up the room for its footer.
      try promiseFooter(of: finished)
      try createHead(
        number: finished.number, live: finished.live, firstSequence: finished.firstSequence,
        floor: finished.floor,
        aim: aim, needing: byteCount)
    } catch {
      // The old head goes on.
      state.withLock { $0.head?.exchangeFooter(with: &footer) }
      throw error
    }
    // Only now, as the successor exists, does the old head become a finished segment.
    do {
      try footer.write(frame, to: finished.segment.file, at: finished.end)
      try finished.segment.file.setLength(finished.entry.byteCount)
    } catch { throw poison(error) }
    // The next switch syncs it, holding writers up meanwhile; begun now, most of that is done by then.
    finished.segment.file.startWriteback()
    let old = finished.segment.finished(as: finished.entry)
    catalog.segments.insert(old)
    space.headByteCount.subtract(max(finished.allocatedEnd, finished.entry.byteCount), ordering: .relaxed)
    state.withLock { state in
      state.live = finished.live
      // It was waiting for a sync already; now it needs one that covers its footer too.
      state.unsynced.removeAll { $0 === finished.segment }
      state.unsynced.append(old)
    }
  }

  /// Promises the room for the footer of a segment that is about to be finished, before its successor takes
  /// any: **INV-H2**.
  private func promiseFooter(of finished: borrowing Finished) throws(NotelogError) {
    let end = finished.entry.byteCount
    guard end > finished.allocatedEnd else { return }
    try fromStorage(finished.segment.file.promise(finished.allocatedEnd..<end))
    noteAllocation(finished.allocatedEnd..<end)
  }

  /// What a switch knows of the segment it finishes.
  private struct Finished {
    let segment: Segment
    let end: Int
    let allocatedEnd: Int
    let entry: LiveEntry
    let live: LiveSet
    let firstSequence: UInt64
    let number: UInt32
    let floor: LogPosition
  }

  /// Creates a segment and makes it the head. It exists once it and its name are durable.
  private func createHead(
    number: UInt32, live: LiveSet, firstSequence: UInt64, floor: LogPosition, aim: Int, needing byteCount: Int
  ) throws(NotelogError) {
    let salt = options.random()
    let header = SegmentHeader(
      .log, number: number, storeID: storeID, branch: branch, salt: salt, firstSequence: firstSequence,
      floor: floor, live: live)
    let start = header.start(live: live)
    let name = FileName.segment(number)
    let file = try fromStorage(storage.openFile(name, .createNew))
    let needed = start.count + byteCount + FooterBuilder().byteCount + Self.closeMarkByteCount + 8
    let allocatedEnd: Int
    do { allocatedEnd = try allocate(file, from: 0, to: needed, aim: aim) } catch {
      // Nothing was promised and nothing written: what stays of it is an interrupted creation.
      file.close()
      try? storage.unlink(name)
      throw error
    }
    do {
      try file.writeAll(start.bytes, at: 0)
      try timing { () throws(StorageError) in
        try file.makeDurable()
        try storage.makeNamesDurable()
      }
    } catch {
      // It may or may not be there after a crash: nothing that would contradict it may be written.
      throw poison(error)
    }
    space.headByteCount.add(allocatedEnd, ordering: .relaxed)
    let segment = Segment(
      number: number, kind: .log, salt: SegmentSalt(salt), file: file, entry: nil,
      figures: Segment.Figures(isNew: true))
    catalog.segments.insert(segment)
    state.withLock { state in
      // Whoever waits for durability from now on must not miss what the old head holds.
      if let old = state.head?.segment { state.unsynced.append(old) }
      state.head = Head(
        segment: segment, header: header, end: start.count, allocatedEnd: allocatedEnd,
        footerByteCount: FooterBuilder().byteCount, footer: FooterBuilder(), isFooterKnown: true,
        isTouched: true)
    }
  }

  // MARK: - Zeros ahead of durable commits: decision 0050.

  /// How many zeros are written at first, where no durable commit used the last ones up, and at most.
  private static let leastZerosByteCount = 4 << 10
  private static let mostZerosByteCount = 256 << 10

  /// Sees to it that a durable commit of so many bytes, and those that follow it, go where bytes were written
  /// before, and not only promised: a file system notes of each promised block that it holds something now,
  /// and a sync waits for that too.
  ///
  /// While the gate is held, nobody else has a place behind the head's end. What promised space holds is
  /// zeros: whether these are written, and survive, makes no difference to what is read.
  func writeZeros(_: borrowing GateHeld, aheadOf byteCount: Int) {
    let place = state.withLock(waking: .nobody) { state -> (file: any StorageFile, range: Range<Int>)? in
      guard let end = state.head?.end, let allocatedEnd = state.head?.allocatedEnd,
        let zerosEnd = state.head?.zerosEnd, let zerosByteCount = state.head?.zerosByteCount,
        let file = state.head?.segment.file, end + byteCount > zerosEnd
      else { return nil }
      let start = end + byteCount
      guard start < allocatedEnd else { return nil }
      let isOvertaken = zerosEnd < end
      let count = isOvertaken ? Self.leastZerosByteCount : min(2 * zerosByteCount, Self.mostZerosByteCount)
      let newEnd = min(start + count, allocatedEnd)
      state.head?.zerosEnd = newEnd
      state.head?.zerosByteCount = count
      return (file, start..<newEnd)
    }
    guard let place else { return }
    // Where that fails, the commit will say what is wrong.
    try? place.file.writeZeros(place.range)
  }
}
