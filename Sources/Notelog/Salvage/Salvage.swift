// Saves what can be read of a pile of segments: docs/maintenance.md, "Salvage".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Two passes over the files: the first finds out where each record's newest version is, the second copies it.
struct Salvage {
  let source: any Storage
  let target: any Storage
  let options: JournalOptions
  /// Whether a record whose newest version is lost is saved in an older one.
  let keepsPossiblyStale: Bool

  private var report = SalvageSummary()
  private var table = SalvageTable()
  private var nextSequence: UInt64 = 1
  /// Where frames were: what they held may be newer than anything.
  private var lost = LostPlaces()

  init(from source: any Storage, to target: any Storage, options: JournalOptions, keepsPossiblyStale: Bool) {
    self.source = source
    self.target = target
    self.options = options
    self.keepsPossiblyStale = keepsPossiblyStale
  }

  mutating func run(
    storeID: ID16?, _ told: @escaping WorkProgress.Report
  ) throws(NotelogError) -> SalvageSummary {
    var pile = try SalvagePile(source, storeID: storeID, &report)
    report.store = pile.storeID
    // Each byte is read at least twice, and most are written once.
    let byteCount = pile.files.reduce(0) { $0 + $1.byteCount }
    var progress = WorkProgress(total: 3 * byteCount, told)
    for file in pile.files {
      let floor = try fromStorage(Self.witnessedFloor(in: file))
      pile.floor = max(pile.floor, floor)
      try progress.advance(by: file.byteCount)
    }
    try scanAll(pile, &progress)
    for number in pile.missing {
      lost.add(segment: number)
      if !pile.unopened.contains(number) {
        report.add(SalvageSummary.Loss(.missingSegment, in: nil, segment: number))
      }
    }
    let witness =
      lost.isEmpty
      ? nil : try fromStorage { () throws(StorageError) in try SalvageWitness(in: source, of: pile, lost) }
    if !lost.isEmpty, witness?.covers(lost) != true { report.staleBelow = nextSequence }
    let survivors = chooseSurvivors(pile, witness)
    table.forgetRecords()
    var writer = SalvageWriter(to: target, storeID: pile.storeID, options: options, pile: pile)
    try writer.write(survivors, table, nextSequence: nextSequence, &report, &progress)
    noteUnreadable(pile)
    for file in pile.files { file.file.close() }
    return report
  }

  /// Finds out what there is of each record.
  private mutating func scanAll(
    _ pile: SalvagePile, _ progress: inout WorkProgress
  ) throws(NotelogError) {
    for (index, file) in pile.files.enumerated() where !file.isReplaced {
      try fromStorage(scan(file, index, pile))
      try progress.advance(by: file.byteCount)
    }
    for (index, file) in pile.files.enumerated() where !file.isReplaced {
      try fromStorage(readFooter(file, index))
    }
    // What was replaced comes last: it only stands in for what the others should have.
    for (index, file) in pile.files.enumerated() {
      try fromStorage(scanReplaced(file, index, pile.floor))
      if file.isReplaced { try progress.advance(by: file.byteCount) }
    }
  }

  /// The highest floor that commit and close marks in a file name.
  static func witnessedFloor(in file: SalvageFile) throws(StorageError) -> LogPosition {
    guard !file.isCompacted, file.trailer == nil else { return .zero }
    var floor = LogPosition.zero
    var reader = file.reader()
    var place = Layout.firstFrameOffset
    while let (next, header) = try reader.nextFrame(from: place) {
      if let position = try reader.witness(header, at: next) { floor = max(floor, position) }
      place = next + header.frameByteCount
    }
    return floor
  }

  private mutating func scan(_ file: SalvageFile, _ index: Int, _ pile: SalvagePile) throws(StorageError) {
    var scan = SalvageScan(
      file, index: index, floor: pile.floor, isReplaced: false, limit: file.keptByteCount)
    try scan.run(from: Layout.firstFrameOffset, &table, &report)
    report.files.append(file.name)
    raiseSequence(above: scan.highestSequence)
    nextSequence = max(nextSequence, file.header?.firstSequence ?? 0)
    if let byteCount = pile.expectedByteCount(of: file) {
      lost.add(file.byteCount..<byteCount, in: file.number)
      report.add(.lostFrames, in: file, file.byteCount..<byteCount)
    }
    for range in scan.lost { lost.add(range, in: file.number) }
  }

  private mutating func raiseSequence(above sequence: UInt64) {
    nextSequence = min(max(nextSequence, sequence + 1), UInt64(FormatLimits.maximumSequence))
  }

  /// What was replaced, or cut: its frames stand in where others are damaged.
  private mutating func scanReplaced(
    _ file: SalvageFile, _ index: Int, _ floor: LogPosition
  ) throws(StorageError) {
    let start = file.isReplaced ? Layout.firstFrameOffset : file.keptByteCount
    guard start < file.byteCount else { return }
    var scan = SalvageScan(file, index: index, floor: floor, isReplaced: true, limit: file.byteCount)
    try scan.run(from: aligned(start), &table, &report)
    raiseSequence(above: scan.highestSequence)
    if file.isReplaced { report.files.append(file.name) }
  }

  /// A footer names frames that may be gone altogether.
  private mutating func readFooter(_ file: SalvageFile, _ index: Int) throws(StorageError) {
    guard let trailer = file.trailer, file.keptByteCount >= trailer.footerOffset else { return }
    var reader = file.reader()
    _ = try reader.forEachFooterEntry(trailer, evenIfIncomplete: true) { entry, _ in
      guard entry.kind.isVersion else { return }
      table.know(
        entry.id,
        SalvageTable.Version(
          sequence: entry.sequence, isTombstone: entry.kind == .tombstone,
          place: SalvageTable.Place(file: Int32(index), offset: UInt32(entry.offset)),
          payloadByteCount: UInt32(entry.payloadByteCount)))
    }
  }

  /// Which frames are saved, in the order of the files; and what is lost.
  private mutating func chooseSurvivors(
    _ pile: SalvagePile, _ witness: SalvageWitness?
  ) -> [SalvageTable.Place] {
    var survivors: [SalvageTable.Place] = []
    var knownCount = 0
    for id in table.ids {
      let entry = table.entry(id)
      let known = entry.newest ?? entry.sound
      var lostPlace = known.flatMap { witness?.lostPlace(of: id, olderThan: $0) }
      if let lostPlace, !lostPlace.isTombstone { knownCount += 1 }
      // What is lost there may be what is known: a footer lists it, and another file may stand in for it.
      if let newest = entry.newest, place(of: newest, pile) == lostPlace { lostPlace = nil }
      guard let newest = entry.newest else {
        // Only what was replaced has it: it was deleted since, unless that is what is lost.
        if let lostPlace, !lostPlace.isTombstone { noteLost(id, nil, at: lostPlace, pile) }
        if report.staleBelow > 0 || lostPlace?.isTombstone == false { keepOlder(id, entry, &survivors) }
        continue
      }
      if lostPlace?.isTombstone ?? newest.isTombstone {
        report.deletedCount += 1
      } else if lostPlace == nil, let sound = entry.sound, sound.sequence == newest.sequence {
        survivors.append(sound.place)
      } else {
        noteLost(id, newest, at: lostPlace, pile)
        keepOlder(id, entry, &survivors)
      }
    }
    report.unnamedRecordCount = max(0, (witness?.lostRecordCount ?? 0) - knownCount)
    report.olderVersions.sort { $0.bytes < $1.bytes }
    survivors.sort()
    return survivors
  }

  private func place(of version: SalvageTable.Version, _ pile: SalvagePile) -> FrameAddress? {
    pile.files[Int(version.place.file)].number.map {
      FrameAddress(segment: $0, offset: Int(version.place.offset), isTombstone: version.isTombstone)
    }
  }

  /// Notes a record whose newest frame is lost: where the checkpoint says that it was, or where a file names it.
  private mutating func noteLost(
    _ id: ID16, _ newest: SalvageTable.Version?, at lostPlace: FrameAddress?, _ pile: SalvagePile
  ) {
    if let lostPlace {
      report.add(
        SalvageSummary.Loss(
          .record, in: nil, lostPlace.offset..<lostPlace.offset, segment: lostPlace.segment, record: id))
    } else if let newest {
      let start = Int(newest.place.offset)
      let byteCount = aligned(Layout.frameHeaderByteCount + Int(newest.payloadByteCount))
      report.add(
        .record, in: pile.files[Int(newest.place.file)], start..<start + byteCount, record: id)
    }
  }

  private mutating func keepOlder(
    _ id: ID16, _ entry: SalvageTable.Entry, _ survivors: inout [SalvageTable.Place]
  ) {
    guard keepsPossiblyStale, let sound = entry.sound, !sound.isTombstone else { return }
    survivors.append(sound.place)
    report.olderVersions.append(RecordID(id))
  }

  private mutating func noteUnreadable(_ pile: SalvagePile) {
    for file in pile.files {
      for range in file.file.unreadable { report.add(.unreadableBytes, in: file, range) }
    }
  }
}
