// Space: preallocation, the switch to the next segment, and a full disk. FORMAT.md §21.2.

import NotelogBase
import NotelogFormat
import NotelogStorage
import Synchronization

extension Log {
  /// Sees to it that the head has promised space for a transaction and for the footer and close mark behind
  /// it.
  func makeRoom(
    _ held: borrowing GateHeld, byteCount: Int, footerByteCount: Int, takesReserve: Bool
  ) throws(NotelogError) {
    let segmentByteCount = byteCount + footerByteCount + Segment.overheadByteCount
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
    let head = state.withLock(waking: .nobody) { $0.footer == nil ? $0.head : nil }
    guard let head else { return }
    var footer: FooterBuilder? = try fromStorage(
      FooterBuilder(framesOf: head.segment.file, salt: head.segment.salt, to: head.end))
    state.withLock { state in
      state.head?.footerByteCount = footer?.byteCount ?? 0
      state.footer = footer.take()
    }
  }

  private func tryMakeRoom(
    _ held: borrowing GateHeld, byteCount: Int, footerByteCount: Int
  ) throws(NotelogError) {
    try readFooter(held)
    try writeUnsyncedAgain()
    let head = try state.withLock(waking: .nobody) { state throws(NotelogError) in
      try state.checkWritable(at: storage.path)
      return state.head
    }
    guard let head else {
      try createHead(held, needing: byteCount + footerByteCount)
      return
    }
    // Room for a close mark is always promised.
    let behind = footerByteCount + CloseMark.frameByteCount + 8
    let needed = head.end + byteCount + head.footerByteCount + behind
    if needed > space.affordableAim, head.footerByteCount != FooterBuilder().byteCount {
      try switchSegment(held, needing: byteCount + footerByteCount)
      return
    }
    guard needed > head.allocatedEnd else { return }
    let allocatedEnd = try allocate(head.segment.file, from: head.allocatedEnd, to: needed)
    noteAllocation(head.allocatedEnd..<allocatedEnd)
  }

  /// Notes that more of the head's file has been promised.
  private func noteAllocation(_ range: Range<Int>) {
    space.headByteCount.add(range.count, ordering: .relaxed)
    state.withLock { $0.head?.allocatedEnd = range.upperBound }
  }

  /// Writes the close mark that the head ends in once more, or its start if nothing follows that.
  ///
  /// A process that was killed, or a sync that failed, before the store was reopened may have left it in
  /// memory only, looking as if it were on the medium. A mark written again is covered by the next sync. A
  /// start must be durable, and the segment's name with it, before anything goes into the segment, or the
  /// segment is finished.
  private func writeUnsyncedAgain() throws(NotelogError) {
    let head = try state.withLock(waking: .nobody) { state throws(NotelogError) in
      try state.checkWritable(at: storage.path)
      return state.head?.unsynced == nil ? nil : state.head
    }
    guard let segment = head?.segment, let unsynced = head?.unsynced else { return }
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
    _ file: any StorageFile, from start: Int, to needed: Int
  ) throws(NotelogError) -> Int {
    let step = min(SegmentSize.allocationStep, max(space.affordableAim - start, 0))
    // Near the bound of the space contract nothing is taken that is not needed yet.
    let room = options.compactsAutomatically ? max(space.room(), 0) : step
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

  /// Finishes the head and goes on in a new segment.
  func switchSegment(_ held: borrowing GateHeld, needing byteCount: Int) throws(NotelogError) {
    try waitUntilQuiet()
    try writeUnsyncedAgain()
    try syncOlderSegments(held)
    // Nobody adds to it: there are no writers now.
    var known: FooterBuilder?
    let head = state.withLock { state in
      known = state.footer.take()
      return state.head
    }
    guard let head, let footer = known.take() else { throw NotelogError.closed(storage.path) }
    let segment = head.segment
    let entry = footer.finish(at: head.end, header: head.header) { _ in }
    do {
      // A head that was closed has given up the room for its footer. Its successor takes none before:
      // **INV-H2**.
      if entry.byteCount > head.allocatedEnd {
        try fromStorage(segment.file.promise(head.allocatedEnd..<entry.byteCount))
        noteAllocation(head.allocatedEnd..<entry.byteCount)
      }
      try createHead(held, finishing: entry, needing: byteCount)
    } catch {
      // The old head goes on.
      known = consume footer
      state.withLock { $0.footer = known.take() }
      throw error
    }
    // Only now, as the successor exists, does the old head become a finished segment.
    do {
      try footer.write(to: segment.file, at: head.end, header: head.header)
      try segment.file.setLength(entry.byteCount)
    } catch { throw poison(error) }
    // The next switch syncs it, holding writers up meanwhile; begun now, most of that is done by then.
    segment.file.startWriteback()
    let old = segment.finished(as: entry)
    catalog.segments.insert(old)
    space.headByteCount.subtract(max(head.allocatedEnd, entry.byteCount), ordering: .relaxed)
    state.withLock { state in
      state.live.insert(entry)
      // It was waiting for a sync already; now it needs one that covers its footer too.
      state.unsynced.removeAll { $0 === segment }
      state.unsynced.append(old)
    }
  }

  /// Creates a segment and makes it the head, the first or the one behind a head that is about to be finished.
  /// It exists once it and its name are durable.
  private func createHead(
    _: borrowing GateHeld, finishing finished: LiveEntry? = nil, needing byteCount: Int
  ) throws(NotelogError) {
    let salt = options.random()
    let (header, live) = try state.withLock { state throws(NotelogError) in
      let number = try state.allocateNumber()
      var live = state.live
      if let finished { live.insert(finished) }
      let floor =
        finished == nil ? LogPosition(segment: number, offset: Layout.firstFrameOffset) : state.floor
      let header = SegmentHeader(
        .log, number: number, storeID: storeID, branch: branch, salt: salt, firstSequence: state.nextSequence,
        floor: floor, live: live)
      return (header, live)
    }
    let start = header.start(live: live)
    let name = FileName.segment(header.number)
    let file = try fromStorage(storage.openFile(name, .createNew))
    let needed = start.count + byteCount + FooterBuilder().byteCount + CloseMark.frameByteCount + 8
    let allocatedEnd: Int
    do { allocatedEnd = try allocate(file, from: 0, to: needed) } catch {
      // Nothing was promised and nothing written: what stays of it is an interrupted creation.
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
      number: header.number, kind: .log, salt: SegmentSalt(salt), file: file, entry: nil,
      figures: Segment.Figures(isNew: true))
    catalog.segments.insert(segment)
    state.withLock { state in
      // Whoever waits for durability from now on must not miss what the old head holds.
      if let old = state.head?.segment { state.unsynced.append(old) }
      state.head = Head(
        segment: segment, header: header, end: start.count, allocatedEnd: allocatedEnd,
        footerByteCount: FooterBuilder().byteCount)
      state.footer = FooterBuilder()
      if finished == nil { (state.floor, state.visibleEnd) = (header.floor, header.floor) }
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
      guard let head = state.head else { return nil }
      let start = head.end + byteCount
      guard start > head.zerosEnd, start < head.allocatedEnd else { return nil }
      let isOvertaken = head.zerosEnd < head.end
      let count =
        isOvertaken ? Self.leastZerosByteCount : min(2 * head.zerosByteCount, Self.mostZerosByteCount)
      let newEnd = min(start + count, head.allocatedEnd)
      state.head?.zerosEnd = newEnd
      state.head?.zerosByteCount = count
      return (head.segment.file, start..<newEnd)
    }
    guard let place else { return }
    // Where that fails, the commit will say what is wrong.
    try? place.file.writeZeros(place.range)
  }
}
