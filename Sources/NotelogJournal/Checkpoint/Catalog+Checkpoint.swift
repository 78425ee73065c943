// Opening with a checkpoint: FORMAT.md §14.

extension Catalog {
  /// The catalog of what an examination accepted: from the checkpoint and what came after it, or from all segments.
  static func open(
    _ examination: inout Examination, _ options: JournalOptions
  ) throws(JournalError) -> Catalog {
    switch examination.checkpoint {
    case .missing: examination.report.checkpoint = .missing
    case .damaged: examination.report.checkpoint = .damaged
    case .found(let checkpoint):
      do throws(StorageError) {
        if let catalog = try take(checkpoint, examination, options) {
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

  /// - Returns: Nothing where the checkpoint is not one of these segments, or not all that came after it can be read.
  private static func take(
    _ checkpoint: CheckpointFile, _ examination: Examination, _ options: JournalOptions
  ) throws(StorageError) -> Catalog? {
    let head = checkpoint.head
    guard head.storeID == examination.storeID, examination.report.damages.isEmpty,
      examination.staleBelow == 0, !examination.log.contains(where: \.isCut)
    else { return nil }
    let present = Dictionary(uniqueKeysWithValues: head.segments.map { ($0.number, $0) })
    var segments: [Segment] = []
    let listing = Listing(head.listed)
    var tail: [[TailEntry]] = Array(repeating: [], count: Index.shardCount)
    for (found, entry) in examination.accepted {
      let figures = present[found.number]
      guard figures == nil || figures?.salt == found.header.salt,
        found.number != head.covered.segment || head.coveredSalt == found.header.salt,
        !found.header.kind.isLog || found.number >= head.covered.segment || figures != nil
      else { return nil }
      let segment = Segment(found, entry: entry)
      segment.addLive(figures?.liveByteCount ?? 0)
      segments.append(segment)
      // Segments of the log behind the covered position are new, or were empty then.
      let isCovered =
        found.header.kind.isLog ? found.number < head.covered.segment : figures != nil
      if isCovered { continue }
      let end = examination.end.segment == found.number && entry == nil ? examination.end : .end
      guard
        try segment.forEachTailEntry(
          key: head.key, from: head.covered, to: end,
          { entry in
            tail[Int(entry.fingerprint >> 56)].append(entry)
            // Listed before or not: one that is elsewhere now is not in the collection any longer.
            let isPresent = !entry.location.isTombstone && entry.location.collection == Listing.collection
            listing.take(entry.id, sequence: entry.location.sequence, isPresent: isPresent)
          })
      else { return nil }
    }
    let cache = BlockCache(byteCount: options.cacheByteCount)
    let table = SegmentTable(segments)
    return Catalog(ShardSource(checkpoint.file, head, tail: tail, table, cache), table, cache, listing)
  }
}

extension LogPosition {
  /// Behind everything.
  static let end = LogPosition(segment: .max, offset: .max)
}

extension Examination {
  /// The segments that reads find records in: those of the live set, and the log's unfinished end. Other segments of the
  /// log were compacted away and not yet deleted: what they hold is dead, and what deleted it may be gone.
  var accepted: [(found: FoundSegment, entry: LiveEntry?)] {
    var accepted: [(found: FoundSegment, entry: LiveEntry?)] = []
    for entry in live.entries {
      // A file with another salt is not the segment that is meant.
      guard let found = survey.segments[entry.number], found.header.salt == entry.salt else { continue }
      accepted.append((found, entry))
    }
    if let newest, live[newest.number] == nil { accepted.append((newest.found, nil)) }
    return accepted
  }
}
