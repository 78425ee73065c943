// What a folder of segments amounts to: the rules of FORMAT.md §12, lines 2 to 8. It reads and never writes.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// The state of a store, worked out from its segments.
struct Examination {
  /// What says how far the log went.
  var witnesses: Witnesses
  let survey: Survey
  let storeID: ID16
  /// The log's segments in order, without those that a recovered segment took the place of.
  var log: [FoundSegment] = []
  /// Log segments that are gone: a recovered segment kept nothing of them.
  private(set) var gone: Set<UInt32> = []
  var report = RecoveryReport()
  /// The whole transactions from the floor to the break, in order.
  var kept: [(segment: UInt32, range: TransactionRange)] = []
  /// Where whole units end in the log's last accepted segment.
  var end = LogPosition.zero
  /// Log segments that lie wholly behind the break.
  var cut: [FoundSegment] = []
  /// The close mark that the log ends in, if it does.
  var closing: CloseMark?
  /// The sequence number that would follow what is whole behind the floor; nothing where nothing is.
  var sequenceAfterWhole: UInt64?
  var live = LiveSet()
  /// Segments that are not there, or of which the end isn't. What they held, the checkpoint may know.
  private(set) var lossy: Set<UInt32> = []
  /// The head, if a writer may go on in it, and where.
  var appendable: LogPosition?

  init(
    _ storage: any Storage, storeID expected: ID16?, forgiving: Bool = false
  ) throws(NotelogError) {
    // Before the segments: those of a store that is being written only grow after what is said outside of the
    // log.
    witnesses = Witnesses(in: storage)
    survey = try fromStorage(Survey(storage, storeID: expected, forgiving: forgiving))
    // Knowing the id is not having a store: without a segment, nothing says what it held.
    guard let id = survey.storeID, !survey.segments.isEmpty else {
      if !survey.unreadable.isEmpty, (try? storage.openFile(FileName.created, .read)) != nil {
        throw NotelogError(
          .damaged, "no segment of the store has a header that checks; salvage what there is")
      }
      throw NotelogError(.notFound, "there is no store here: no file in the folder is a segment of one")
    }
    storeID = id
    try fromStorage(arrangeLog())
    try fromStorage(findFloor())
    try fromStorage(walkFromFloor())
    try fromStorage(findLiveSet())
    noteBadCopies()
    addUnlisted()
    checkLiveSet()
    noteUnreadable()
  }

  /// The index's checkpoint.
  var checkpoint: CheckpointFile.Finding { witnesses.checkpoint }

  /// The headers of all segments.
  private var headers: [SegmentHeader] { survey.segments.values.map(\.header) }

  /// Where the frames of one of the log's segments end that count: at the break, or with the segment.
  func framesEnd(of segment: FoundSegment) -> Int { segment.number == end.segment ? end.offset : segment.end }

  /// The log's last segment that is not cut.
  var newest: FoundSegment? { log.last }

  /// Where whoever follows the log to its end stands then: behind a recovered segment, which is finished,
  /// nothing may have been written yet.
  var followedEnd: LogPosition {
    guard end == .zero, let newest, let footer = newest.trailer?.footerOffset else { return end }
    return LogPosition(segment: newest.number, offset: footer)
  }

  /// The branch that writing goes on in.
  var branch: Branch { newest?.header.branch ?? Branch(id: .zero, keepsTimes: false) }

  /// Whether a writer has to write a recovered segment before it goes on.
  var needsRecovery: Bool { !report.wasClosed }

  /// The sequence number that the next transaction gets.
  var nextSequence: UInt64 {
    let next = max(1, witnesses.nextSequence, newest?.header.firstSequence ?? 1)
    return min(next, UInt64(FormatLimits.maximumSequence))
  }

  /// Something is lost of a segment, or all of it.
  mutating func noteLostFrames(in number: UInt32) { lossy.insert(number) }

  /// Takes in what reading a segment's entries came to.
  mutating func note(_ reading: EntryReading) {
    for damage in reading.allDamages where !report.damages.contains(damage) { report.damages.append(damage) }
    for loss in reading.losses {
      noteUnnamedLoss(in: loss.finding.place.segment, below: loss.highestSequence.map { $0 + 1 })
    }
  }

  /// Finds lost segments whose records nothing names.
  mutating func noteUnnamedLosses(beside checkpoint: CheckpointHead?) {
    for number in lossy.sorted() where checkpoint.map({ isKnown(number, to: $0) }) != true {
      noteUnnamedLoss(in: number)
    }
  }

  /// Nothing says which records a segment lost: every record that is older may have been changed or removed
  /// there.
  mutating func noteUnnamedLoss(in number: UInt32, below bound: UInt64? = nil) {
    report.unnamedLosses.insert(number)
    // A log segment's first sequence number is above all that was in the store when it was created.
    let later = survey.segments.values.filter { $0.header.kind.isLog && $0.number > number }
    let below = bound ?? later.map(\.header.firstSequence).min() ?? nextSequence
    report.possiblyStaleBelow = max(report.possiblyStaleBelow, below)
  }

  /// The segment that the floor lies in, where it is not there and no live set names it: the next one does,
  /// so that its loss is known for good. Nothing of a file that may come back under its number is taken for
  /// it.
  var missingHead: LiveEntry? {
    let floor = report.floor
    guard floor.segment > 0, live[floor.segment] == nil,
      !(log + cut).contains(where: { $0.number == floor.segment })
    else { return nil }
    return LiveEntry(number: floor.segment, byteCount: floor.offset, salt: 0, footerChecksum: 0)
  }

  /// The highest segment number that anything in the store bears.
  var highestKnownNumber: UInt32 {
    let named =
      survey.segments.values.flatMap { $0.header.sources.map(\.segment) } + live.entries.map(\.number)
    return max(survey.names.highest, report.floor.segment, named.max() ?? 0)
  }

  /// Line 2: the log in order, with the ends that recovered segments gave to their sources.
  private mutating func arrangeLog() throws(StorageError) {
    let all = survey.segments.values.filter { $0.header.kind.isLog }.sorted { $0.number < $1.number }
    let keptByteCounts = headers.keptByteCounts
    for var segment in all {
      if let kept = keptByteCounts[segment.number] {
        if kept == 0 {
          gone.insert(segment.number)
          continue
        }
        // Cut and finished already, it is read like any other; until then it ends where it was cut. As long
        // as nothing follows the recovered segment, finishing may have been interrupted; afterwards a trailer
        // is enough, and it stands against a recovered segment that is not this store's.
        let isUncertain = all.last?.header.sources.contains { $0.segment == segment.number } ?? false
        var isFinished = segment.trailer != nil
        if isUncertain {
          isFinished = segment.trailer?.footerOffset == kept
          if isFinished { isFinished = try segment.hasSoundFooter() }
        }
        if !isFinished { segment.cutEnd = min(kept, segment.byteCount) }
      }
      log.append(segment)
    }
  }

  /// Header copies that differ, but for segments whose creation was interrupted.
  private mutating func noteBadCopies() {
    for segment in survey.segments.values.sorted(by: { $0.number < $1.number }) {
      let isGone = gone.contains(segment.number) || cut.contains { $0.number == segment.number }
      for place in segment.badCopies where !isGone {
        report.damages.append(
          Finding(.headerCopy, segment: segment.number, offset: place, byteCount: Layout.headerByteCount))
      }
    }
  }
}

// MARK: - Finds the durable floor: FORMAT.md §12, line 3.

extension Examination {
  /// Takes the highest position that any surviving witness names.
  mutating func findFloor() throws(StorageError) {
    witnesses.hear(of: storeID, headers)
    if try !findClosing(), try !endsRecovered() {
      for segment in log.suffix(2) {
        var walk = segment.walk()
        try witnesses.hear(&walk)
      }
    }
    report.floor = witnesses.floor
  }

  /// Looks for a close mark that the log's last file ends in. Where there is one, no mark can name a higher
  /// position, and none has to be looked for.
  private mutating func findClosing() throws(StorageError) -> Bool {
    guard let last = log.last, !last.isCut, last.header.kind == .log else { return false }
    guard let mark = try last.closing(), witnesses.floor <= mark.place else { return false }
    witnesses.hear(mark.place, before: mark.nextSequence)
    closing = mark
    return true
  }

  /// Whether the log ends with a segment that a recovery finished: its header names its end, and no mark can
  /// name a higher position. Its first sequence number is above all that it holds, and above all of what came
  /// before it, if that was there.
  private func endsRecovered() throws(StorageError) -> Bool {
    guard let last = log.last, !last.isCut, last.header.kind == .recovered, log.count > 1,
      let footerOffset = last.trailer?.footerOffset,
      witnesses.floor == LogPosition(segment: last.number, offset: footerOffset)
    else { return false }
    let before = log[log.count - 2]
    var reader = last.reader
    return try reader.liveSet(of: last.header)?.set[before.number]?.salt == before.header.salt
  }
}

// MARK: - Finds the live set and holds the files against it: FORMAT.md §12, line 7.

extension LiveSet {
  /// Takes in compacted segments that nothing lists although a source of them is gone: sources go only once
  /// what says so is durable.
  ///
  /// - Parameters:
  ///   - found: The segments that there are, and how a live set would name them.
  ///   - isMissing: Whether there is no file of a segment.
  /// - Returns: The numbers of those that came.
  @discardableResult
  mutating func addUnlisted(
    _ found: [(header: SegmentHeader, entry: LiveEntry?)], isMissing: (UInt32) -> Bool
  ) -> [UInt32] {
    var added: [UInt32] = []
    for (header, entry) in found.sorted(by: { $0.header.number < $1.header.number })
    where !header.kind.isLog && self[header.number] == nil {
      let sources = header.sources.map(\.segment)
      guard let entry, sources.allSatisfy({ self[$0] != nil }), sources.contains(where: isMissing) else {
        continue
      }
      for source in sources { remove(source) }
      insert(entry)
      added.append(header.number)
    }
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
    if let found = try reader.liveSet(of: newest.header) {
      live = found.set
      start = found.end
    } else {
      report.damages.append(Finding(.liveSet, segment: newest.number, offset: start))
      let proven = substitutes(before: newest).first { newest.header.speaks(of: $0) }
      live = proven ?? inferredLiveSet(before: newest)
      isProven = proven != nil
    }
    // What the close mark says of the live set at the end, it was at the beginning: no change is to be looked
    // for.
    if let closing, newest.number == end.segment, closing.speaks(of: live) { return }
    if newest.header.kind == .log {
      var walk = newest.walk(from: start, to: framesEnd(of: newest))
      try walk.applyLiveChanges(to: &live)
    }
    if !isProven, newest.number != end.segment || closing?.speaks(of: live) != true {
      noteUnnamedLoss(in: newest.number)
    }
    // A finished segment that is the newest has nobody after it to list it.
    if let entry = newest.entry, newest.end == newest.byteCount, isFinished(newest) { live.insert(entry) }
  }

  /// Compacted segments alone are what a lost log leaves: which of them live, the checkpoint says, or they
  /// themselves. All that they hold may have been changed or removed since.
  private mutating func takeCompacted() {
    live = substitutes(before: nil)[0]
    noteLostFrames(in: report.floor.segment)
    noteUnnamedLoss(in: report.floor.segment, below: UInt64(FormatLimits.maximumSequence))
  }

  /// Whether the log's walk passed the segment's footer, or it lies below the floor with a trailer.
  private func isFinished(_ segment: FoundSegment) -> Bool {
    segment.trailer != nil
      && (report.wasClosed || segment.number != end.segment || segment.number < report.floor.segment)
  }

  /// What the live set may have been where its frame can't be read: the header tells whether it was.
  private func substitutes(before newest: FoundSegment?) -> [LiveSet] {
    let head = checkpoint.found?.head
    let table = head?.storeID == storeID ? head?.segments.filter(\.isFinished).map(\.entry) : nil
    return (table.map { [LiveSet($0)] } ?? []) + [inferredLiveSet(before: newest)]
  }

  /// The live set where nothing has it: every finished segment that no other takes the place of.
  private func inferredLiveSet(before newest: FoundSegment?) -> LiveSet {
    let replaced = headers.replaced
    let remaining = survey.segments.values.filter {
      $0.number != newest?.number && !gone.contains($0.number) && !replaced.contains($0.number)
    }
    return LiveSet(remaining.compactMap(\.entry))
  }

  /// Takes in compacted segments that nothing lists: what said that they live is damaged.
  mutating func addUnlisted() {
    let compacted = survey.segments.values.map { (header: $0.header, entry: $0.entry) }
    for number in live.addUnlisted(compacted, isMissing: isMissing) {
      report.damages.append(Finding(.liveSet, segment: newest?.number ?? number))
    }
  }

  /// What a segment of the live set holds that has lost its trailer and nothing else: its frames make the
  /// footer that is meant.
  private func wholeWithoutTrailer(_ found: FoundSegment, _ entry: LiveEntry) -> EntryReading? {
    guard found.trailer == nil, found.header.salt == entry.salt, found.byteCount == entry.byteCount,
      entry.byteCount >= Layout.firstFrameOffset + Layout.trailerByteCount
    else { return nil }
    let reading = try? Segment(found, entry: entry).forEachEntry(upTo: entry.byteCount) { _, _ in }
    return reading?.isWhole == true ? reading : nil
  }

  /// Whether there is no file under a segment's name.
  func isMissing(_ number: UInt32) -> Bool {
    survey.segments[number] == nil && !survey.unreadable.contains(number) && !survey.foreign.contains(number)
  }

  /// Reports segments of the live set that are not there or are not what it says, and files that nobody
  /// claims.
  mutating func checkLiveSet() {
    let sources = newest.map { $0.header.kind == .recovered ? $0.header.sources : [] } ?? []
    let unfinished = Set(sources.map(\.segment))
    for source in sources {
      guard let found = survey.segments[source.segment], found.byteCount < source.offset else { continue }
      noteTruncated(source.segment, at: found.byteCount, to: source.offset)
    }
    for entry in live.entries {
      guard let found = survey.segments[entry.number] else {
        // A file under that name that is not the segment is reported as what it is, below.
        if isMissing(entry.number) { report.damages.append(Finding(.missingSegment, segment: entry.number)) }
        noteLostFrames(in: entry.number)
        continue
      }
      // A recovered segment names its sources as they will be once they are cut and finished.
      if unfinished.contains(entry.number), found.header.salt == entry.salt { continue }
      if let reading = wholeWithoutTrailer(found, entry) {
        note(reading)
      } else if let difference = found.difference(from: entry) {
        report.damages.append(difference)
        noteLostFrames(in: entry.number)
      }
    }
    let accounted = Set(live.entries.map(\.number) + log.map(\.number) + cut.map(\.number)).union(gone)
    for segment in survey.segments.values where !accounted.contains(segment.number) {
      report.strays.append(FileName.segment(segment.number))
    }
    // What no witness speaks of is the creation of a segment that was interrupted: its file may hold
    // anything.
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

  // MARK: - Finds segments that compaction has left behind: FORMAT.md §24.

  /// Segments whose files are there although a live compacted segment has taken their place, by the number of
  /// that.
  var replaced: [UInt32: UInt32] {
    var replaced: [UInt32: UInt32] = [:]
    for segment in survey.segments.values
    where !segment.header.kind.isLog && live[segment.number] != nil {
      for source in segment.header.sources
      where survey.segments[source.segment] != nil && live[source.segment] == nil {
        replaced[source.segment] = segment.number
      }
    }
    return replaced
  }

  // MARK: - Notes what the medium does not give: FORMAT.md §12.3.

  /// Notes what the medium did not give. Behind the break it may have held transactions that were committed.
  mutating func noteUnreadable() {
    for segment in survey.segments.values.sorted(by: { $0.number < $1.number }) {
      for damage in segment.unreadableDamages {
        report.damages.append(damage)
        let last = LogPosition(segment: segment.number, offset: damage.range.upperBound)
        let isLog = segment.header.kind.isLog && !gone.contains(segment.number)
        if isLog, last > end, !report.wasClosed || appendable != nil { noteUnnamedLoss(in: segment.number) }
      }
    }
  }
}

// MARK: - What says how far the log went, and what segments' headers say of others: FORMAT.md §12, lines 2 and 3.

/// The witnesses of the floor. Opening a store and salvaging one hear the same.
struct Witnesses {
  /// Where the store was last closed in order, as its `lock` says.
  let lastClose: LastClose?
  /// The index's checkpoint: its head is a witness.
  let checkpoint: CheckpointFile.Finding
  /// The highest position that any of them names.
  private(set) var floor = LogPosition.zero
  /// All lower sequence numbers were given out, whatever became of what bore them.
  private(set) var nextSequence: UInt64 = 0

  /// Reads those outside of the log.
  init(in storage: any Storage) {
    lastClose = LastClose.read(storage)
    checkpoint = CheckpointFile.find(in: storage)
  }

  /// Takes in what is said of a store outside of its log, and by headers of its segments.
  mutating func hear(of storeID: ID16, _ headers: [SegmentHeader]) {
    for header in headers { hear(header.floor) }
    if let head = checkpoint.found?.head, head.storeID == storeID {
      hear(head.covered, before: head.nextSequence)
    }
    if let last = lastClose, last.storeID == storeID { hear(last.mark, before: last.nextSequence) }
  }

  /// Takes in the marks of a segment, and the numbers of its frames, past anything broken.
  mutating func hear(_ walk: inout SegmentWalk) throws(StorageError) {
    while let header = try walk.advance() {
      hear(try walk.witness(header) ?? .zero, before: header.nextSequence)
    }
  }

  mutating func hear(_ position: LogPosition, before next: UInt64 = 0) {
    floor = max(floor, position)
    nextSequence = max(nextSequence, next)
  }
}

extension [SegmentHeader] {
  /// What recovered segments keep of their sources, by the sources' numbers: line 2. Nothing stays where it
  /// is 0.
  var keptByteCounts: [UInt32: Int] {
    var kept: [UInt32: Int] = [:]
    for header in sorted(by: { $0.number < $1.number }) where header.kind == .recovered {
      for source in header.sources where source.segment < header.number {
        kept[source.segment] = source.offset
      }
    }
    return kept
  }

  /// The segments that others take the place of whole.
  var replaced: Set<UInt32> {
    Set(
      flatMap { header in
        header.sources.filter { $0.segment < header.number && $0.offset == 0 }.map(\.segment)
      })
  }
}
