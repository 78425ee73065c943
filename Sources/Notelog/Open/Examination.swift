// What a folder of segments amounts to: the rules of FORMAT.md §12, lines 2 to 8. It reads and never writes.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// The state of a store, worked out from its segments.
struct Examination {
  /// A segment of the log and where reading it ends.
  struct LogSegment {
    let found: FoundSegment
    /// The file's length, or the length that a later recovered segment kept of it.
    let end: Int
    /// Whether `end` is a kept length.
    let isCut: Bool

    var number: UInt32 { found.number }
    var reader: SegmentReader { SegmentReader(found.file, salt: found.salt, end: end) }

    /// Where its first unit starts, or would.
    func unitsStart() throws(StorageError) -> Int {
      var reader = reader
      return try reader.unitsStart()
    }
  }

  /// A transaction above the floor that is whole.
  struct KeptTransaction {
    let segment: UInt32
    let range: TransactionRange
  }

  /// Where the store was last closed in order, as its `lock` says: a witness of the floor.
  let lastClose: LastClose?
  /// The index's checkpoint, whose head is a witness of the floor.
  let checkpoint: CheckpointFile.Finding
  let survey: Survey
  let storeID: ID16
  /// The log's segments in order, without those that a recovered segment took the place of.
  var log: [LogSegment] = []
  /// Log segments that are gone: a recovered segment kept nothing of them.
  private(set) var gone: Set<UInt32> = []
  var report = RecoveryReport()
  /// The whole transactions from the floor to the break, in order.
  var kept: [KeptTransaction] = []
  /// Where whole units end in the log's last accepted segment.
  var end = LogPosition.zero
  /// Log segments that lie wholly behind the break.
  var cut: [LogSegment] = []
  /// The close mark that the log ends in, if it does.
  var closing: CloseMark?
  /// The highest sequence number seen in any frame, torn ones included.
  var highestSequence: UInt64 = 0
  /// The sequence number that would follow what is whole behind the floor; nothing where nothing is.
  var sequenceAfterWhole: UInt64?
  var live = LiveSet()
  /// Segments that are not there, or of which the end isn't. What they held, the checkpoint may know.
  private(set) var lossy: Set<UInt32> = []
  /// The head, if a writer may go on in it, and where.
  var appendable: LogPosition?

  init(_ storage: any Storage, storeID expected: ID16?) throws(NotelogError) {
    // Before the segments: those of a store that is being written only grow after what these two speak of.
    lastClose = LastClose.read(storage)
    checkpoint = CheckpointFile.find(in: storage)
    survey = try Survey(storage, storeID: expected)
    // Knowing the id is not having a store: without a segment, nothing says what it held.
    guard let id = survey.storeID, !survey.segments.isEmpty else {
      if !survey.unreadable.isEmpty, let created = try? storage.openFile(FileName.created, .read) {
        created.close()
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

  /// The log's last segment that is not cut.
  var newest: LogSegment? { log.last }

  /// Where whoever follows the log to its end stands then: behind a recovered segment, which is finished, nothing may have been written yet.
  var followedEnd: LogPosition {
    guard end == .zero, let newest, let footer = newest.found.trailer?.footerOffset else { return end }
    return LogPosition(segment: newest.number, offset: footer)
  }

  /// The branch that writing goes on in.
  var branch: Branch { newest?.found.header.branch ?? Branch(id: .zero, keepsTimes: false) }

  /// Whether a writer has to write a recovered segment before it goes on.
  var needsRecovery: Bool { !report.wasClosed }

  /// The sequence number that the next transaction gets.
  var nextSequence: UInt64 {
    min(
      max(highestSequence + 1, newest?.found.header.firstSequence ?? 1), UInt64(FormatLimits.maximumSequence))
  }

  /// Something is lost of a segment, or all of it.
  mutating func noteLostFrames(in number: UInt32) { lossy.insert(number) }

  /// Takes in what reading a segment's entries came to.
  mutating func note(_ reading: EntryReading, of number: UInt32) {
    for damage in reading.allDamages(of: number) where !report.damages.contains(damage) {
      report.damages.append(damage)
    }
    for loss in reading.losses {
      noteUnnamedLoss(in: number, below: loss.highestSequence.map { $0 + 1 })
    }
  }

  /// Settles which of the segments that are lost, or a part of which is, nothing names the records of.
  mutating func noteUnnamedLosses(beside checkpoint: CheckpointHead?) {
    for number in lossy.sorted() where checkpoint.map({ isKnown(number, to: $0) }) != true {
      noteUnnamedLoss(in: number)
    }
  }

  /// Nothing says which records a segment lost: every record that is older may have been changed or removed there.
  mutating func noteUnnamedLoss(in number: UInt32, below bound: UInt64? = nil) {
    report.unnamedLosses.insert(number)
    // A log segment's first sequence number is above all that was in the store when it was created.
    let later = survey.segments.values.filter { $0.header.kind.isLog && $0.number > number }
    let below = bound ?? later.map(\.header.firstSequence).min() ?? nextSequence
    report.staleBelow = max(report.staleBelow, below)
  }

  /// The segment that the floor lies in, where it is not there and no live set names it: the next one does, so that its loss
  /// is known for good. Nothing of a file that may come back under its number is taken for it.
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
    return max(survey.highestNumber, report.floor.segment, named.max() ?? 0)
  }

  /// Line 2: the log in order, with the ends that recovered segments gave to their sources.
  private mutating func arrangeLog() throws(StorageError) {
    let all = survey.segments.values.filter { $0.header.kind.isLog }.sorted { $0.number < $1.number }
    var keptByteCounts: [UInt32: Int] = [:]
    for segment in all where segment.header.kind == .recovered {
      for source in segment.header.sources where source.segment < segment.number {
        keptByteCounts[source.segment] = source.keptByteCount
      }
    }
    for segment in all {
      guard let kept = keptByteCounts[segment.number] else {
        log.append(LogSegment(found: segment, end: segment.byteCount, isCut: false))
        continue
      }
      if kept == 0 {
        gone.insert(segment.number)
      } else {
        // Cut and finished already, it is read like any other; until then it ends where it was cut. As long as nothing
        // follows the recovered segment, finishing may have been interrupted; afterwards a trailer is enough, and it
        // stands against a recovered segment that is not this store's.
        let isUncertain = all.last?.header.sources.contains { $0.segment == segment.number } ?? false
        var isFinished = segment.hasTrailer
        if isUncertain {
          isFinished = segment.trailer?.footerOffset == kept
          if isFinished { isFinished = try segment.hasSoundFooter() }
        }
        log.append(
          LogSegment(
            found: segment, end: isFinished ? segment.byteCount : min(kept, segment.byteCount),
            isCut: !isFinished))
      }
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
