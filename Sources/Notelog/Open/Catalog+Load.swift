// Builds the index from what an examination accepted: footers first, frames where there is none.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Catalog {
  /// Takes in every live segment and the log's unfinished end.
  ///
  /// - Parameters:
  ///   - examination: What is accepted; it gets what is found damaged, and what is lost without a name.
  ///   - threadCount: How many threads share the segments.
  ///   - visit: Called on these threads with each entry, its envelope and its segment.
  /// - Throws: What stands in the way of reading.
  func load(
    _ examination: inout Examination, threadCount: Int = 1,
    visit: @Sendable (FooterEntry, RawSpan, UInt32) -> Void = { _, _, _ in }
  ) throws(NotelogError) {
    let sources = examination.accepted(beside: nil)
    let end = examination.newest.map(examination.framesEnd) ?? .max
    for segment in sources { segments.insert(segment) }
    let queue = WorkQueue(count: sources.count)
    let outcomes = Lock<(readings: [UInt32: EntryReading], failure: StorageError?)>(([:], nil))
    inParallel(max(1, min(threadCount, sources.count))) { _ in
      while let turn = queue.next() {
        let segment = sources[turn]
        do throws(StorageError) {
          let limit = segment.isFinished ? .max : end
          let reading = try load(segment, upTo: limit) { visit($0, $1, segment.number) }
          outcomes.withLock { $0.readings[segment.number] = reading }
        } catch {
          outcomes.withLock { [error] in $0.failure = error }
          queue.stop()
        }
      }
    }
    let (readings, failure) = outcomes.withLock { $0 }
    if let failure { throw NotelogError(failure) }
    for segment in sources {
      if let reading = readings[segment.number] { examination.note(reading) }
    }
    examination.noteUnnamedLosses(beside: nil)
  }

  private func load(
    _ segment: Segment, upTo limit: Int, _ visit: (FooterEntry, RawSpan) -> Void
  ) throws(StorageError) -> EntryReading {
    // A few at a time: their places in the index are all asked for before the first one is looked at.
    let size = 32
    var waiting: [(entry: FooterEntry, fingerprint: UInt64)] = []
    waiting.reserveCapacity(size)
    // Taken out of the catalog for each entry, it would be counted, and other threads count too.
    let index = index
    let reading = try segment.forEachEntry(upTo: limit) { (entry, envelope) throws(StorageError) in
      let fingerprint = index.fingerprint(of: entry.id)
      index.prefetch(fingerprint)
      waiting.append((entry, fingerprint))
      if waiting.count == size {
        try apply(waiting, in: segment)
        waiting.removeAll(keepingCapacity: true)
      }
      visit(entry, envelope)
    }
    try apply(waiting, in: segment)
    return reading
  }
}

extension Segment {
  convenience init(_ found: FoundSegment, entry: LiveEntry?, cutEnd: Int? = nil) {
    self.init(
      number: found.number, kind: found.header.kind, salt: found.salt, file: found.file, entry: entry,
      cutEnd: cutEnd)
  }
}

// MARK: - Opening with a checkpoint: docs/format-derived.md §31.

extension Catalog {
  /// The catalog of what an examination accepted: from the checkpoint and what came after it, or from all
  /// segments.
  static func open(
    _ examination: inout Examination, in storage: any Storage, _ options: JournalOptions
  ) throws(NotelogError) -> Catalog {
    examination.report.checkpoint = examination.checkpoint.use
    if let checkpoint = examination.checkpoint.found {
      if examination.trusts(checkpoint),
        let taken = try fromStorage(
          load(checkpoint, examination.accepted(beside: checkpoint.head), end: examination.end, options))
      {
        examination.note(taken.readings, behind: checkpoint.head)
        return taken.catalog
      }
      examination.report.checkpoint = .stale
    }
    let catalog = Catalog(key: options.fingerprintKey, cache: BlockCache(byteCount: options.cacheByteCount))
    try catalog.load(&examination)
    return catalog
  }

  /// The catalog that a checkpoint makes with what the segments say that it doesn't know; the log ends at
  /// `end`.
  ///
  /// - Returns: The catalog, and where something does not check, or is lost, by segment; nothing where the
  ///   checkpoint is not one of these segments.
  static func load(
    _ checkpoint: CheckpointFile, _ segments: [Segment], end: LogPosition, _ options: JournalOptions
  ) throws(StorageError) -> (catalog: Catalog, readings: [EntryReading])? {
    var checkpoint = checkpoint
    checkpoint.head.key.mask = options.fingerprintMask
    let head = checkpoint.head
    let listed = ListedRecords(head.listed)
    var tail = ShardSource.Tail(repeating: [], count: Index.shardCount)
    var readings: [EntryReading] = []
    for segment in segments {
      let figures = head.figures(of: segment.number)
      guard figures == nil || figures?.salt == segment.salt.value,
        segment.number != head.covered.segment || head.coveredSalt == segment.salt.value,
        !segment.kind.isLog || segment.number >= head.covered.segment || figures != nil
      else { return nil }
      segment.addLive(figures?.liveByteCount ?? 0)
      segment.setExpired(figures?.expiredByteCount ?? 0)
      // What is missing can't be read; whether the checkpoint has all of it is for the examination to say.
      if head.covers(figures) || segment.file is MissingFile { continue }
      let end = end.segment == segment.number && !segment.isFinished ? end : nil
      let reading = try segment.forEachVersion(from: head.covered, to: end) { id, location in
        tail[Int(head.key.fingerprint(of: id) >> 56)].append((id, location))
        // Listed before or not: one that is elsewhere now is not in the collection any longer.
        let isPresent = !location.isTombstone && location.collection == ListedRecords.collection
        listed.note(id, sequence: location.sequence, isPresent: isPresent)
      }
      if !reading.isWhole || !reading.damages.isEmpty { readings.append(reading) }
    }
    let cache = BlockCache(
      byteCount: options.cacheByteCount, storedByteCount: segments.reduce(0) { $0 + $1.byteCount })
    let table = SegmentTable(segments)
    let source = ShardSource(checkpoint, tail: tail, table, cache)
    let catalog = Catalog(key: head.key, source, table, cache: cache, listed)
    catalog.kept.begin(time: head.keptTime)
    return (catalog, readings)
  }
}

extension Examination {
  /// Whether a checkpoint can be one of these segments. Damage does not matter: what the checkpoint says of
  /// the past is so, whatever is left of it, and names what is lost.
  func trusts(_ checkpoint: CheckpointFile) -> Bool {
    checkpoint.head.storeID == storeID && !isBeingRecovered
  }

  /// Takes in what reading the segments behind a checkpoint came to.
  mutating func note(_ readings: [EntryReading], behind head: CheckpointHead) {
    for found in survey.segments.values
    where found.isIncomplete && live[found.number]?.salt == found.header.salt {
      report.damages.append(Finding(.lostFrames, segment: found.number))
    }
    for reading in readings { note(reading) }
    noteUnnamedLosses(beside: head)
  }

  /// Whether a checkpoint has all that a segment held which is lost, or the end of which is. Of the head
  /// nobody knows what came after the checkpoint.
  func isKnown(_ number: UInt32, to head: CheckpointHead) -> Bool {
    guard let figures = head.figures(of: number) else { return false }
    if let entry = live[number], entry.salt != figures.salt { return false }
    return head.covers(figures)
  }

  /// Whether it is clear, before anything is read, that something is lost which nothing names.
  var isUnproven: Bool {
    guard report.unnamedLosses.isEmpty else { return true }
    guard !lossy.isEmpty else { return false }
    guard let checkpoint = checkpoint.found, trusts(checkpoint) else { return true }
    return !lossy.allSatisfy { isKnown($0, to: checkpoint.head) }
  }

  /// The segments that reads find records in: those of the live set, and the log's unfinished end. Other
  /// segments of the log were compacted away and not yet deleted: what they hold is dead, and what deleted it
  /// may be gone.
  ///
  /// One that is missing, and that a checkpoint knows, counts with nothing in it: so what was there is known
  /// to be lost.
  func accepted(beside head: CheckpointHead?) -> [Segment] {
    var accepted: [Segment] = []
    for entry in live.entries {
      // A file with another salt is not the segment that is meant, whatever its name: nothing of it is read.
      if let found = survey.segments[entry.number], found.header.salt == entry.salt {
        // A source that was cut and not finished yet holds what its kept length covers; the rest is in its
        // successor.
        let cutEnd = log.first { $0.number == entry.number }?.cutEnd
        accepted.append(Segment(found, entry: entry, cutEnd: cutEnd))
      } else if let figures = head?.figures(of: entry.number), figures.salt == entry.salt {
        accepted.append(Segment(lost: figures, entry: entry))
      }
    }
    if let newest, live[newest.number] == nil { accepted.append(Segment(newest, entry: nil)) }
    if let missing = missingHead, let figures = head?.figures(of: missing.number) {
      accepted.append(Segment(lost: figures, entry: nil))
    }
    return accepted.sorted { $0.number < $1.number }
  }
}

extension Segment {
  /// A segment whose file is not there, or is another.
  fileprivate convenience init(lost figures: CheckpointHead.SegmentFigures, entry: LiveEntry?) {
    self.init(
      number: figures.number, kind: figures.kind, salt: SegmentSalt(figures.salt),
      file: MissingFile(FileName.segment(figures.number)), entry: entry)
  }
}
