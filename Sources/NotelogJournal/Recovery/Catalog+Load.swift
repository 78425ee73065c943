// Builds the index from what an examination accepted: footers first, frames where there is none.

extension Catalog {
  /// Takes in every live segment and the log's unfinished end.
  func load(_ examination: inout Examination) throws(JournalError) {
    do {
      let listed = Set(examination.live.entries.map(\.number))
      for entry in examination.live.entries {
        // A file with another salt is not the segment that is meant, whatever its name: nothing of it is read.
        guard let found = examination.survey.segments[entry.number], found.header.salt == entry.salt else {
          continue
        }
        let isCut = examination.log.contains { $0.number == entry.number && $0.isCut }
        try load(found, entry: entry, isCut: isCut, &examination)
      }
      // Nobody lists the newest but itself. Others that are not listed were compacted away and not yet deleted: what
      // they hold is dead, and what deleted it may be gone.
      if let newest = examination.newest, !listed.contains(newest.number) {
        let limit = newest.number == examination.end.segment ? examination.end.offset : newest.end
        try loadFrames(
          newest.found, entry: nil, to: max(limit, floorOffset(newest, examination)), &examination)
      }
    } catch { throw JournalError(error) }
  }

  private func floorOffset(_ segment: Examination.LogSegment, _ examination: Examination) -> Int {
    guard examination.report.floor.segment == segment.number else { return 0 }
    return min(examination.report.floor.offset, segment.end)
  }

  private func load(
    _ found: FoundSegment, entry: LiveEntry, isCut: Bool, _ examination: inout Examination
  ) throws(StorageError) {
    // A source that was cut and not finished yet holds what its kept length covers; the rest is in its successor.
    guard !isCut, let trailer = found.trailer else {
      let kept = examination.log.first { $0.number == found.number }?.end
      return try loadFrames(found, entry: entry, to: kept ?? found.byteCount, &examination)
    }
    let segment = Segment(found, entry: entry)
    segments.insert(segment)
    var reader = SegmentReader(found.file, salt: found.header.salt, end: found.byteCount)
    let state = try reader.forEachFooterEntry(trailer) { (entry, _) throws(StorageError) in
      try take(entry, in: segment)
    }
    if state == .complete { return }
    if state == .unreadable {
      examination.report.damages.append(
        Damage(
          .footer, segment: found.number, offset: trailer.footerOffset, byteCount: trailer.footerByteCount))
    }
    // The frames say where others were lost.
    try loadFrames(found, entry: entry, to: trailer.footerOffset, &examination)
  }

  private func loadFrames(
    _ found: FoundSegment, entry: LiveEntry?, to limit: Int, _ examination: inout Examination
  ) throws(StorageError) {
    let segment = Segment(found, entry: entry)
    segments.insert(segment)
    var reader = SegmentReader(found.file, salt: found.header.salt, end: min(limit, found.byteCount))
    var damages: [Damage] = []
    try reader.forEachContentFrame(
      from: Layout.firstFrameOffset, to: min(limit, found.byteCount), checkingPayloads: false
    ) { (finding, _) throws(StorageError) in
      switch finding {
      case .content(let entry, _):
        try take(entry, in: segment)
      case .lost(let range):
        damages.append(
          Damage(.lostFrames, segment: found.number, offset: range.lowerBound, byteCount: range.count))
      }
    }
    examination.report.damages += damages
    if !damages.isEmpty { examination.noteLostFrames(in: found.number) }
  }
}

extension Segment {
  convenience init(_ found: FoundSegment, entry: LiveEntry?) {
    self.init(number: found.number, kind: found.header.kind, salt: found.salt, file: found.file, entry: entry)
  }
}
