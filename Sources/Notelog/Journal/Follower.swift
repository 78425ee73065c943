// Taking in what another process has committed: FORMAT.md §25, "Following".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// One look at the log behind what an open journal knows of it.
///
/// What is whole is taken in transaction by transaction, as if it had been written here; then the segments are exchanged that
/// compactions and recoveries have exchanged. It writes nothing, and the caller sees to it that nobody writes here meanwhile.
struct Follower: ~Copyable {
  let log: Log
  let catalog: Catalog
  let storage: any Storage
  /// Who keeps ordered indexes.
  let keeper: (any OrderKeeper)?

  /// Where the next unit is looked for.
  private(set) var place: LogPosition
  /// The sequence number that is expected next, and the one that was when the look began.
  private var next: UInt64
  private(set) var first: UInt64
  /// Whether all segments that came were known to be copies of others.
  var isExact = true
  /// Whether anything was taken in.
  private(set) var hasNews = false
  /// The sequence number from which on transactions can't be told one by one: the segments of some are gone already.
  private(set) var gap: UInt64?
  /// Whether the log ends in a close mark.
  private(set) var endsInCloseMark = false
  /// Segments of the log whose end a recovery has moved elsewhere.
  private var recut: Set<UInt32> = []
  /// Whether `Catalog.arrangement` is held: from when something is known to be missing or moved, until all is in its place, also where
  /// that takes several looks. Whoever looks gives it back.
  private(set) var isArranging: Bool

  init(_ journal: Journal, isArranging: Bool) {
    self.isArranging = isArranging
    log = journal.log
    catalog = journal.catalog
    storage = journal.storage
    keeper = journal.orderKeeper.withLock { $0 }
    (place, next) = log.state.withLock(waking: .nobody) { ($0.visibleEnd, $0.nextVisible) }
    first = next
    let debt = journal.followDebt.withLock { $0 }
    if let debt { (first, gap, isExact) = (debt.first, debt.gap, debt.isExact) }
  }

  /// Takes in what there is.
  ///
  /// - Throws: `inputOutput` with a missing file as its cause where another process went on meanwhile: then look again.
  mutating func run() throws(NotelogError) {
    if gap != nil { beginArranging() }
    while let next = try successor(try walk()) { try goOn(in: next) }
    try rearrange()
  }

  /// Has no snapshot made before all is in its place.
  mutating func beginArranging() {
    if !isArranging { catalog.arrangement.enter() }
    isArranging = true
  }

  /// The segment that is being read.
  var segment: Segment? { catalog.segments[place.segment] }

  // MARK: Units

  /// Takes in unit after unit of the segment in which the log was known to end.
  ///
  /// - Returns: Whether it is finished.
  private mutating func walk() throws(NotelogError) -> Bool {
    guard let segment else { return false }
    do throws(StorageError) {
      // What can't be read is news that nobody hears, and no zeros.
      let file = segment.file.unforgiving
      let byteCount = try file.byteCount()
      var reader = SegmentReader(file, salt: segment.salt, end: byteCount)
      // Nothing was visible in it yet.
      if place.offset == Layout.firstFrameOffset { place.offset = try reader.unitsStart() }
      while true {
        // What was preallocated is zeros, megabytes of them.
        guard case .frame = try reader.frame(at: place.offset) else { return segment.isFinished }
        switch try reader.unit(at: place.offset) {
        case .transaction(let range):
          if range.sequence < next, segment.kind == .recovered {
            try applyMoved(range, in: segment, &reader)
          } else if range.sequence == next || segment.kind == .recovered {
            // Numbers of transactions that only published a compaction are left out, too: better one gap too many.
            if range.sequence > next { noteGap() }
            try apply(range, in: segment, &reader)
          } else {
            return false
          }
          place.offset = range.end
          endsInCloseMark = false
        case .close(_, let end):
          endsInCloseMark = end == byteCount
          place.offset = end
        case .footer(_, let end):
          guard end + Layout.trailerByteCount == byteCount else { return false }
          guard try Trailer.read(file, byteCount: byteCount)?.footerOffset == place.offset else {
            return false
          }
          if segment.kind == .recovered { try pass(&reader, footerAt: place.offset) }
          return true
        case .nothing, .broken:
          return false
        }
      }
    } catch { throw NotelogError(error) }
  }

  /// Goes on behind a recovered segment, with the number that its header names. Transactions below it that did not come by are gone, with
  /// the segments that held them.
  private mutating func pass(_ reader: inout SegmentReader, footerAt offset: Int) throws(StorageError) {
    let start = offset + Layout.frameHeaderByteCount
    let bytes = try reader.bytes(start..<start + Layout.headerByteCount)
    guard let header = try? SegmentHeader(bytes, at: 0), header.firstSequence > next else { return }
    noteGap()
    next = header.firstSequence
    log.state.withLock(waking: .nobody) { $0.expect(header.firstSequence) }
  }

  /// Takes in a transaction, as its writer did.
  private mutating func apply(
    _ range: TransactionRange, in segment: Segment, _ reader: inout SegmentReader
  ) throws(StorageError) {
    var frames: [PendingFrame] = []
    var previousVersions: [Catalog.PreviousVersion] = []
    try Self.forEachFrame(of: range, &reader) { (header, payload, offset) throws(StorageError) in
      frames.append(
        PendingFrame(
          header: header, start: offset - range.start,
          envelopeByteCount: header.listedByteCount(inPayload: payload)))
      var previous = header.kind.isVersion ? catalog.beginLookup(of: header.id) : .none
      if header.kind.isVersion { try catalog.find(&previous, of: header.id) }
      previousVersions.append(previous)
    }
    let bytes = try reader.bytes(range.start..<range.markStart)
    let ticket = keeper?.begin(frames, bytes)
    defer { if let ticket { keeper?.end(ticket) } }
    try log.state.withLock(waking: .nobody) { state throws(StorageError) in
      try log.apply(
        frames, bytes, in: segment, at: range.start, sequence: range.sequence, after: &previousVersions,
        &state)
      state.expect(range.sequence + 1)
      state.visibleEnd = LogPosition(segment: segment.number, offset: range.end)
      state.floor = max(state.floor, range.mark.floor)
      segment.show(upTo: range.end)
      if gap == nil { log.watch.tell(range.sequence, frames) }
    }
    next = range.sequence + 1
    hasNews = true
  }

  /// Takes in that a recovery has moved a transaction which is known.
  private mutating func applyMoved(
    _ range: TransactionRange, in segment: Segment, _ reader: inout SegmentReader
  ) throws(StorageError) {
    try Self.forEachFrame(of: range, &reader) { (header, payload, offset) throws(StorageError) in
      guard header.kind.isContent else { return }
      try catalog.merge(FooterEntry(header, offset: offset, payload: payload), in: segment)
    }
    segment.show(upTo: range.end)
    log.state.withLock(waking: .nobody) { state in
      state.visibleEnd = LogPosition(segment: segment.number, offset: range.end)
    }
  }

  private static func forEachFrame(
    of range: TransactionRange, _ reader: inout SegmentReader,
    _ body: (FrameHeader, RawSpan, Int) throws(StorageError) -> Void
  ) throws(StorageError) {
    var offset = range.start
    while offset < range.markStart {
      guard case .frame(let header) = try reader.frame(at: offset) else {
        throw StorageError(.read, reader.file.name, errno: SystemErrno.inputOutput)
      }
      try body(header, try reader.payload(of: header, at: offset), offset)
      offset += header.frameByteCount
    }
  }

  // MARK: From segment to segment

  /// The segment in which the log goes on; nothing where it doesn't, or not yet.
  private mutating func successor(_ isFinished: Bool) throws(NotelogError) -> FoundSegment? {
    let numbers = try FolderNames(storage).numbers.filter { [place] in $0 > place.segment }
    if numbers.isEmpty { return nil }
    var later: [FoundSegment] = []
    for number in numbers {
      guard let found = try Survey.read(FileName.segment(number), number, storage) else { continue }
      if found.header.storeID == log.storeID, found.header.kind.isLog { later.append(found) }
    }
    guard let first = later.first, place.segment > 0 else { return nil }
    switch isFinished ? .finished : try fate(later) {
    case .unfinished: return nil
    case .recovered(let recovered):
      try readOn()
      recut.formUnion(recovered.header.sources.map(\.segment))
      return recovered
    case .replaced:
      // By what a recovery has put there, and is history by now.
      try readOn()
      recut.insert(place.segment)
      noteGap()
      return first
    case .finished: break
    }
    // What a recovery kept of a segment in between, and compaction has copied since.
    let isAnyGone = first.header.sources.contains { source in
      source.keptByteCount > 0 && source.segment > place.segment && !numbers.contains(source.segment)
    }
    recut.formUnion(first.header.sources.map(\.segment))
    if isAnyGone || (first.header.kind == .log && first.header.firstSequence > next) { noteGap() }
    return first
  }

  /// Takes in what came into a segment since it was read, where a recovery has moved its end elsewhere: what stays in the segment, nobody
  /// tells again. Who wrote it is dead, so that there will be no more.
  private mutating func readOn() throws(NotelogError) { _ = try walk() }

  /// What became of the segment in which the log was known to end.
  private enum Fate {
    case unfinished, finished
    /// A recovery has moved its end into this one.
    case recovered(FoundSegment)
    /// Another file has its name, or none has.
    case replaced
  }

  /// What became of a segment that was not finished when it was read; `later` ones come behind it.
  private mutating func fate(_ later: [FoundSegment]) throws(NotelogError) -> Fate {
    let recovered = later.first { [place] found in
      found.header.kind == .recovered && found.header.sources.contains { $0.segment == place.segment }
    }
    if let recovered { return .recovered(recovered) }
    do {
      guard let found = try Survey.read(FileName.segment(place.segment), place.segment, storage) else {
        return .replaced
      }
      guard found.hasTrailer, let segment else { return .unfinished }
      guard try fromStorage(segment.file.byteCount()) == found.byteCount else { return .replaced }
    } catch {
      if error.cause?.isMissing == true { return .replaced }
      throw error
    }
    // Finished since it was read, or damaged.
    guard try walk() else {
      throw NotelogError(
        .damaged, "a transaction does not check, and others follow it: open the store again",
        segment: Int(place.segment), offset: place.offset)
    }
    return .finished
  }

  private mutating func noteGap() {
    gap = gap ?? next
    beginArranging()
  }

  /// Goes on at the beginning of another segment, whose live set is what counts from there on.
  private mutating func goOn(in found: FoundSegment) throws(NotelogError) {
    let old = segment
    do throws(StorageError) {
      var reader = SegmentReader(found.file, salt: found.salt, end: found.byteCount)
      guard let beginning = try reader.liveSet(of: found.header) else {
        // Being made: it is looked at again when it is.
        throw StorageError(.open, FileName.segment(found.number), errno: SystemErrno.notFound)
      }
      // Another length is that of a file which a recovery has put in its place.
      if let old, !recut.contains(old.number), let entry = beginning.set[old.number],
        entry.byteCount == (try old.file.byteCount())
      {
        catalog.segments.insert(old.finished(as: entry))
      }
      place = LogPosition(segment: found.number, offset: beginning.end)
      if gap != nil || found.header.kind == .log { next = max(next, found.header.firstSequence) }
      log.state.withLock(waking: .nobody) { state in
        // A recovered segment is finished when it gets its name, and lives, though no live set says so yet.
        catalog.segments.insert(Segment(found, entry: found.header.kind == .recovered ? found.entry : nil))
        state.live = beginning.set
        state.visibleEnd = place
        state.expect(next)
        state.floor = max(state.floor, found.header.floor)
        state.highestNumber = max(state.highestNumber, found.number)
      }
    } catch { throw NotelogError(error) }
    endsInCloseMark = false
    hasNews = true
  }
}
