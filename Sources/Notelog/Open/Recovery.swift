// Writes what an unclean close leaves to be written: FORMAT.md §22, lines 9 to 12.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Brings a store that was not closed in order into a state in which every segment is finished.
struct Recovery {
  let storage: any Storage
  private(set) var examination: Examination
  /// Whether there was no room for recovery as it usually is.
  var isDiskFull = false

  /// A log segment that reaches beyond the floor, what of it stays, and how the live set will identify that;
  /// nothing where nothing does.
  private typealias Cut = (source: LogPosition, entry: LiveEntry?)

  /// Copies what is above the floor into a recovered segment, or makes it durable where it is; the sources
  /// are cut afterwards.
  func run(number: UInt32, salt: UInt64) throws(NotelogError) {
    guard examination.missingHead == nil || examination.newest?.entry != nil else {
      throw NotelogError(
        .damaged, "the end of the log is missing, and the end of what is left of it; salvage what there is")
    }
    let isLimitKept = keptByteCount <= FormatLimits.maximumSegmentByteCount
    if isLimitKept, isCopyTooLong, canRaiseFloor {
      return try fromStorage(raiseFloor()).run(number: number, salt: salt)
    }
    let cuts = try fromStorage(findCuts())
    // No writer leaves more than a segment or two above the floor.
    guard cuts.count <= FormatLimits.maximumSources, isLimitKept else {
      throw NotelogError(
        .damaged, "\(cuts.count) segments lie above what is known to be durable; salvage what there is")
    }
    do throws(StorageError) { try keepTornAside() } catch {
      guard isDiskFull, error.isNoSpace else { throw NotelogError(error) }
      // Better without them than not at all.
      for tail in examination.report.torn {
        try? storage.unlink(FileName.tail(of: tail.place.segment, at: tail.place.offset))
      }
    }
    try fromStorage(writeRecoveredSegment(number: number, salt: salt, cuts))
  }

  private var copiedByteCount: Int { examination.kept.reduce(0) { $0 + $1.range.end - $1.range.start } }

  /// Whether the copy would take more than there is, or more than compaction is sure to have room for:
  /// **INV-H3**.
  private var isCopyTooLong: Bool {
    isDiskFull || copiedByteCount > (examination.survey.segments.values.map(\.byteCount).max() ?? 0)
  }

  /// Whether what is above the floor can become what is below it: there is something, all of what comes
  /// before is there, and it ends where units can end.
  private var canRaiseFloor: Bool {
    !examination.kept.isEmpty && examination.report.damages.isEmpty && examination.end.offset > 0
      && examination.end.segment == examination.newest?.number && examination.newest?.isCut == false
  }

  /// Writes what is whole above the floor once more where it is, and syncs it: an earlier write may be in
  /// memory only, and an earlier sync may have failed. It takes no room.
  ///
  /// - Returns: The recovery of what is then below the floor.
  private func raiseFloor() throws(StorageError) -> Recovery {
    let (floor, end) = (examination.report.floor, examination.end)
    for segment in examination.log where segment.number >= floor.segment && segment.number <= end.segment {
      let start = segment.number == floor.segment ? floor.offset : 0
      let limit = segment.number == end.segment ? end.offset : segment.end
      let file = try storage.openFile(FileName.segment(segment.number), .update)
      try file.copyBytes(of: file, start..<limit)
      try file.makeDurable()
    }
    // Their names must be durable too before a segment speaks of them.
    try storage.makeNamesDurable()
    var raised = self
    raised.examination.kept = []
    raised.examination.report.floor = end
    return raised
  }

  /// The bytes that the recovered segment takes, at most: a footer takes no more than the frames it lists,
  /// but for its beginning.
  private var keptByteCount: Int {
    let frames = copiedByteCount
    let live = (examination.live.count + FormatLimits.maximumSources + 1) * Layout.liveEntryByteCount
    return Layout.firstFrameOffset + 2 * (frames + live) + FooterBuilder().byteCount
  }

  /// Line 10: what will be cut is kept aside first.
  private func keepTornAside() throws(StorageError) {
    guard !examination.report.torn.isEmpty else { return }
    do { try storage.makeFolder(FileName.torn) } catch {
      guard error.errno == SystemErrno.exists else { throw error }
    }
    var room = FormatLimits.maximumTornByteCount
    for tail in examination.report.torn {
      guard let found = examination.survey.segments[tail.place.segment] else { continue }
      var buffer = Buffer()
      try buffer.fill(min(room, tail.byteCount), from: found.file, at: tail.place.offset)
      room -= buffer.count
      try keep(buffer.bytes, of: tail.place)
    }
    try storage.makeNamesDurable(in: FileName.torn)
  }

  /// Keeps a tail under the first of its names under which nothing else is kept: a recovery that was
  /// interrupted may have found another tail at the same place, which the crash then took.
  private func keep(_ tail: RawSpan, of place: LogPosition) throws(StorageError) {
    var copy = 0
    while true {
      let name = FileName.tail(of: place.segment, at: place.offset, copy: copy)
      copy += 1
      let file: any StorageFile
      do throws(StorageError) {
        file = try storage.openFile(name, .createIfMissing)
      } catch {
        // Something that must not be written to: a link, or a file with another name.
        guard error.isOfNoFile || error.errno == SystemErrno.manyNames else { throw error }
        continue
      }
      // All that an interruption leaves of it is its beginning.
      let kept = try file.readWhole(upTo: tail.byteCount)
      if kept.count <= tail.byteCount, kept.rawSpan.elementsEqual(tail.extracting(first: kept.count)) {
        try file.writeAll(tail, at: 0)
        return try file.makeDurable()
      }
    }
  }

  /// The segments of the log that reach beyond the floor, with the length of each that lies below it.
  private func findCuts() throws(StorageError) -> [Cut] {
    let floor = examination.report.floor
    var cuts: [Cut] = []
    for segment in examination.log + examination.cut
    where segment.number >= floor.segment && segment.header.kind == .log {
      let keeps = segment.number == floor.segment
      guard keeps, floor.offset > (try segment.unitsStart()) else {
        cuts.append((LogPosition(segment: segment.number, offset: 0), nil))
        continue
      }
      let kept = Self.keptByteCount(of: segment, floor: floor)
      var buffer = Buffer()
      let finished = try Self.footer(of: segment, kept: kept, into: &buffer)
      cuts.append((LogPosition(segment: segment.number, offset: kept), finished))
    }
    return cuts
  }

  /// Up to where a segment in which the floor lies is kept: to the floor, even where the file ends before it.
  /// What is missing is then seen for as long as the segment lives. A floor that no segment can have room for
  /// is not to be believed.
  private static func keptByteCount(of segment: FoundSegment, floor: LogPosition) -> Int {
    // A footer takes no more than the frames it lists, but for its beginning.
    let room = FormatLimits.maximumSegmentByteCount - segment.end - FooterBuilder().byteCount
    return aligned(floor.offset <= room ? floor.offset : segment.end)
  }

  /// The footer of a log segment cut at a length, or filled up to it: the same whenever it is made, as it
  /// says what the frames say.
  static func footer(
    of found: FoundSegment, kept: Int, into buffer: inout Buffer
  ) throws(StorageError) -> LiveEntry {
    let footer = try FooterBuilder(framesOf: found.file, salt: found.salt, to: kept)
    return footer.finish(at: kept, header: found.header) { buffer.append($0) }
  }

  /// Line 9: a new segment with every whole transaction above the floor. It is written also when there is
  /// none: it is the witness of the cut.
  private func writeRecoveredSegment(number: UInt32, salt: UInt64, _ cuts: [Cut]) throws(StorageError) {
    var live = examination.live
    for cut in cuts {
      live.remove(cut.source.segment)
      if let entry = cut.entry { live.insert(entry) }
    }
    if let entry = examination.missingHead { live.insert(entry) }
    let firstSequence = examination.nextSequence
    var builder = try SegmentBuilder(in: storage, number: number, salt: salt)
    do {
      try builder.append(live, firstSequence: firstSequence)
      try copyKept(to: &builder)
    } catch {
      builder.abandon()
      throw error
    }
    _ = try builder.publish { end in
      SegmentHeader(
        .recovered, number: number, storeID: examination.storeID, branch: examination.branch, salt: salt,
        firstSequence: firstSequence,
        floor: LogPosition(segment: number, offset: end), live: live, sources: cuts.map(\.source))
    }
  }

  /// Copies the whole transactions above the floor, segment by segment: what is read for one serves the next.
  private func copyKept(to builder: inout SegmentBuilder) throws(StorageError) {
    for segment in examination.log where segment.number >= examination.report.floor.segment {
      var walk = segment.walk()
      for kept in examination.kept where kept.segment == segment.number {
        try Self.copy(kept.range, &walk, to: &builder)
      }
    }
  }

  /// Copies a transaction. Its live changes are in the live set already and are left out.
  private static func copy(
    _ range: TransactionRange, _ walk: inout SegmentWalk, to builder: inout SegmentBuilder
  ) throws(StorageError) {
    let start = builder.end
    let name = walk.reader.file.name
    var frameCount = 0
    try walk.forEachFrame(of: range) { (header, payload, _) throws(StorageError) in
      // It was whole a moment ago; a disk that says otherwise now must not be copied from.
      guard header.accepts(payload) else { throw StorageError(.read, name, errno: SystemErrno.inputOutput) }
      if header.kind == .liveChange { return }
      try builder.append(header, payload)
      frameCount += 1
    }
    guard frameCount > 0 else { return }
    let mark = CommitMark(
      frameCount: frameCount, firstOffset: start, floor: range.mark.floor, time: range.mark.time)
    try builder.append(mark, sequence: range.sequence)
  }
}

// MARK: - What becomes of the segments that a recovery cuts: FORMAT.md §22, line 11.

extension Recovery {
  /// Line 11: cuts and finishes, or deletes, the sources of the newest recovered segment.
  ///
  /// It is done again at each opening until the log goes on: what an earlier opening did can be read, but a
  /// process that was killed, or a sync that failed, may have left it in memory only.
  ///
  /// - Returns: Whether anything had to be done.
  static func finishSources(_ examination: Examination, in storage: any Storage) throws(NotelogError) -> Bool
  {
    guard let newest = examination.newest, newest.header.kind == .recovered else { return false }
    let isAnythingLeft = newest.header.sources.contains { examination.survey.segments[$0.segment] != nil }
    guard isAnythingLeft else { return false }
    do {
      // Nothing may go before the name of the segment that takes its place is durable.
      try storage.makeNamesDurable()
      var isChanged = false
      for source in newest.header.sources {
        guard let found = examination.survey.segments[source.segment] else { continue }
        if source.offset == 0 {
          try storage.remove(FileName.segment(source.segment))
          isChanged = true
        } else if let entry = examination.live[source.segment] {
          isChanged = try cutAndFinish(found, kept: source.offset, as: entry, storage) || isChanged
        }
      }
      if isChanged { try storage.makeNamesDurable() }
      return isChanged
    } catch { throw NotelogError(error) }
  }

  /// - Returns: Whether it was done; not where the frames are no longer those that the recovered segment
  ///   spoke of: then they are damaged, and stay as they are.
  private static func cutAndFinish(
    _ found: FoundSegment, kept: Int, as entry: LiveEntry, _ storage: any Storage
  ) throws(StorageError) -> Bool {
    var buffer = Buffer()
    guard try footer(of: found, kept: kept, into: &buffer) == entry else { return false }
    let name = FileName.segment(found.number)
    // Whoever has the file open may read what is moved to the recovered segment, so a copy takes its place.
    // The footer of one that was cut already is written again, over itself.
    let isCut = found.byteCount == entry.byteCount
    if !isCut {
      let temporary = name + FileName.partialSuffix
      do throws(StorageError) {
        let copy = try storage.openEmpty(temporary)
        try copy.copyBytes(of: found.file, 0..<min(kept, found.byteCount))
        try copy.setLength(kept)
        try copy.writeAll(buffer.bytes, at: kept)
        try copy.makeDurable()
        try storage.move(temporary, to: name)
        return true
      } catch {
        guard error.isNoSpace else { throw error }
        try? storage.unlink(temporary)
      }
    }
    let file = try storage.openFile(name, .update)
    if !isCut { try file.setLength(kept) }
    try file.writeAll(buffer.bytes, at: kept)
    try file.makeDurable()
    return true
  }
}

extension Examination {
  /// Where a source ends that a recovery was interrupted before it cut, and in `footer` what comes behind
  /// that; nothing where it is cut, or its frames are not those that the live set speaks of.
  func cutEnd(of entry: LiveEntry, footer: inout Buffer) throws(StorageError) -> Int? {
    guard let segment = log.first(where: { $0.number == entry.number && $0.isCut }),
      let source = log.flatMap(\.header.sources).last(where: { $0.segment == entry.number }),
      try Recovery.footer(of: segment, kept: source.offset, into: &footer) == entry
    else { return nil }
    return source.offset
  }
}
