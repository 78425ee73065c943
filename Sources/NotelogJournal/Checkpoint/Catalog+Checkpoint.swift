// Opening with a checkpoint: FORMAT.md §14.

extension Catalog {
  /// The catalog of what an examination accepted: from the checkpoint and what came after it, or from all segments.
  static func open(
    _ examination: inout Examination, in storage: any Storage, _ options: JournalOptions
  ) throws(JournalError) -> Catalog {
    switch examination.checkpoint {
    case .missing: examination.report.checkpoint = .missing
    case .damaged: examination.report.checkpoint = .damaged
    case .found(let checkpoint):
      do throws(StorageError) {
        if examination.trusts(checkpoint),
          let catalog = try take(
            checkpoint, examination.accepted, end: examination.end, in: storage, options)
        {
          examination.report.checkpoint = .used
          return catalog
        }
      } catch { throw JournalError(error) }
      checkpoint.file.close()
      examination.report.checkpoint = .stale
    }
    let catalog = Catalog(key: options.fingerprintKey, cacheByteCount: options.cacheByteCount)
    try catalog.load(&examination)
    return catalog
  }

  /// The catalog that a checkpoint makes with what the segments say that it doesn't know; the log ends at `end`.
  ///
  /// - Returns: Nothing where the checkpoint is not one of these segments, or not all that came after it can be read.
  static func take(
    _ checkpoint: CheckpointFile, _ segments: [Segment], end: LogPosition, in storage: any Storage,
    _ options: JournalOptions
  ) throws(StorageError) -> Catalog? {
    let head = checkpoint.head
    let staleness = Staleness()
    let listing = Listing(head.listed)
    var tail = Tail()
    var sortedFooters: [SortedFooter] = []
    var unsorted: [UnsortedSegments.Item] = []
    var next = 0
    for segment in segments {
      let figures = head.figures(of: segment.number, next: &next)
      guard figures == nil || figures?.salt == segment.salt.value,
        segment.number != head.covered.segment || head.coveredSalt == segment.salt.value,
        !segment.kind.isLog || segment.number >= head.covered.segment || figures != nil
      else { return nil }
      segment.addLive(figures?.liveByteCount ?? 0)
      if head.covers(figures) { continue }
      if let footer = SortedFooter(of: segment, behind: head, in: storage, staleness) {
        for change in footer.listed {
          listing.take(change.id, sequence: change.sequence, isPresent: change.isPresent)
        }
        if footer.entryCount > 0 { sortedFooters.append(footer) }
        continue
      }
      let countBefore = tail.count
      let end = end.segment == segment.number && segment.entry == nil ? end : .end
      guard
        try segment.forEachTailEntry(
          from: head.covered, to: end,
          { entry, collection in
            tail.append(entry, fingerprint: head.key.fingerprint(of: entry.id))
            // Listed before or not: one that is elsewhere now is not in the collection any longer.
            let isPresent = !entry.place.isTombstone && collection == Listing.collection
            listing.take(entry.id, sequence: entry.sequence, isPresent: isPresent)
          }) == .whole
      else { return nil }
      if segment.entry != nil {
        unsorted.append(.init(number: segment.number, entryCount: tail.count - countBefore))
      }
    }
    tail.sort()
    let cache = BlockCache(byteCount: options.cacheByteCount)
    let table = SegmentTable(segments)
    let source = ShardSource(checkpoint.file, head, tail: tail, sortedFooters, table, cache, staleness)
    let catalog = Catalog(source, table, cache, listing)
    for item in unsorted { catalog.unsorted.add(item) }
    return catalog
  }
}

extension LogPosition {
  /// Behind everything.
  static let end = LogPosition(segment: .max, offset: .max)
}

extension Examination {
  /// Whether a checkpoint can be one of these segments: with damage, what it says may not be what is left.
  func trusts(_ checkpoint: CheckpointFile) -> Bool {
    checkpoint.head.storeID == storeID && report.damages.isEmpty && staleBelow == 0
      && !log.contains(where: \.isCut)
  }

  /// The segments that reads find records in: those of the live set, and the log's unfinished end. Other segments of the
  /// log were compacted away and not yet deleted: what they hold is dead, and what deleted it may be gone.
  var accepted: [Segment] {
    var accepted: [Segment] = []
    for entry in live.entries {
      // A file with another salt is not the segment that is meant.
      guard let found = survey.segments[entry.number], found.header.salt == entry.salt else { continue }
      accepted.append(Segment(found, entry: entry))
    }
    if let newest, live[newest.number] == nil { accepted.append(Segment(newest.found, entry: nil)) }
    return accepted
  }
}
