// Opening with a checkpoint: docs/format-derived.md §31.

import NotelogFormat
import NotelogStorage

extension Catalog {
  /// The catalog of what an examination accepted: from the checkpoint and what came after it, or from all segments.
  static func open(
    _ examination: inout Examination, in storage: any Storage, _ options: JournalOptions
  ) throws(NotelogError) -> Catalog {
    switch examination.checkpoint {
    case .missing: examination.report.checkpoint = .missing
    case .damaged: examination.report.checkpoint = .damaged
    case .found(let checkpoint):
      do throws(StorageError) {
        if examination.trusts(checkpoint),
          let taken = try load(
            checkpoint, examination.accepted(beside: checkpoint.head), end: examination.end, options)
        {
          examination.report.checkpoint = .used
          examination.note(taken, checkpoint.head)
          return taken.catalog
        }
      } catch { throw NotelogError(error) }
      checkpoint.file.close()
      examination.report.checkpoint = .stale
    }
    let catalog = Catalog(key: options.fingerprintKey, cacheByteCount: options.cacheByteCount)
    try catalog.load(&examination)
    return catalog
  }

  /// A catalog made of a checkpoint, and what reading the segments behind it came to.
  struct Loaded {
    let catalog: Catalog
    /// Where something does not check, or is lost, by segment.
    var readings: [(segment: UInt32, reading: EntryReading)] = []
  }

  /// The catalog that a checkpoint makes with what the segments say that it doesn't know; the log ends at `end`.
  ///
  /// - Returns: Nothing where the checkpoint is not one of these segments.
  static func load(
    _ checkpoint: CheckpointFile, _ segments: [Segment], end: LogPosition, _ options: JournalOptions
  ) throws(StorageError) -> Loaded? {
    var head = checkpoint.head
    head.key.mask = options.fingerprintMask
    let listed = ListedRecords(head.listed)
    var tail = Tail()
    var readings: [(segment: UInt32, reading: EntryReading)] = []
    for segment in segments {
      let figures = head.figures(of: segment.number)
      guard figures == nil || figures?.salt == segment.salt.value,
        segment.number != head.covered.segment || head.coveredSalt == segment.salt.value,
        !segment.kind.isLog || segment.number >= head.covered.segment || figures != nil
      else { return nil }
      segment.addLive(figures?.liveByteCount ?? 0)
      // What is missing can't be read; whether the checkpoint has all of it is for the examination to say.
      if head.covers(figures) || segment.file is MissingFile { continue }
      let end = end.segment == segment.number && !segment.isFinished ? end : .end
      let reading = try segment.forEachTailEntry(from: head.covered, to: end) { entry, collection in
        tail.append(entry, fingerprint: head.key.fingerprint(of: entry.id))
        // Listed before or not: one that is elsewhere now is not in the collection any longer.
        let isPresent = !entry.place.isTombstone && collection == ListedRecords.collection
        listed.note(entry.id, sequence: entry.sequence, isPresent: isPresent)
      }
      if !reading.isWhole || !reading.damages.isEmpty { readings.append((segment.number, reading)) }
    }
    let cache = BlockCache(
      byteCount: options.cacheByteCount, storedByteCount: segments.reduce(0) { $0 + $1.byteCount })
    let table = SegmentTable(segments)
    let source = ShardSource(checkpoint.file, head, tail: tail, table, cache, Staleness())
    return Loaded(catalog: Catalog(source, table, cache, listed), readings: readings)
  }
}

extension LogPosition {
  /// Behind everything.
  static let end = LogPosition(segment: .max, offset: .max)
}

extension Examination {
  /// Whether a checkpoint can be one of these segments. Damage does not matter: what the checkpoint says of the past is so,
  /// whatever is left of it, and names what is lost.
  func trusts(_ checkpoint: CheckpointFile) -> Bool {
    checkpoint.head.storeID == storeID && !log.contains(where: \.isCut)
  }

  /// Takes in what making a catalog of a checkpoint came to.
  mutating func note(_ taken: Catalog.Loaded, _ head: CheckpointHead) {
    for found in survey.segments.values
    where found.isIncomplete && live[found.number]?.salt == found.header.salt {
      report.damages.append(Finding(.lostFrames, segment: found.number))
    }
    for (segment, reading) in taken.readings { note(reading, of: segment) }
    noteUnnamedLosses(beside: head)
  }

  /// Whether a checkpoint has all that a segment held which is lost, or the end of which is. Of the head nobody knows what came
  /// after the checkpoint.
  func isKnown(_ number: UInt32, to head: CheckpointHead) -> Bool {
    guard let figures = head.figures(of: number) else { return false }
    if let entry = live[number], entry.salt != figures.salt { return false }
    return head.covers(figures)
  }

  /// Whether it is clear, before anything is read, that something is lost which nothing names.
  var isUnproven: Bool {
    guard !lossy.isEmpty else { return false }
    guard let checkpoint = checkpoint.found, trusts(checkpoint) else { return true }
    return !lossy.allSatisfy { isKnown($0, to: checkpoint.head) }
  }

  /// The segments that reads find records in: those of the live set, and the log's unfinished end. Other segments of the
  /// log were compacted away and not yet deleted: what they hold is dead, and what deleted it may be gone.
  ///
  /// One that is missing, and that a checkpoint knows, counts with nothing in it: so what was there is known to be lost.
  func accepted(beside head: CheckpointHead) -> [Segment] {
    var accepted: [Segment] = []
    for entry in live.entries {
      // A file with another salt is not the segment that is meant.
      if let found = survey.segments[entry.number], found.header.salt == entry.salt {
        accepted.append(Segment(found, entry: entry))
      } else if let figures = head.figures(of: entry.number), figures.salt == entry.salt {
        accepted.append(Segment(lost: figures, entry: entry))
      }
    }
    if let newest, live[newest.number] == nil { accepted.append(Segment(newest.found, entry: nil)) }
    if let missing = missingHead, let figures = head.figures(of: missing.number) {
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
