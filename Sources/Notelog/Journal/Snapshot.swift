// The store as it was at one moment.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// A moment of the store that stays readable for as long as the snapshot lives, whatever is written or
/// compacted.
///
/// It holds the files that were there when it was made: what compaction deletes meanwhile takes up space
/// until the snapshot goes, or the process does.
final class Snapshot: Sendable {
  /// The sequence number of the last transaction it sees.
  let sequence: UInt64
  let journal: Journal
  /// The segments that were there, in order of number.
  let segments: [Segment]
  /// Which of them, by their places, had nothing but current records in them: the snapshot sees all of those.
  let areWhole: [Bool]
  /// Where the log ended.
  let end: LogPosition

  init(of journal: Journal) {
    self.journal = journal
    let catalog = journal.catalog
    // Between the moves of a compaction a record would be seen twice, or not at all.
    catalog.arrangement.enter()
    defer { catalog.arrangement.leave() }
    (sequence, end, segments, areWhole) = journal.log.state.withLock { state in
      let sequence = state.nextVisible - 1
      let end = state.visibleEnd
      // A head in which nothing is visible yet is none of its business; it may not even be the log's head
      // yet.
      let segments = catalog.inhabited.filter { $0.isFinished || $0.number <= end.segment }
      catalog.oldVersions.begin(sequence)
      return (sequence, end, segments, segments.map(\.isWhole))
    }
  }

  deinit { journal.catalog.oldVersions.end(sequence) }

  /// Reads a record as it was.
  ///
  /// - Returns: Nothing where there was no such record.
  /// - Throws: `damaged`, with the place, where its frame does not check.
  func read(_ id: ID16, into buffer: inout ReadBuffer) throws(NotelogError) -> StoredRecord? {
    var failure: NotelogError?
    do {
      if let record = try journal.records.read(id, into: &buffer), record.revision <= sequence {
        return record
      }
    } catch { failure = error }
    // It is not there any longer, or newer than the snapshot: then what it was has been noted before.
    guard let version = journal.catalog.oldVersions.version(of: id, at: sequence) else {
      if let failure { throw failure }
      return nil
    }
    return try journal.records.read(id, at: version.place, in: version.segment, into: &buffer)
  }

  /// The ids of a collection's records, or of all records, in order of id. Where some may be missing, the
  /// journal notes the damage.
  func records(in collection: UInt16? = nil) throws(NotelogError) -> [ID16] {
    var ids: [ID16] = []
    try forEachRecord(where: { collection == nil || $0.collection == collection }) { entry, _ in
      ids.append(entry.id)
    }
    ids.sort()
    return ids
  }

  /// How many records a collection has, those that can't be read among them; none of them is read.
  func recordCount(in collection: UInt16) throws(NotelogError) -> Int {
    var count = 0
    try forEachRecord(where: { $0.collection == collection }) { _, _ in count += 1 }
    return count
  }

  /// The same of each collection but those that are known; nothing where there is none.
  func recordCounts(besides known: Set<UInt16>) throws(NotelogError) -> [UInt16: Int] {
    var counts: [UInt16: Int] = [:]
    try forEachRecord(where: { !known.contains($0.collection) }) { entry, _ in
      counts[entry.collection, default: 0] += 1
    }
    return counts
  }

  /// Calls `body` with what segments list of some records, and their envelopes, as they lie on the disk. `isWanted` is asked of old
  /// versions and removed records too; only what it wants is looked up.
  func forEachRecord(
    where isWanted: (FooterEntry) -> Bool, _ body: (FooterEntry, RawSpan) -> Void
  ) throws(NotelogError) {
    var lastFrames = LastFrames()
    do throws(StorageError) {
      for segment in segments {
        let reading = try segment.forEachEntry(upTo: scanEnd(of: segment)) {
          (entry, envelope) throws(StorageError) in
          guard entry.kind == .record, isWanted(entry),
            try isVisible(entry, in: segment, &lastFrames)
          else { return }
          body(entry, envelope)
        }
        for damage in reading.allDamages { journal.damageLog.note(damage) }
      }
    } catch { throw NotelogError(error) }
  }
}

extension Journal {
  /// The store as it is now, for as long as it is wanted.
  func snapshot() -> Snapshot { Snapshot(of: self) }

  /// The ids of collection 0's records but the state's, in order; of some that were deleted too, perhaps.
  var listedRecords: [ID16] { catalog.listed.entries.map(\.id).filter { $0 != FrameHeader.stateID } }

}

// MARK: - Going through a snapshot's records segment by segment, in large reads.

extension Snapshot {
  /// Calls `body` with every record of a collection, or of all, in the order in which they lie on disk: its
  /// header, its payload, checked, and where in that its body is, until it returns false.
  ///
  /// - Parameters:
  ///   - collection: The collection; nothing for all.
  ///   - part: The part of the segments that this thread takes.
  ///   - partCount: How many threads share the segments.
  ///   - onDamage: Called with what does not check, and with the record where it is known.
  ///   - body: Returns whether to go on.
  /// - Throws: What the closures throw, and `inputOutput` where the system fails.
  func forEach(
    in collection: UInt16? = nil, part: Int = 0, of partCount: Int = 1,
    onDamage: (Finding) throws -> Void = { _ in },
    _ body: (StoredRecord, _ payload: RawSpan, _ body: Range<Int>) throws -> Bool
  ) throws {
    precondition(part >= 0 && part < partCount, "a part is one of the parts")
    let log = journal.damageLog
    func note(_ damage: Finding) throws {
      log.note(damage)
      try onDamage(damage)
    }
    var window = Buffer()
    for place in stride(from: part, to: segments.count, by: partCount) {
      guard
        try scan(segments[place], isWhole: areWhole[place], collection, through: &window, note, body)
      else { return }
    }
  }

  private func scan(
    _ segment: Segment, isWhole: Bool, _ collection: UInt16?, through window: inout Buffer,
    _ onDamage: (Finding) throws -> Void, _ body: (StoredRecord, RawSpan, Range<Int>) throws -> Bool
  ) throws -> Bool {
    let index = journal.catalog.index
    // What looking every record up may show, if nothing dies meanwhile. What was whole once, is not looked
    // up.
    let deathCount = segment.deathCount
    var areAllCurrent = !isWhole
    let end = scanEnd(of: segment)
    let limit = min(end, try fromStorage(segment.file.byteCount()))
    if limit < end {
      areAllCurrent = false
      // It is shorter than it was, or gone.
      let kind = limit == 0 ? Finding.Kind.missingSegment : .truncated
      try onDamage(Finding(kind, segment: segment.number, limit..<(limit == 0 ? 0 : end)))
    }
    var walk = SegmentWalk(segment.file, salt: segment.salt, end: limit)
    walk.reader.exchangeWindow(with: &window)
    defer { walk.reader.exchangeWindow(with: &window) }
    var lastFrames = LastFrames()
    while true {
      let header = try fromStorage(walk.advance())
      if let lost = walk.lost, lost.mayHoldContent(in: segment.kind) {
        let range = lost.range
        // Zeros up to the end are no loss: a segment whose end is not known is preallocated.
        let isUnused = header == nil ? try fromStorage(walk.reader.isZero(from: range.lowerBound)) : false
        if !isUnused {
          areAllCurrent = false
          try onDamage(Finding(.lostFrames, segment: segment.number, range))
        }
      }
      guard let header, header.kind != .footer else {
        if areAllCurrent, segment.isFinished { segment.noteWhole(since: deathCount) }
        return true
      }
      let offset = walk.place
      guard header.kind == .record else { continue }
      // States of the store's evidence: each transaction replaces one, so they say nothing of the others.
      let isState = header.isState
      guard collection == nil || header.collection == collection else {
        if !isState { areAllCurrent = false }
        continue
      }
      if !isWhole || isState {
        // The next record's place in the index comes from memory while this record is seen to.
        if let next = walk.reader.idAhead(at: walk.next) { index.prefetch(index.fingerprint(of: next)) }
        let entry = FooterEntry(header, offset: offset, envelopeByteCount: 0)
        if try fromStorage(!isCurrent(entry, in: segment)) {
          if !isState { areAllCurrent = false }
          guard try fromStorage(isKept(entry, in: segment, &lastFrames)) else { continue }
        }
      }
      guard try fromStorage(walk.reader.isWhole(header, at: offset)) else {
        try onDamage(
          Finding(
            .payload, segment: segment.number, offset: offset, byteCount: header.frameByteCount,
            record: header.id))
        continue
      }
      let payload: RawSpan
      do { payload = try walk.reader.payload(of: header, at: offset) } catch { throw NotelogError(error) }
      let isPossiblyStale = header.sequence < journal.catalog.staleness.below
      guard let range = header.bodyRange(in: payload) else { continue }
      guard try body(StoredRecord(header, isPossiblyStale: isPossiblyStale), payload, range) else {
        return false
      }
    }
  }

  /// Whether a frame of one of the snapshot's segments is what the snapshot sees of its record, here and
  /// nowhere else.
  ///
  /// The order of looking matters: an old version is noted before the index forgets it.
  func isVisible(
    _ entry: FooterEntry, in segment: Segment, _ lastFrames: inout LastFrames
  ) throws(StorageError) -> Bool {
    if try isCurrent(entry, in: segment) { return true }
    return try isKept(entry, in: segment, &lastFrames)
  }

  /// Whether a frame is its record's newest version.
  private func isCurrent(_ entry: FooterEntry, in segment: Segment) throws(StorageError) -> Bool {
    let index = journal.catalog.index
    let place = FrameAddress(segment: segment.number, offset: entry.offset)
    return try index.contains(index.fingerprint(of: entry.id), at: place)
  }

  /// Whether a frame is what the snapshot sees of its record, here and nowhere else, though it isn't what the
  /// index said before.
  private func isKept(
    _ entry: FooterEntry, in segment: Segment, _ lastFrames: inout LastFrames
  ) throws(StorageError) -> Bool {
    let catalog = journal.catalog
    let fingerprint = catalog.index.fingerprint(of: entry.id)
    let place = FrameAddress(segment: segment.number, offset: entry.offset)
    var ordinal = 0
    var isMoved = false
    while let candidate = try catalog.index.candidate(fingerprint, ordinal) {
      // A frame that the snapshot comes upon by itself says nothing about this one.
      if !sees(candidate) { isMoved = true }
      ordinal += 1
    }
    if isMoved, let known = try catalog.resolve(entry.id, fingerprint), known.sequence == entry.sequence,
      !known.isTombstone, !sees(known.place)
    {
      // Compaction moved it to a segment that the snapshot does not know.
      return try lastFrames.isLast(entry, in: segment)
    }
    guard let version = catalog.oldVersions.version(of: entry.id, at: sequence) else { return false }
    if version.place == place { return true }
    guard version.sequence == entry.sequence, !sees(version.place) else { return false }
    return try lastFrames.isLast(entry, in: segment)
  }

  /// Whether a place is in what the snapshot goes through.
  private func sees(_ place: FrameAddress) -> Bool {
    if place.segment == end.segment { return place.offset < end.offset }
    return segments.find(place.segment) { $0.number } != nil
  }

  /// Up to where a segment's frames are to be looked for; which of them count, the index says. Behind what is
  /// visible, the file of a writer that was killed may hold anything, until its recovery has cut it.
  func scanEnd(of segment: Segment) -> Int { segment.number == end.segment ? end.offset : segment.visibleEnd }
}

// MARK: - Going through the envelopes of a snapshot's records, most of which footers hold: a tenth of the bytes of the records.

extension Snapshot {
  /// Calls `body` with the id and the envelope of every record of a collection, until it returns false. The
  /// envelope is empty where a record has none.
  ///
  /// - Parameters:
  ///   - collection: The collection.
  ///   - order: An order that has what is older: only frames that came after it are gone through, and those
  ///     of records as they were, and of copies, among them.
  ///   - body: Returns whether to go on.
  /// - Returns: Whether it went through all of them: not where frames are lost.
  /// - Throws: `inputOutput` where the system fails.
  func forEachEnvelope(
    in collection: UInt16, behind order: StoredOrder? = nil, _ body: (ID16, RawSpan) -> Bool
  ) throws(NotelogError) -> Bool {
    var goesOn = true
    var lastFrames = LastFrames()
    do throws(StorageError) {
      // All of the index will be asked for; a piece at a time, it would be read from the checkpoint many
      // times over.
      if order == nil { try journal.catalog.index.loadAll() }
      for segment in segments where goesOn {
        guard let start = order.map({ $0.checkpoint.tailStart(in: segment) }) ?? 0 else { continue }
        let reading = try segment.forEachEntry(from: start, upTo: scanEnd(of: segment)) {
          (entry, envelope) throws(StorageError) in
          guard goesOn, entry.kind == .record, entry.collection == collection else { return }
          if order == nil, try !isVisible(entry, in: segment, &lastFrames) { return }
          goesOn = body(entry.id, envelope)
        }
        if !reading.isWhole { return false }
      }
    } catch { throw NotelogError(error) }
    return goesOn
  }
}

extension CheckpointHead {
  /// From where on a segment has frames that the checkpoint does not know; nothing where it knows all of
  /// them.
  fileprivate func tailStart(in segment: Segment) -> Int? {
    let figures = figures(of: segment.number)
    if figures?.salt == segment.salt.value, covers(figures) { return nil }
    return segment.number == covered.segment && segment.salt.value == coveredSalt ? covered.offset : 0
  }
}

// MARK: - Which of a record's frames in one transaction counts: the last one. FORMAT.md §12.2.

/// The last frame of each id, for one transaction at a time.
///
/// What compaction has moved, a snapshot knows by its id and its sequence number, which a transaction that
/// writes a record twice gives to both frames.
struct LastFrames {
  private var segment: UInt32 = 0
  private var sequence: UInt64 = 0
  private var start = 0
  private var offsets: [ID16: Int] = [:]

  /// Whether a frame is the last of its id in its transaction.
  ///
  /// - Complexity: O(*n*) in the frames of the transaction for the first that is asked about, O(1) for those
  ///   behind it.
  mutating func isLast(_ entry: FooterEntry, in segment: Segment) throws(StorageError) -> Bool {
    // Compaction copies one frame of each record.
    if segment.kind == .compacted { return true }
    if self.segment != segment.number || sequence != entry.sequence || entry.offset < start {
      try collect(from: entry, in: segment)
    }
    return offsets[entry.id] == entry.offset
  }

  /// Goes through the transaction from a frame of it on, past anything broken.
  private mutating func collect(from entry: FooterEntry, in segment: Segment) throws(StorageError) {
    self.segment = segment.number
    sequence = entry.sequence
    start = entry.offset
    offsets.removeAll(keepingCapacity: true)
    var walk = SegmentWalk(
      segment.file, salt: segment.salt, end: try segment.file.byteCount(), from: start)
    while let header = try walk.advance(), header.sequence == sequence, header.kind.isInTransaction {
      if header.kind.isVersion { offsets[header.id] = walk.place }
    }
  }
}
