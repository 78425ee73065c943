// One round of shipping: puts what an archive lacks of a store. FORMAT.md §26.

import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

/// One round. What is in the archive is never changed: damage takes the place of nothing.
struct ShippingRound {
  let storage: any Storage
  let archive: any Archive
  let checksAll: Bool
  /// Whether the archive was listed for this round: what it has of the head is then held against it.
  let isListed: Bool
  let now: UInt64
  let report: WorkProgress.Report
  private(set) var listing: ArchiveListing
  private(set) var summary: ShippingSummary
  private(set) var keyringGeneration: UInt64 = 0
  /// Whether archive and store have parted ways.
  private(set) var hasParted = false
  /// Pieces that were damaged when they were put.
  private var damagedPieces: Set<ArchivedObject> = []

  init(
    _ storage: any Storage, to archive: any Archive, _ listing: ArchiveListing?, hasGap: Bool,
    checksAll: Bool,
    now: UInt64, _ report: @escaping WorkProgress.Report
  ) throws(NotelogError) {
    (self.storage, self.archive, self.checksAll) = (storage, archive.openedOnce, checksAll)
    (isListed, self.now, self.report) = (listing == nil, now, report)
    summary = ShippingSummary(hasGap: hasGap)
    self.listing = if let listing { listing } else { try ArchiveListing(archive) }
  }

  /// Ships what there is.
  mutating func run() throws(NotelogError) {
    var attempts = ReadingAttempts(of: storage)
    while true {
      try attempts.begin()
      summary = ShippingSummary(hasGap: summary.hasGap)
      // A schema is in the log before the keyring counts it, and a key is in the keyring before the log needs it:
      // the keyring goes with the log where it is the same before and after.
      let keyrings = KeyringFiles(storage: storage)
      let before = keyrings.read().newest
      let examination = try Examination.stable(storage)
      guard let newest = examination.newest else {
        throw NotelogError(.damaged, "no segment of the log is whole; salvage what there is")
      }
      let keyring = keyrings.read(of: examination.storeID)
      guard keyring.newest == before || before?.storeID != examination.storeID else { continue }
      try claim(for: examination.storeID)
      // What was read may not be durable yet; an archive must not be ahead of it.
      try fromStorage(examination.synchronize(in: storage))
      summary.findings = examination.report.damages
      let next = max(1, try fromStorage(examination.nextVisible()))
      if let finding = try fromStorage(parting(examination, newest, next)) { return notePartedWays(finding) }
      var progress = WorkProgress(
        total: examination.live.entries.reduce(examination.end.offset) { $0 + $1.byteCount }, report)
      // What the log speaks of comes before it.
      try put(examination, isLog: false, &progress)
      try put(keyring)
      try put(examination, isLog: true, &progress)
      if hasParted { return }
      guard let head = head(of: examination) else {
        summary.revision = next - 1
        return
      }
      let pieces = pieces(of: head)
      let last = checksAll || isListed ? 0 : pieces.last?.range.upperBound ?? 0
      let end = examination.end.offset
      summary.findings.add(try fromStorage(damages(of: head, min(last, end)..<end)))
      // A recovery may have cut the log meanwhile.
      guard attempts.accept(summary.findings.isEmpty ? "" : "\(summary.findings)") else { continue }
      try putPiece(of: head, behind: pieces, to: end, next: next)
      summary.revision = next - 1
      return
    }
  }

  private mutating func notePartedWays(_ finding: Finding) {
    hasParted = true
    summary.findings.append(finding)
  }

  // MARK: - Whose archive it is

  /// Makes sure that the archive is of this store.
  private mutating func claim(for storeID: ID16) throws(NotelogError) {
    let name = ArchivedObject.store(storeID)
    let folder = (archive as? FolderArchive)?.storage
    guard listing.stores.allSatisfy({ $0 == name }) else {
      throw NotelogError(.alreadyExists, "the archive is of another store").naming(folder?.path ?? "")
    }
    if !listing.stores.isEmpty {
      // Where a disk was taken away, the folder below it is another one.
      do throws(StorageError) { try folder?.openFile(name, .read).close() } catch {
        guard error.isMissing else { throw NotelogError(error) }
        throw NotelogError(.inputOutput, "the archive is not there any more: is its disk in place?")
      }
      return
    }
    if let folder {
      let names = try fromStorage(folder.names(in: ""))
      guard names.allSatisfy({ $0 == name || ArchivedObject(name: $0) != nil || FolderArchive.isPartial($0) })
      else {
        throw NotelogError(.alreadyExists, "the folder holds something else than an archive")
          .naming(folder.path)
      }
    }
    try put(name, try fromStorage(ArchiveContents(MemoryFile([]))))
    listing.stores.append(name)
  }

  /// Why the archive and the store have parted ways; nothing where they have not. Whether moments between may be
  /// missing, is noted.
  private mutating func parting(
    _ examination: Examination, _ newest: FoundSegment, _ next: UInt64
  ) throws(StorageError) -> Finding? {
    let prefix = newest.header.branchPrefix
    guard let branch = listing.branches.first(where: { $0.prefix == prefix }) else { return nil }
    let own = examination.survey.segments
    let logs = examination.log.filter { $0.header.branchPrefix == prefix }
    var parted: Finding?
    for object in branch.segments.flatMap(\.objects) {
      let number = UInt32(object.number)
      let isLater = object.end.nextSequence > next
      let isOther = own[number].map { $0.header.branchPrefix == prefix && $0.header.salt != object.salt }
      // What came behind it here begins where it ended.
      let follower = logs.first { $0.number > number && $0.header.kind == .log }
      guard
        isLater || isOther ?? false || number > newest.number
          || object.end.nextSequence > follower?.header.firstSequence ?? .max, object.isSound(in: archive)
      else { continue }
      if isLater { return Finding(.endsBeforeArchive, segment: newest.number) }
      parted = parted ?? Finding(.partedFromArchive, segment: number)
    }
    if let parted { return parted }
    if try hasGap(behind: branch, logs) { summary.hasGap = true }
    guard isListed, let head = head(of: examination),
      // What does not check is damage, and no other history.
      try head.areUnits(0..<examination.end.offset)
    else { return nil }
    return try otherHistory(of: head, to: examination.end.offset)
  }

  /// Whether transactions between what the archive has and the log's segments are in none of them.
  private func hasGap(
    behind branch: ArchiveListing.LogBranch, _ logs: [FoundSegment]
  ) throws(StorageError) -> Bool {
    var next = branch.nextSequence
    let number = branch.segments.last?.number ?? 0
    for log in logs where log.number >= number {
      if log.number > number, log.header.kind == .log, log.header.firstSequence > next { return true }
      // How far the head goes does not matter.
      if log.number != logs.last?.number { next = max(next, try LogPoint(log).nextSequence) }
    }
    return false
  }

  /// A piece in the archive that is of another history than a segment that is whole.
  private mutating func otherHistory(of found: FoundSegment, to end: Int) throws(StorageError) -> Finding? {
    let differing = try listedPieces(of: found).differing(from: found, to: end, in: archive)
    damagedPieces.formUnion(differing.map(\.piece))
    return differing.first(where: \.isOtherHistory).map {
      Finding(.partedFromArchive, segment: found.number, offset: $0.piece.range.lowerBound)
    }
  }

  // MARK: - Segments

  /// Puts the finished segments that the archive lacks, those of the log or the compacted ones, in order of their
  /// numbers.
  private mutating func put(
    _ examination: Examination, isLog: Bool, _ progress: inout WorkProgress
  ) throws(NotelogError) {
    let live = examination.live
    var entries = live.entries
    // What was replaced belongs to moments before; output that was never published to none.
    for found in examination.survey.segments.values where live[found.number] == nil {
      let sources = found.header.sources.map(\.segment)
      let isPublished = found.header.kind.isLog || !sources.allSatisfy { live[$0] != nil }
      if isPublished, let entry = found.entry { entries.append(entry) }
    }
    for entry in entries.sorted(by: { $0.number < $1.number }) where !hasParted {
      let found = examination.survey.segments[entry.number]
      guard found?.header.kind.isLog ?? false == isLog else { continue }
      let isLive = live[entry.number] == entry
      if isLive { try progress.advance(by: entry.byteCount) }
      let there = listing.whole(entry)
      if there.isEmpty || checksAll && isLive && !there.contains(where: { $0.isSound(in: archive) }) {
        try put(entry, found, examination, isLive: isLive)
      } else if isLive {
        summary.keptSegments += 1
      }
    }
  }

  /// Puts a finished segment: mended from its pieces where it does not check, or else as damage.
  private mutating func put(
    _ entry: LiveEntry, _ found: FoundSegment?, _ examination: Examination, isLive: Bool
  ) throws(NotelogError) {
    var file: SplicedFile
    var contents: ArchiveContents
    var damages: [Finding]
    do throws(StorageError) {
      file = try self.file(of: entry, found, examination)
      // The checksum first: what is put is what was verified.
      contents = try ArchiveContents(file)
      damages = try Self.damages(of: file, as: entry)
      if !damages.isEmpty {
        guard isLive else { return }
        // What is missing was found before.
        if contents.byteCount > 0 { summary.findings.add(damages) }
        file = try mended(file, entry)
        contents = try ArchiveContents(file)
        damages = try Self.damages(of: file, as: entry)
      }
    } catch { throw NotelogError(error) }
    if damages.isEmpty { return try putWhole(entry, contents) }
    guard listing.whole(entry).isEmpty, contents.byteCount > 0 else { return }
    try put(
      ArchivedObject(
        damaged: entry.number, salt: entry.salt, byteCount: contents.byteCount, checksum: contents.checksum),
      contents)
  }

  /// What there is of a finished segment, however damaged.
  private func file(
    of entry: LiveEntry, _ found: FoundSegment?, _ examination: Examination
  ) throws(StorageError) -> SplicedFile {
    var source = found?.header.salt == entry.salt ? found?.file : nil
    let isUnreadable = examination.survey.unreadable.contains(entry.number)
    if isUnreadable || examination.survey.foreign.contains(entry.number) {
      // Frames may be left in it.
      source = try storage.openFile(FileName.segment(entry.number), .read)
    }
    var footer = Buffer()
    // A source that its recovery has not cut yet is shipped as it will be.
    let cut = try examination.cutEnd(of: entry, footer: &footer)
    let byteCount = min(cut ?? entry.byteCount, try source?.byteCount() ?? 0)
    let start = source.map { ForgivingFile($0, byteCount: byteCount) as any StorageFile } ?? MemoryFile([])
    let end = cut == nil ? [] : footer.bytes.array()
    return SplicedFile(
      [(start, 0..<byteCount), (MemoryFile(end), 0..<end.count)], name: FileName.segment(entry.number))
  }

  private mutating func putWhole(_ entry: LiveEntry, _ contents: ArchiveContents) throws(NotelogError) {
    guard let found = try fromStorage(Survey.read(contents.file, entry.number)) else { return }
    var end: ArchivedObject.LogEnd?
    if found.header.kind.isLog {
      // While it was the head, its pieces were shipped: of this log, or of another copy of the store.
      if let finding = try fromStorage(otherHistory(of: found, to: found.trailer?.footerOffset ?? 0)) {
        return notePartedWays(finding)
      }
      end = self.end(of: found, try fromStorage(LogPoint(found)))
    }
    // One that is there and does not check has a name already.
    let there =
      listing.whole(entry).first ?? listing.cutShort(entry).flatMap { ArchivedObject(name: $0.name) }
    try put(there ?? ArchivedObject(entry, end), contents)
  }

  /// What does not check in a file that should be a segment.
  private static func damages(of file: any StorageFile, as entry: LiveEntry) throws(StorageError) -> [Finding]
  {
    guard let found = try Survey.read(file, entry.number) else {
      return [Finding(.unreadableSegment, segment: entry.number)]
    }
    return try found.verified(as: entry).report.damages
  }

  /// A segment made of its pieces in the archive, as far as they reach, and of what is behind them.
  private func mended(_ file: SplicedFile, _ entry: LiveEntry) throws(StorageError) -> SplicedFile {
    let segments = listing.branches.flatMap(\.segments).filter {
      $0.number == UInt64(entry.number) && $0.salt == entry.salt
    }
    guard let chain = segments.map({ $0.parts(in: archive) }).max(by: { $0.end < $1.end }) else {
      return file
    }
    let byteCount = try file.byteCount()
    // A recovery may have cut it: its footer is no piece's.
    let footerOffset = try Trailer.read(file, byteCount: byteCount)?.footerOffset ?? entry.byteCount
    let end = min(chain.end, footerOffset)
    let pieces = try archive.file(chain.parts, name: file.name)
    return SplicedFile([(pieces, 0..<end), (file, min(end, byteCount)..<byteCount)], name: file.name)
  }

  // MARK: - The head

  /// The segment in which the log ends, if that is not finished. One without a whole live set was never
  /// completed, and isn't it.
  private func head(of examination: Examination) -> FoundSegment? {
    guard examination.end.offset > 0, examination.live[examination.end.segment] == nil else { return nil }
    return examination.survey.segments[examination.end.segment]
  }

  /// What does not check of the head, as far as it was not put before.
  private func damages(of head: FoundSegment, _ range: Range<Int>) throws(StorageError) -> [Finding] {
    if range.lowerBound > 0, try head.areUnits(range) { return [] }
    return try head.verified(as: nil, to: range.upperBound).report.damages
  }

  private func listedPieces(of head: FoundSegment) -> ArchiveListing.LogSegment {
    listing.segment(head.number, salt: head.header.salt, branch: head.header.branchPrefix)
  }

  /// The pieces of the head that are in the archive, one behind the other.
  private func pieces(of head: FoundSegment) -> [ArchivedObject] {
    listedPieces(of: head).chain { !damagedPieces.contains($0) && (!checksAll || $0.isSound(in: archive)) }
  }

  private mutating func putPiece(
    of head: FoundSegment, behind pieces: [ArchivedObject], to end: Int, next: UInt64
  ) throws(NotelogError) {
    let last = pieces.last?.range.upperBound ?? 0
    guard end > last else { return }
    let (object, contents): (ArchivedObject, ArchiveContents)
    do throws(StorageError) {
      var start = Self.start(after: pieces, end)
      // Damage goes into no piece that would come before a good one.
      if start < last, try !head.areUnits(start..<end) { start = last }
      var point = try LogPoint(head, from: last > 0 ? last : nil, to: end)
      point.nextSequence = next
      var logEnd = self.end(of: head, point)
      // Of two with the same range, one of which was damaged, the later counts.
      let twins = listedPieces(of: head).pieces.filter { $0.range == start..<end }
      if let time = twins.map(\.end.time).max() {
        logEnd.time = max(logEnd.time, min(time + 1, ArchivedObject.timeMax))
      }
      contents = try ArchiveContents(
        SplicedFile([(ForgivingFile(head.file, byteCount: end), start..<end)], name: head.file.name))
      object = ArchivedObject(
        head.number, salt: head.header.salt, start..<end, logEnd, checksum: contents.checksum)
    } catch { throw NotelogError(error) }
    try put(object, contents)
  }

  /// Where a piece begins: behind the last, or where many small ones began that make a large one with it.
  static func start(after pieces: [ArchivedObject], _ end: Int) -> Int {
    var start = pieces.last?.range.upperBound ?? 0
    for power in 0...4 {
      let limit = 4096 << (4 * power)
      let small = pieces.reversed().prefix { $0.byteCount < limit }
      if let first = small.last, end - first.range.lowerBound >= limit { start = first.range.lowerBound }
    }
    return start
  }

  /// How an object's name says where the log stands.
  private func end(of found: FoundSegment, _ point: LogPoint) -> ArchivedObject.LogEnd {
    let prefix = found.header.branchPrefix
    let own = found.header.branch.keepsTimes ? point.time : now
    let branch = listing.branches.first { $0.prefix == prefix } ?? .init(prefix: prefix, segments: [])
    let time = branch.time(own, before: point.nextSequence, now: now)
    return ArchivedObject.LogEnd(branch: prefix, nextSequence: point.nextSequence, time: time)
  }

  // MARK: - Keyrings, and putting

  /// Puts the keyring, and the other one where the two differ.
  private mutating func put(_ found: TwinFile) throws(NotelogError) {
    let keyrings = [found.newest, found.other].compactMap(\.self)
    guard let newest = keyrings.first else {
      let words = listing.all(.keyring).isEmpty ? "the archive has none" : "the archive has an earlier one"
      return summary.findings.append(
        Finding("keyring: neither of the store's two can be read; \(words)", .keyring, isDamage: true))
    }
    if found.finding.isDamage {
      let words = "the two files are \(found.finding.first) and \(found.finding.copy)"
      summary.findings.append(Finding("keyring: \(words)", .keyring, isDamage: true))
    }
    summary.keysWithoutTheirFile = newest.effaceableKeys.count
    for keyring in keyrings {
      let fingerprint = try naming("naming a keyring", keyring.fingerprint())
      var object = ArchivedObject(keyring: keyring.generation, fingerprint: fingerprint)
      object.range = 0..<keyring.bytes.count
      try put(object, try fromStorage(ArchiveContents(MemoryFile(keyring.bytes))))
    }
    keyringGeneration = newest.generation
  }

  /// Puts an object, unless it is there: then only where what is there does not check.
  private mutating func put(_ object: ArchivedObject, _ contents: ArchiveContents) throws(NotelogError) {
    let there = listing.objects[object.name]
    let isChecked = checksAll || isListed && object.kind == .keyring
    if there?.byteCount == contents.byteCount, !isChecked || object.isSound(in: archive) { return }
    if there != nil || listing.cutShort.contains(where: { $0.name == object.name }) {
      summary.mendedObjects += 1
    }
    try put(object.name, contents)
    listing.add(object)
    summary.putObjects += 1
    summary.byteCount += contents.byteCount
  }

  private func put(_ name: String, _ contents: ArchiveContents) throws(NotelogError) {
    do { try archive.put(name, contents) } catch { throw NotelogError(archive: error, name) }
  }
}
