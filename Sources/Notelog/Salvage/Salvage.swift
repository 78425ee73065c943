// Saving what can be read of a store that is past opening: docs/maintenance.md, "Salvage".

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Journal {
  /// Copies everything that can be read of a pile of segments into a new store's journal.
  ///
  /// The pile may lack segments, have them twice or damaged, without headers or under other names. Each
  /// record is saved in its newest version; what was deleted stays deleted. The pile is only read.
  ///
  /// - Parameters:
  ///   - source: The folder with the pile.
  ///   - target: The folder of a store that is being made: there is no segment in it yet.
  ///   - storeID: The store to salvage, where the pile holds several; otherwise the one that most bytes
  ///     belong to.
  ///   - keepsPossiblyStale: Whether a record whose newest version is lost is saved in an older one.
  ///   - options: As for creating the new store.
  ///   - progress: Told how far it has come, after each file.
  /// - Returns: What was saved and what could not be, place by place.
  /// - Throws: `notFound` where nothing says which store it is; `alreadyExists`, `busy`, `full`, `inputOutput`
  ///   of the target; `cancelled`.
  static func salvage(
    from source: any Storage, to target: any Storage, storeID: ID16? = nil,
    keepsPossiblyStale: Bool = false, options: JournalOptions = JournalOptions(),
    progress: @escaping WorkProgress.Report = { _, _ in true }
  ) throws(NotelogError) -> SalvageSummary {
    let lock = try takeLock(target)
    defer { lock.close() }
    // The last look before files are renamed over what is there.
    guard try fromStorage(FolderNames(target)).numbers.isEmpty else {
      throw NotelogError(.alreadyExists, "there is a store here already")
    }
    var report = SalvageSummary()
    let pile = try SalvagePile(source, storeID: storeID, &report)
    var salvage = Salvage(
      target: target, options: options, keepsPossiblyStale: keepsPossiblyStale, pile: pile, report: report)
    return try salvage.run(progress)
  }
}

// MARK: - Saves what can be read of a pile of segments: docs/maintenance.md, "Salvage".

/// Two passes over the files: the first finds out where each record's newest version is, the second copies
/// it.
struct Salvage {
  let target: any Storage
  let options: JournalOptions
  /// Whether a record whose newest version is lost is saved in an older one.
  let keepsPossiblyStale: Bool

  fileprivate var pile: SalvagePile
  fileprivate var report: SalvageSummary
  fileprivate var table = SalvageTable()
  fileprivate var nextSequence: UInt64 = 1
  /// Where frames were, by segment, and under nil in files that nobody knows the number of: what they held
  /// may be newer than anything.
  fileprivate var lost: [UInt32?: [Range<Int>]] = [:]
  /// The number of the segment that is written next, and those that were.
  fileprivate var number: UInt32 = 1
  fileprivate var live = LiveSet()
  /// The large values that saved records refer to, by a record of each.
  fileprivate var values: [ID16: ID16] = [:]

  mutating func run(_ told: @escaping WorkProgress.Report) throws(NotelogError) -> SalvageSummary {
    report.store = pile.storeID
    // Each byte is read at least twice, and most are written once.
    var progress = WorkProgress(total: pile.files.reduce(0) { $0 + 3 * $1.byteCount }, told)
    for file in pile.files {
      try fromStorage(pile.hearMarks(of: file))
      try progress.advance(by: file.byteCount)
    }
    raiseSequence(to: pile.witnesses.nextSequence)
    try scanAll(&progress)
    for number in pile.missing {
      lost[number, default: []].append(0..<FormatLimits.maximumSegmentByteCount)
      if !pile.unopened.contains(number) { report.add(Finding(.missingSegment, segment: number)) }
    }
    let witness = lost.isEmpty ? nil : SalvageWitness(of: pile, lost)
    if !lost.isEmpty, witness?.covers(lost) != true { report.possiblyStaleBelow = nextSequence }
    let survivors = chooseSurvivors(witness)
    table.forgetRecords()
    try write(survivors, &progress)
    for file in pile.files {
      for range in file.file.unreadable { report.add(.unreadableBytes, in: file, range) }
    }
    return report
  }

  /// Finds out what there is of each record.
  private mutating func scanAll(_ progress: inout WorkProgress) throws(NotelogError) {
    for (index, file) in pile.files.enumerated() where !file.isReplaced {
      try fromStorage(scan(file, index))
      try progress.advance(by: file.byteCount)
    }
    for (index, file) in pile.files.enumerated() where !file.isReplaced {
      try fromStorage(readFooter(file, index))
    }
    // What was replaced comes last: it only stands in for what the others should have.
    for (index, file) in pile.files.enumerated() {
      try fromStorage(scanReplaced(file, index))
      if file.isReplaced { try progress.advance(by: file.byteCount) }
    }
  }

  private mutating func scan(_ file: SalvageFile, _ index: Int) throws(StorageError) {
    var scan = SalvageScan(
      file: file, index: index, floor: pile.floor, isReplaced: false, walk: file.walk(to: file.keptByteCount))
    try scan.run(&table, &report)
    report.files.append(file.name)
    raiseSequence(to: max(scan.highestSequence + 1, file.header?.firstSequence ?? 0))
    if let byteCount = pile.expectedByteCount(of: file) {
      // What has room for a mark only may be the beginning of a frame: where it was cut, nobody knows.
      lost[file.number, default: []].append((scan.rest ?? file.byteCount)..<byteCount)
      report.add(.lostFrames, in: file, file.byteCount..<byteCount)
    }
    if !scan.lost.isEmpty { lost[file.number, default: []] += scan.lost }
  }

  private mutating func raiseSequence(to next: UInt64) {
    nextSequence = min(max(nextSequence, next), UInt64(FormatLimits.maximumSequence))
  }

  /// What was replaced, or cut: its frames stand in where others are damaged.
  private mutating func scanReplaced(_ file: SalvageFile, _ index: Int) throws(StorageError) {
    let start = file.isReplaced ? Layout.firstFrameOffset : file.keptByteCount
    guard start < file.byteCount else { return }
    let walk = file.walk(from: min(aligned(start), file.byteCount))
    var scan = SalvageScan(file: file, index: index, floor: pile.floor, isReplaced: true, walk: walk)
    try scan.run(&table, &report)
    raiseSequence(to: scan.highestSequence + 1)
    if file.isReplaced { report.files.append(file.name) }
  }

  /// A footer names frames that may be gone altogether.
  private mutating func readFooter(_ file: SalvageFile, _ index: Int) throws(StorageError) {
    guard let trailer = file.trailer, file.keptByteCount >= trailer.footerOffset else { return }
    var reader = file.reader()
    _ = try reader.forEachFooterEntry(trailer, evenIfIncomplete: true) { entry, _ in
      guard entry.kind.isVersion else { return }
      table.add(entry.id, SalvageTable.Version(entry, in: index, isSound: false), isReplaced: false)
    }
  }

  /// Which frames are saved, in the order of the files; and what is lost.
  private mutating func chooseSurvivors(_ witness: SalvageWitness?) -> [SalvageTable.Place] {
    var survivors: [SalvageTable.Place] = []
    var knownCount = 0
    for id in table.ids {
      let entry = table.entry(id)
      let known = entry.newest ?? entry.sound
      var lostPlace = known.flatMap { witness?.lostPlace(of: id, olderThan: $0) }
      if let lostPlace, !lostPlace.isTombstone { knownCount += 1 }
      // What is lost there may be what is known: a footer lists it, and another file may stand in for it.
      if let newest = entry.newest, place(of: newest) == lostPlace { lostPlace = nil }
      guard let newest = entry.newest else {
        // Only what was replaced has it: it was deleted since, unless that is what is lost.
        if let lostPlace, !lostPlace.isTombstone { noteLost(id, nil, at: lostPlace) }
        if report.possiblyStaleBelow > 0 || lostPlace?.isTombstone == false {
          keepOlder(id, entry.sound, &survivors)
        }
        continue
      }
      if lostPlace?.isTombstone ?? newest.place.isTombstone {
        report.deletedCount += 1
      } else if lostPlace == nil, let sound = entry.sound, sound.sequence == newest.sequence {
        survivors.append(sound.place)
      } else {
        noteLost(id, newest, at: lostPlace)
        keepOlder(id, entry.sound, &survivors)
      }
    }
    report.unnamedRecordCount = max(0, (witness?.lostRecordCount ?? 0) - knownCount)
    report.olderVersions.sort { $0.bytes < $1.bytes }
    survivors.sort { $0.bits < $1.bits }
    return survivors
  }

  private func place(of version: SalvageTable.Version) -> FrameAddress? {
    pile.files[Int(version.place.segment)].number.map {
      FrameAddress(segment: $0, offset: version.place.offset, isTombstone: version.place.isTombstone)
    }
  }

  /// Notes a record whose newest frame is lost: where the checkpoint says that it was, or where a file names
  /// it.
  private mutating func noteLost(
    _ id: ID16, _ newest: SalvageTable.Version?, at lostPlace: FrameAddress?
  ) {
    if let lostPlace {
      report.add(Finding(.record, segment: lostPlace.segment, offset: lostPlace.offset, record: id))
    } else if let newest {
      let start = newest.place.offset
      let byteCount = aligned(Layout.frameHeaderByteCount + Int(newest.payloadByteCount))
      report.add(
        .record, in: pile.files[Int(newest.place.segment)], start..<start + byteCount, record: id)
    }
  }

  private mutating func keepOlder(
    _ id: ID16, _ sound: SalvageTable.Version?, _ survivors: inout [SalvageTable.Place]
  ) {
    guard keepsPossiblyStale, let sound, !sound.place.isTombstone else { return }
    survivors.append(sound.place)
    report.olderVersions.append(RecordID(id))
  }
}

// MARK: - Reads one file of a pile frame by frame, past anything broken: docs/maintenance.md, "Salvage".

/// Finds the frames of a file that happened.
struct SalvageScan: ~Copyable {
  fileprivate let file: SalvageFile
  fileprivate let index: Int
  fileprivate let floor: LogPosition
  /// Whether the frames only stand in for others.
  fileprivate let isReplaced: Bool
  fileprivate var walk: SegmentWalk
  /// Frames that wait for their transaction's commit mark, and whether they are whole.
  fileprivate var pending: [(entry: FooterEntry, isWhole: Bool)] = []
  fileprivate var sawMark = false
  fileprivate var highestSequence: UInt64 = 0
  /// Where frames were that can't be read.
  fileprivate var lost: [Range<Int>] = []
  /// Where the last bytes begin that are no frame; nothing where there are none.
  fileprivate var rest: Int?

  /// Goes through the frames.
  mutating func run(
    _ table: inout SalvageTable, _ report: inout SalvageSummary
  ) throws(StorageError) {
    while true {
      let header = try walk.advance()
      if header == nil { rest = walk.lost?.range.lowerBound }
      if let gap = walk.lost, gap.mayHoldContent(in: file.header?.kind ?? .compacted) {
        let isUnused = header == nil ? try isUnused(gap.range) : false
        if !isUnused { lose(gap.range, &report) }
      }
      guard let header, header.kind != .footer else { break }
      highestSequence = max(highestSequence, header.sequence)
      try add(header, &table, &report)
    }
    let isAllCopies = file.header == nil && !sawMark
    endTransaction(
      isCommitted: isAllCopies || happened(at: pending.first?.entry.offset ?? walk.place), &table, &report)
  }

  /// Whether the last bytes are zeros of a segment that was being written: space that was promised and not
  /// used.
  private mutating func isUnused(_ range: Range<Int>) throws(StorageError) -> Bool {
    let isAboveFloor =
      file.number.map { LogPosition(segment: $0, offset: range.lowerBound) >= floor } ?? true
    guard file.trailer == nil, isAboveFloor else { return false }
    return try walk.reader.isZero(from: range.lowerBound)
  }

  /// Whether a frame at a place happened whatever became of its commit mark.
  private func happened(at place: Int) -> Bool {
    file.isFinished || file.number.map { LogPosition(segment: $0, offset: place) < floor } ?? false
  }

  private mutating func lose(_ range: Range<Int>, _ report: inout SalvageSummary) {
    lost.append(range)
    if !isReplaced { report.add(.lostFrames, in: file, range) }
  }

  private mutating func add(
    _ header: FrameHeader, _ table: inout SalvageTable, _ report: inout SalvageSummary
  ) throws(StorageError) {
    let frame = try walk.entry(of: header, checkingPayload: true)
    let mayGoOn = header.kind.isInTransaction || header.kind == .commit
    if let first = pending.first?.entry, first.sequence != header.sequence || !mayGoOn {
      // Another transaction begins: the mark of the one before is lost.
      endTransaction(isCommitted: happened(at: first.offset), &table, &report)
    }
    switch header.kind {
    case .record, .tombstone, .chunk, .liveChange:
      if file.isCompacted { keep(frame, &table) } else { pending.append(frame) }
    case .commit:
      sawMark = true
      let mark =
        frame.isWhole ? CommitMark(payload: try walk.reader.payload(of: header, at: walk.place)) : nil
      let start = pending.first?.entry.offset
      let isComplete =
        mark?.frameCount == pending.count && start != nil && start == mark?.firstOffset
        && pending.allSatisfy(\.isWhole)
      endTransaction(isCommitted: isComplete || happened(at: start ?? walk.place), &table, &report)
    case .liveSet, .close:
      sawMark = true
    case .footer:
      break
    }
  }

  /// Keeps the frames that wait, or says that they never happened for certain.
  private mutating func endTransaction(
    isCommitted: Bool, _ table: inout SalvageTable, _ report: inout SalvageSummary
  ) {
    guard let first = pending.first?.entry, let last = pending.last?.entry else { return }
    let frames = pending
    pending.removeAll(keepingCapacity: true)
    guard isCommitted else {
      if !isReplaced { report.add(.uncommitted, in: file, first.offset..<last.offset + last.frameByteCount) }
      return
    }
    for frame in frames { keep(frame, &table) }
  }

  private func keep(_ frame: (entry: FooterEntry, isWhole: Bool), _ table: inout SalvageTable) {
    let version = SalvageTable.Version(frame.entry, in: index, isSound: frame.isWhole)
    switch frame.entry.kind {
    case .record, .tombstone:
      table.add(frame.entry.id, version, isReplaced: isReplaced)
    case .chunk:
      if let mark = frame.entry.chunk {
        table.add(chunk: mark.number, isLast: mark.isLast, of: frame.entry.id, at: version.place)
      }
    case .liveChange, .commit, .liveSet, .close, .footer: break
    }
  }
}

// MARK: - Writes what was salvaged into a new store: docs/maintenance.md, "Salvage".

extension Salvage {
  /// Copies frames into compacted segments, and ends them with a segment of the log that makes them a store.
  private mutating func write(
    _ survivors: [SalvageTable.Place], _ progress: inout WorkProgress
  ) throws(NotelogError) {
    // What is saved begins a history of its own.
    let branch = options.newBranch()
    try copy(survivors, branch, &progress)
    let chunks = values.keys.flatMap { table.chunks[$0, default: [:]].values }.sorted { $0.bits < $1.bits }
    noteMissingChunks()
    try copy(chunks, branch, &progress)
    try fromStorage(writeLogSegment(branch))
  }

  /// Copies frames, each checked once more, into as many segments as they take.
  private mutating func copy(
    _ places: [SalvageTable.Place], _ branch: Branch, _ progress: inout WorkProgress
  ) throws(NotelogError) {
    var next = 0
    while next < places.count {
      let byteCountBefore = report.byteCount
      next = try fromStorage(copySegment(places, from: next, branch))
      try progress.advance(by: report.byteCount - byteCountBefore)
    }
  }

  /// Fills one segment.
  ///
  /// - Returns: The index of the first place that is not in it.
  private mutating func copySegment(
    _ places: [SalvageTable.Place], from first: Int, _ branch: Branch
  ) throws(StorageError) -> Int {
    let salt = options.random()
    let aim = options.segmentByteCount ?? SegmentSize.largest
    var builder = try SegmentBuilder(in: target, number: number, salt: salt)
    var next = first
    do throws(StorageError) {
      while next < places.count, builder.end < aim {
        let index = Int(places[next].segment)
        let file = pile.files[index]
        var reader = file.reader()
        while next < places.count, Int(places[next].segment) == index, builder.end < aim {
          try copy(places[next], from: file, &reader, to: &builder)
          next += 1
        }
      }
    } catch {
      builder.abandon()
      throw error
    }
    let header = SegmentHeader(
      .compacted, number: number, storeID: pile.storeID, branch: branch, salt: salt, firstSequence: 0,
      floor: .zero, live: LiveSet())
    live.insert(try builder.publish { _ in header })
    number += 1
    return next
  }

  private mutating func copy(
    _ place: SalvageTable.Place, from file: SalvageFile, _ reader: inout SegmentReader,
    to builder: inout SegmentBuilder
  ) throws(StorageError) {
    let offset = place.offset
    guard let header = try reader.wholeFrame(at: offset) else {
      // It was sound a moment ago: the medium is failing under us.
      report.add(.unreadableBytes, in: file, offset..<offset + Layout.frameHeaderByteCount)
      return
    }
    let payload = try reader.payload(of: header, at: offset)
    if header.kind == .record {
      for value in Envelope.values(inPayload: payload, of: header) { values[value] = header.id }
    }
    try builder.append(header, payload)
    if header.kind == .record { report.recordCount += 1 } else { report.chunkCount += 1 }
    report.byteCount += header.frameByteCount
  }

  /// A value is whole if its chunks run from 0 to the one that says it is the last.
  private mutating func noteMissingChunks() {
    for (value, record) in values.sorted(by: { $0.key < $1.key }) {
      let last = table.lastChunks[value]
      let isWhole = last.map { last in (0...last).allSatisfy { table.chunks[value]?[$0] != nil } }
      if isWhole != true { report.add(.largeValue, in: nil, record: record) }
    }
  }

  /// The segment that appending will go on in. It is what makes the segments before it a store, so it comes
  /// last.
  private func writeLogSegment(_ branch: Branch) throws(StorageError) {
    let header = SegmentHeader(
      .log, number: number, storeID: pile.storeID, branch: branch, salt: options.random(),
      firstSequence: nextSequence,
      floor: LogPosition(segment: number, offset: Layout.firstFrameOffset), live: live)
    try target.replaceWhole(FileName.segment(number), with: header.start(live: live).bytes.array())
  }
}
