// Finds the live set and holds the files against it: FORMAT.md §12, line 7.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension LiveSet {
  /// Takes in compacted segments that nothing lists although a source of them is gone: sources go only once what says so is durable.
  ///
  /// - Parameters:
  ///   - found: The segments that there are, and how a live set would name them.
  ///   - isMissing: Whether there is no file of a segment.
  /// - Returns: The numbers of those that came.
  @discardableResult
  mutating func addUnlisted(
    _ found: [(header: SegmentHeader, entry: LiveEntry?)], isMissing: (UInt32) -> Bool
  ) -> [UInt32] {
    var changes = LiveChanges(of: self)
    var added: [UInt32] = []
    for (header, entry) in found.sorted(by: { $0.header.number < $1.header.number })
    where header.kind == .compacted && changes[header.number] == nil {
      let sources = header.sources.map(\.segment)
      guard let entry, sources.allSatisfy({ changes[$0] != nil }), sources.contains(where: isMissing) else {
        continue
      }
      for source in sources { changes.remove(source) }
      changes.insert(entry)
      added.append(header.number)
    }
    self = changes.result
    return added
  }
}

extension Examination {
  /// The live set of the newest log segment, with the changes published since.
  mutating func findLiveSet() throws(StorageError) {
    guard let newest else {
      // A log whose first segment was torn in its making lost nothing.
      if survey.segments.values.allSatisfy({ !$0.header.kind.isLog }) { takeCompacted() }
      return
    }
    var reader = newest.reader
    var start = Layout.firstFrameOffset
    var isProven = true
    if let found = try reader.liveSet(of: newest.found.header) {
      live = found.set
      start = found.end
    } else {
      report.damages.append(Finding(.liveSet, segment: newest.number, offset: start))
      let proven = substitutes(before: newest).first { newest.found.header.speaks(of: $0) }
      live = proven ?? inferredLiveSet(before: newest)
      isProven = proven != nil
    }
    // What the close mark says of the live set at the end, it was at the beginning: no change is to be looked for.
    if let closing, newest.number == end.segment, closing.speaks(of: live) { return }
    if newest.found.header.kind == .log {
      let limit = newest.number == end.segment ? max(end.offset, floorOffset(in: newest)) : newest.end
      try reader.applyLiveChanges(to: &live, from: start, to: limit)
    }
    if !isProven, newest.number != end.segment || closing?.speaks(of: live) != true {
      noteUnnamedLoss(in: newest.number)
    }
    // A finished segment that is the newest has nobody after it to list it.
    if let entry = newest.found.entry, newest.end == newest.found.byteCount, isFinished(newest) {
      live.insert(entry)
    }
  }

  /// Compacted segments alone are what a lost log leaves: which of them live, the checkpoint says, or they themselves. All that they hold
  /// may have been changed or removed since.
  private mutating func takeCompacted() {
    live = substitutes(before: nil)[0]
    noteLostFrames(in: report.floor.segment)
    noteUnnamedLoss(in: report.floor.segment, below: UInt64(FormatLimits.maximumSequence))
  }

  private func floorOffset(in segment: LogSegment) -> Int {
    report.floor.segment == segment.number ? report.floor.offset : 0
  }

  /// Whether the log's walk passed the segment's footer, or it lies below the floor with a trailer.
  private func isFinished(_ segment: LogSegment) -> Bool {
    segment.found.hasTrailer
      && (report.wasClosed || segment.number != end.segment || segment.number < report.floor.segment)
  }

  /// What the live set may have been where its frame can't be read: the header tells whether it was.
  private func substitutes(before newest: LogSegment?) -> [LiveSet] {
    let table = checkpoint.found?.head.segments.filter(\.isFinished).map(\.entry)
    return (table.map { [LiveSet(ascending: $0)] } ?? []) + [inferredLiveSet(before: newest)]
  }

  /// The live set where nothing has it: every finished segment that no other takes the place of.
  private func inferredLiveSet(before newest: LogSegment?) -> LiveSet {
    let replaced = Set(
      survey.segments.values.flatMap { $0.header.sources.filter { $0.keptByteCount == 0 }.map(\.segment) })
    let remaining = survey.segments.values.filter {
      $0.number != newest?.number && !gone.contains($0.number) && !replaced.contains($0.number)
    }
    return LiveSet(ascending: remaining.compactMap(\.entry).sorted { $0.number < $1.number })
  }

  /// Takes in compacted segments that nothing lists: what said that they live is damaged.
  mutating func addUnlisted() {
    let compacted = survey.segments.values.map { (header: $0.header, entry: $0.entry) }
    for number in live.addUnlisted(compacted, isMissing: isMissing) {
      report.damages.append(Finding(.liveSet, segment: newest?.number ?? number))
    }
  }

  /// What a segment of the live set holds that has lost its trailer and nothing else: its frames make the footer that is meant.
  private func wholeWithoutTrailer(_ found: FoundSegment, _ entry: LiveEntry) -> EntryReading? {
    guard found.trailer == nil, found.header.salt == entry.salt, found.byteCount == entry.byteCount,
      entry.byteCount >= Layout.firstFrameOffset + Layout.trailerByteCount
    else { return nil }
    var window = Buffer()
    let reading = try? Segment(found, entry: entry).forEachEntry(upTo: entry.byteCount, through: &window) {
      _, _ in
    }
    return reading?.isWhole == true ? reading : nil
  }

  /// Whether there is no file under a segment's name.
  func isMissing(_ number: UInt32) -> Bool {
    survey.segments[number] == nil && !survey.unreadable.contains(number) && !survey.foreign.contains(number)
  }

  /// Reports segments of the live set that are not there or are not what it says, and files that nobody claims.
  mutating func checkLiveSet() {
    let sources = newest.map { $0.found.header.kind == .recovered ? $0.found.header.sources : [] } ?? []
    let unfinished = Set(sources.map(\.segment))
    for source in sources {
      guard let found = survey.segments[source.segment], found.byteCount < source.keptByteCount else {
        continue
      }
      noteTruncated(source.segment, at: found.byteCount, to: source.keptByteCount)
    }
    for entry in live.entries {
      guard let found = survey.segments[entry.number] else {
        // A file under that name that is not the segment is reported as what it is, below.
        if isMissing(entry.number) {
          report.damages.append(Finding(.missingSegment, segment: entry.number))
        }
        noteLostFrames(in: entry.number)
        continue
      }
      // A recovered segment names its sources as they will be once they are cut and finished.
      if unfinished.contains(entry.number) { continue }
      if let reading = wholeWithoutTrailer(found, entry) {
        note(reading, of: entry.number)
      } else if found.entry != entry {
        let isShort = found.header.salt == entry.salt && found.byteCount < entry.byteCount
        report.damages.append(
          Finding(isShort ? .truncated : .replacedSegment, segment: entry.number, offset: found.byteCount))
        noteLostFrames(in: entry.number)
      }
    }
    let accounted = Set(live.entries.map(\.number) + log.map(\.number) + cut.map(\.number)).union(gone)
    for segment in survey.segments.values where !accounted.contains(segment.number) {
      report.strays.append(FileName.segment(segment.number))
    }
    // What no witness speaks of is the creation of a segment that was interrupted: its file may hold anything.
    for number in survey.unreadable { noteUnclaimed(number, .unreadableSegment) }
    for number in survey.foreign { noteUnclaimed(number, .foreignSegment) }
    report.strays.sort()
  }

  /// A file that is no segment of this store: damage where something says that there is one of that number.
  private mutating func noteUnclaimed(_ number: UInt32, _ kind: Finding.Kind) {
    if live[number] != nil || number == report.floor.segment {
      report.damages.append(Finding(kind, segment: number))
    } else {
      report.strays.append(FileName.segment(number))
    }
  }
}
