// Taking in what another process has committed: FORMAT.md §25, "Following".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// One look at the log behind what an open journal knows of it.
///
/// What is whole is taken in transaction by transaction, as if it had been written here; then the segments
/// are exchanged that compactions and recoveries have exchanged. It writes nothing, and the caller sees to it
/// that nobody writes here meanwhile.
struct Follower: ~Copyable {
  let log: Log
  let catalog: Catalog
  let storage: any Storage
  /// Who keeps ordered indexes.
  let keeper: (any OrderKeeper)?

  /// Where the next unit is looked for.
  private(set) var place = LogPosition.zero
  /// The sequence number that is expected next.
  private var next: UInt64 = 0
  /// Whether all segments that came were known to be copies of others.
  private(set) var isExact: Bool
  /// Whether anything was taken in.
  private(set) var hasNews = false
  /// The sequence number from which on transactions can't be told one by one: the segments of some are gone
  /// already.
  private(set) var gap: UInt64?
  /// Whether the log ends in a close mark.
  private(set) var endsInCloseMark = false
  /// Segments of the log whose end a recovery has moved elsewhere.
  private var recut: Set<UInt32> = []
  /// Whether `Catalog.arrangement` is held: from when something is known to be missing or moved, until all is
  /// in its place, also where that takes several looks.
  private var isArranging = false

  init(_ journal: Journal) {
    log = journal.log
    catalog = journal.catalog
    storage = journal.storage
    keeper = journal.orderKeeper.withLock { $0 }
    (gap, isExact) = journal.unfinishedFollow.withLock { $0 }
  }

  /// Takes in what there is.
  ///
  /// - Throws: `inputOutput` with a missing file as its cause where another process went on meanwhile: then
  ///   look again.
  mutating func run() throws(NotelogError) {
    (place, next) = log.state.withLock(waking: .nobody) { ($0.visibleEnd, $0.nextVisible) }
    endsInCloseMark = false
    recut = []
    if gap != nil { beginArranging() }
    while let next = try successor(try fromStorage(walk())) { try fromStorage(goOn(in: next)) }
    try fromStorage(rearrange())
  }

  /// Notes that all is in its place.
  ///
  /// - Returns: The sequence number from which on transactions can't be told one by one, if there were such.
  mutating func finish() -> UInt64? {
    endArranging()
    isExact = true
    return gap.take()
  }

  /// Has no snapshot made before all is in its place.
  mutating func beginArranging() {
    if !isArranging { catalog.arrangement.enter() }
    isArranging = true
  }

  /// Has snapshots made again.
  mutating func endArranging() {
    if isArranging { catalog.arrangement.leave() }
    isArranging = false
  }

  /// The segment that is being read.
  var segment: Segment? { catalog.segments[place.segment] }

  // MARK: Units

  /// Takes in unit after unit of the segment in which the log was known to end.
  ///
  /// - Returns: Whether it is finished.
  private mutating func walk() throws(StorageError) -> Bool {
    guard let segment else { return false }
    // A sector that can't be read is an error here: taken for zeros, what stands in it would be missed.
    let file = segment.file.unforgiving
    let byteCount = try file.byteCount()
    var units = SegmentWalk(file, salt: segment.salt, end: byteCount, from: place.offset)
    // Nothing was visible in it yet.
    if place.offset == Layout.firstFrameOffset {
      place.offset = try units.reader.unitsStart()
      units.go(to: place.offset)
    }
    while true {
      switch try units.unit() {
      case .transaction(let range):
        if range.sequence < next, segment.kind == .recovered {
          try applyMoved(range, in: segment, &units)
        } else if range.sequence == next || segment.kind == .recovered {
          // Numbers of transactions that only published a compaction are left out, too: better one gap too
          // many.
          if range.sequence > next { noteGap() }
          try apply(range, in: segment, &units)
        } else {
          return false
        }
        place.offset = range.end
        endsInCloseMark = false
      case .close(let end):
        endsInCloseMark = end == byteCount
        place.offset = end
      case .footer(let end):
        guard end + Layout.trailerByteCount == byteCount else { return false }
        guard try Trailer.read(file, byteCount: byteCount)?.footerOffset == place.offset else { return false }
        if segment.kind == .recovered { try pass(&units.reader, footerAt: place.offset) }
        return true
      case .none:
        // What was preallocated is zeros, megabytes of them.
        return segment.isFinished
      case .broken:
        return false
      }
    }
  }

  /// Goes on behind a recovered segment, with the number that its header names. Transactions below it that
  /// did not come by are gone, with the segments that held them.
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
    _ range: TransactionRange, in segment: Segment, _ units: inout SegmentWalk
  ) throws(StorageError) {
    var frames: [PendingFrame] = []
    var previousVersions: [Catalog.PreviousVersion] = []
    try units.forEachFrame(of: range) { (header, payload, offset) throws(StorageError) in
      frames.append(
        PendingFrame(
          header: header, start: offset - range.start,
          envelopeByteCount: header.listedByteCount(inPayload: payload)))
      previousVersions.append(try catalog.previousVersion(of: header.id, header.kind))
    }
    let bytes = try units.reader.bytes(range.start..<range.markStart)
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
    _ range: TransactionRange, in segment: Segment, _ units: inout SegmentWalk
  ) throws(StorageError) {
    try units.forEachFrame(of: range) { (header, payload, offset) throws(StorageError) in
      guard header.kind.isContent else { return }
      let previousVersion = try catalog.previousVersion(of: header.id, header.kind)
      let entry = FooterEntry(header, offset: offset, payload: payload)
      try catalog.merge(entry, in: segment, after: previousVersion)
    }
    segment.show(upTo: range.end)
    log.state.withLock(waking: .nobody) { state in
      state.visibleEnd = LogPosition(segment: segment.number, offset: range.end)
    }
  }

  // MARK: From segment to segment

  /// The segment in which the log goes on; nothing where it doesn't, or not yet.
  private mutating func successor(_ isFinished: Bool) throws(NotelogError) -> FoundSegment? {
    let numbers = try fromStorage(FolderNames(storage)).numbers.filter { [place] in $0 > place.segment }
    if numbers.isEmpty { return nil }
    var later: [FoundSegment] = []
    for number in numbers {
      guard let found = try fromStorage(Survey.read(number, in: storage)) else { continue }
      if found.header.storeID == log.storeID, found.header.kind.isLog { later.append(found) }
    }
    guard let first = later.first, place.segment > 0 else { return nil }
    switch isFinished ? .finished : try fate(later) {
    case .unfinished: return nil
    case .recovered(let recovered):
      // What stays in the segment, nobody tells again. Who wrote it is dead, so that there will be no more.
      _ = try fromStorage(walk())
      recut.formUnion(recovered.header.sources.map(\.segment))
      return recovered
    case .replaced:
      // By what a recovery has put there, and is history by now.
      _ = try fromStorage(walk())
      recut.insert(place.segment)
      noteGap()
      return first
    case .finished: break
    }
    // What a recovery kept of a segment in between, and compaction has copied since.
    let isAnyGone = first.header.sources.contains { source in
      source.offset > 0 && source.segment > place.segment && !numbers.contains(source.segment)
    }
    recut.formUnion(first.header.sources.map(\.segment))
    if isAnyGone || (first.header.kind == .log && first.header.firstSequence > next) { noteGap() }
    return first
  }

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
      guard let found = try Survey.read(place.segment, in: storage) else { return .replaced }
      guard found.trailer != nil, let segment else { return .unfinished }
      guard try segment.file.byteCount() == found.byteCount else { return .replaced }
    } catch {
      if error.isMissing { return .replaced }
      throw NotelogError(error)
    }
    // Finished since it was read, or damaged.
    guard try fromStorage(walk()) else {
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
  private mutating func goOn(in found: FoundSegment) throws(StorageError) {
    let old = segment
    var reader = found.reader
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
    endsInCloseMark = false
    hasNews = true
  }
}

// MARK: - Exchanging the segments that another process's compactions and recoveries have exchanged: FORMAT.md §25, "Following".

extension Follower {
  /// Exchanges segments, so that the catalog has those of the live set.
  private mutating func rearrange() throws(StorageError) {
    let live = log.state.withLock(waking: .nobody) { $0.live }
    let known = catalog.segments
    let removed = known.all.filter { $0.number != place.segment && live[$0.number] == nil }
    let added = live.entries.filter { known[$0.number]?.entry != $0 || known[$0.number]?.cutEnd != nil }
    guard !removed.isEmpty || !added.isEmpty || gap != nil || !isExact else { return }
    beginArranging()
    // What is in memory knows places in segments that are about to go.
    try catalog.index.loadAll()
    let arrivals = try find(added)
    let recut = arrivals.compactMap { [known] (found, entry) in
      known[entry.number].map { (old: $0, found: found, entry: entry) }
    }
    let wasExact = isExact
    // Until all are taken in: where that fails, some may have been, frame by frame.
    isExact = false
    isExact = try catalog.adopt(arrivals.filter { [known] in known[$0.entry.number] == nil }) && wasExact
    if gap != nil { keeper?.distrustAll() }
    if !isExact || gap != nil {
      // What a gap deleted, snapshots from before the gap still have.
      let first = gap ?? next
      catalog.chunks.forget()
      for segment in removed { try catalog.forgetFrames(of: segment, deletedBy: first) }
      for (old, found, _) in recut {
        try catalog.forgetFrames(of: old, from: found.trailer?.footerOffset ?? 0, deletedBy: first)
      }
    }
    // Their ends are elsewhere by now.
    for (old, found, entry) in recut {
      known.insert(old.finished(as: entry, in: found.file))
      catalog.cache.forget(entry.number)
    }
    catalog.oldVersions.keep(removed)
    catalog.remove(removed)
    known.noteDeleted(
      removed.reduce(0) { $0 + $1.byteCount }, expired: removed.reduce(0) { $0 + $1.expiredByteCount })
    Catalog.letGo(of: consume removed)
  }

  /// The files of segments that a live set names, and the catalog has not, or in another file: one whose end a
  /// recovery has moved elsewhere.
  private func find(
    _ entries: [LiveEntry]
  ) throws(StorageError) -> [(found: FoundSegment, entry: LiveEntry)] {
    var arrivals: [(found: FoundSegment, entry: LiveEntry)] = []
    for entry in entries {
      let found = try Survey.read(entry.number, in: storage)
      // A source that recovery has not cut yet is looked at again when it is. One that is not known was
      // compacted before.
      let isKnown = catalog.segments[entry.number] != nil
      if let found, found.entry != entry, try isKnown ? true : isToBeCut(found) { continue }
      guard let found, found.entry == entry else {
        throw StorageError(.open, FileName.segment(entry.number), errno: SystemErrno.notFound)
      }
      arrivals.append((found, entry))
    }
    return arrivals
  }

  /// Whether the recovered segment in which the log ends says that it will be cut.
  private func isToBeCut(_ found: FoundSegment) throws(StorageError) -> Bool {
    guard let segment, segment.kind == .recovered else { return false }
    let sources = try Survey.read(segment.file, segment.number)?.header.sources
    return sources?.contains { $0.segment == found.number } ?? false
  }
}

// MARK: - What another process's compactions and recoveries did to the segments, taken into the catalog: FORMAT.md §25, "Following".

extension Catalog {
  /// Takes in segments that compactions of another process have made. The caller holds `arrangement`.
  ///
  /// - Returns: Whether the frames of all are known to be those of their sources. Otherwise what lives in
  ///   them was looked up frame by frame, and what their sources held besides is not known to be dead yet.
  func adopt(_ arrivals: [(found: FoundSegment, entry: LiveEntry)]) throws(StorageError) -> Bool {
    var others: [Segment] = []
    for (found, entry) in arrivals {
      let segment = Segment(
        number: entry.number, kind: found.header.kind, salt: found.salt, file: found.file, entry: entry,
        figures: Segment.Figures(isNew: true))
      if try !adopt(segment, of: found.header) { others.append(segment) }
    }
    for segment in others { try merge(segment) }
    return others.isEmpty
  }

  /// Takes in a compacted segment whose frames are those of its sources.
  ///
  /// - Returns: Whether they are.
  private func adopt(_ segment: Segment, of header: SegmentHeader) throws(StorageError) -> Bool {
    let sources = header.sources.compactMap { segments[$0.segment] }
    // Of a source that is not known to be finished, or does not check any more, nobody says which frames were
    // left behind.
    guard !header.kind.isLog, sources.count == header.sources.count,
      sources.allSatisfy(\.isFinished),
      var moved = try? Self.moves(from: sources, to: segment)
    else { return false }
    // Of two frames of a record in one transaction the later one was copied, and the earlier one looks the
    // same: the index knows which. Nothing is read for telling them apart: it may fail, and half of them would
    // have moved.
    let others = moved.others + moved.dropped.map { ($0.id, $0.location) }
    lazy var othersOfRecords = Dictionary(grouping: others) { $0.0 }
    for (number, copy) in moved.copies.enumerated() where copy.old.chunk == nil {
      if number + Self.lookahead < moved.copies.count { prefetch(moved.copies[number + Self.lookahead].id) }
      let fingerprint = index.fingerprint(of: copy.id)
      if try index.contains(fingerprint, at: copy.old.place) { continue }
      for (_, other) in othersOfRecords[copy.id, default: []] where other.sequence == copy.new.sequence {
        if try index.contains(fingerprint, at: other.place) { moved.copies[number].old = other }
      }
    }
    try adopt(segment, of: sources, moved.copies, dropped: moved.dropped)
    return true
  }

  /// Takes in a segment frame by frame.
  private func merge(_ segment: Segment) throws(StorageError) {
    // All that is read is read before anything moves, but where fingerprints are the same.
    var frames: [(entry: FooterEntry, previousVersion: PreviousVersion)] = []
    for entry in try segment.footerEntries() {
      frames.append((entry, try previousVersion(of: entry.id, entry.kind)))
    }
    segments.insert(segment)
    do throws(StorageError) {
      for (entry, previousVersion) in frames { try merge(entry, in: segment, after: previousVersion) }
    } catch {
      // It is not taken in by half: the next look begins with it again.
      segments.remove(segment.number)
      throw error
    }
  }

  /// Which frame of the sources became which of the output. Compaction copies in order: source by source,
  /// frame by frame.
  ///
  /// - Returns: Nothing where a frame of the output is none of theirs. `others` are versions that were left
  ///   behind, or look like one that was copied.
  private static func moves(
    from sources: [Segment], to output: Segment
  ) throws(StorageError) -> (
    copies: [MovedFrame], dropped: [(id: ID16, location: Location)], others: [(ID16, Location)]
  )? {
    let results = try output.footerEntries()
    var copies: [MovedFrame] = []
    copies.reserveCapacity(results.count)
    var dropped: [(id: ID16, location: Location)] = []
    var others: [(ID16, Location)] = []
    for source in sources {
      for entry in try source.footerEntries() {
        let old = Location(entry, segment: source.number)
        if copies.count < results.count, results[copies.count].isCopy(of: entry) {
          copies.append((entry.id, old, Location(results[copies.count], segment: output.number)))
        } else if entry.kind == .tombstone {
          dropped.append((entry.id, old))
        } else if entry.kind != .chunk {
          others.append((entry.id, old))
        }
      }
    }
    return copies.count == results.count ? (copies, dropped, others) : nil
  }

  /// Takes in a frame that may be known at another place, or not at all, as was looked up before.
  func merge(
    _ entry: FooterEntry, in segment: Segment, after previousVersion: PreviousVersion
  ) throws(StorageError) {
    let location = Location(entry, segment: segment.number)
    if let mark = entry.chunk {
      guard let known = chunks.chunk(mark.number, of: entry.id) else { return }
      chunks.move(
        mark, of: entry.id, from: known.place,
        to: LargeValue.Chunk(place: location.place, payloadByteCount: entry.payloadByteCount))
      return
    }
    guard let known = previousVersion.location, known.sequence == location.sequence,
      known.segment != location.segment
    else { return try apply(entry, in: segment, after: previousVersion) }
    // A copy of its newest frame; or of an earlier one of that transaction, as another has come since.
    guard try index.replace(previousVersion.fingerprint, at: known.place, with: location.place) else {
      return try apply(entry, in: segment, after: beginLookup(of: entry.id))
    }
    segments.replaceLive(
      known.liveByteCount, in: segments[known.segment], with: location.liveByteCount, in: segment)
  }

  /// Forgets what still stands in a segment that is not live any more, or behind an offset of it: all that
  /// lives has a frame elsewhere by now, and this was deleted by a transaction that is `sequence` or later.
  /// The caller holds `arrangement`.
  func forgetFrames(
    of segment: Segment, from start: Int = 0, deletedBy sequence: UInt64
  ) throws(StorageError) {
    var dead: [(id: ID16, location: Location)] = []
    _ = try segment.forEachEntry(from: start, upTo: segment.visibleEnd) { (entry, _) in
      if entry.kind != .chunk { dead.append((entry.id, Location(entry, segment: segment.number))) }
    }
    for frame in dead {
      let fingerprint = index.fingerprint(of: frame.id)
      guard try index.contains(fingerprint, at: frame.location.place) else { continue }
      note(frame.location, of: frame.id, supersededBy: sequence)
      guard try index.remove(fingerprint, at: frame.location.place) else { continue }
      segments.addLive(-frame.location.liveByteCount, in: segment)
    }
  }

  /// Closes segments' files on another thread: who closes the last descriptor of a file without a name waits
  /// while its blocks are freed.
  static func letGo(of segments: consuming [Segment]) {
    if segments.isEmpty { return }
    let held = Lock(segments)
    onWaitingThread { held.withLock { $0 = [] } }
  }
}

extension FooterEntry {
  /// Whether it is the same frame at another place.
  fileprivate func isCopy(of other: FooterEntry) -> Bool {
    id == other.id && sequence == other.sequence && kind == other.kind && chunk == other.chunk
      && payloadByteCount == other.payloadByteCount
  }
}
