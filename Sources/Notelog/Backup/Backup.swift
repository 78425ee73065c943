// Backup while in use: FORMAT.md §26.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Journal {
  /// Brings a backup up to date: copies what is new of a store, which this or another process may be writing
  /// to.
  ///
  /// A pin keeps segments from being unlinked meanwhile. Every copy is read back and verified before the
  /// backup becomes the new one, in one step; interrupted, it is still the one before. What does not check in
  /// the store takes the place of nothing that the backup holds. A store whose log ends before the backup
  /// does leaves it as it is.
  ///
  /// - Parameters:
  ///   - source: The store's folder.
  ///   - target: The backup's folder: empty, or with an earlier backup of the same store.
  ///   - checksParts: Whether segments that the backup has already are read and verified too; otherwise only
  ///     their beginnings and ends are. What does not check is copied again.
  ///   - random: Makes the pin's name.
  ///   - progress: Told how far it is; its answer says whether to go on.
  ///   - companions: Copies what else belongs to the backup, after the segments and before it becomes the new
  ///     one: what segments need must not be older than they are. Its answer says whether the segments have
  ///     what it speaks of; otherwise the store is looked at again.
  /// - Returns: What was copied, and what does not check in the store, as far as it was read.
  /// - Throws: `alreadyExists` where the folder holds anything but a backup of this store, `busy` where one
  ///   is being made in it, or the store never holds still; what else stood in the way. The backup is then
  ///   the one before.
  static func backup(
    from source: any Storage, to target: any Storage, checksParts: Bool = false,
    random: UInt64 = .random(in: 0...UInt64.max),
    progress: @escaping WorkProgress.Report = { _, _ in true },
    companions: (ID16) throws(NotelogError) -> Bool = { _ in true }
  ) throws(NotelogError) -> BackupSummary {
    let pin = try fromStorage(source.pinIfWritable(random))
    let storeID = try Examination.stable(source).storeID
    // Before anything is touched: the lock of a store has the same name.
    _ = try BackupManifest.read(target, of: storeID)
    let lock = try lockBackup(target)
    defer { lock.close() }
    let previous = try beginBackup(in: target, of: storeID)
    var attempts = ReadingAttempts(of: source)
    var backup: Backup
    var isWhole: Bool
    repeat {
      try attempts.begin()
      let examination = try Examination.stable(source, storeID: storeID)
      guard examination.newest != nil else {
        throw NotelogError(.damaged, "no segment of the log is whole; salvage what there is")
      }
      // What was read may not be durable yet; a copy of it must not outlive it.
      try fromStorage(examination.synchronize(in: source))
      let byteCount = examination.live.entries.reduce(examination.end.offset) { $0 + $1.byteCount }
      backup = Backup(
        storage: source, source: examination, target: target, previous: previous, checksParts: checksParts,
        progress: WorkProgress(total: byteCount, progress))
      backup.summary.findings = examination.report.damages
      if !backup.isBehind { try backup.copy() }
      // A recovery may have cut the log between the examination and the copy.
      isWhole = attempts.accept(backup.finding)
      if isWhole, !backup.isBehind { isWhole = try companions(storeID) }
    } while !isWhole
    if backup.isBehind {
      let position = previous.position
      backup.summary.findings.append(
        Finding(.endsBeforeBackup, segment: position.segment, offset: position.offset))
    } else {
      try fromStorage(backup.publish())
    }
    _ = consume pin
    return backup.summary
  }

  /// Holds a folder for as long as a backup is being made in it.
  private static func lockBackup(_ target: any Storage) throws(NotelogError) -> any StorageFile {
    do { return try target.openLocked(FileName.lock, .lock, .exclusive) } catch {
      guard error.call == .lock, error.errno == SystemErrno.wouldBlock else { throw NotelogError(error) }
      throw NotelogError.busy(
        "a backup is being made in '\(target.path)'", FileName.lock, in: target, cause: error)
    }
  }

  /// The backup that is in a folder; whoever held the lock may have begun it. The folder belongs to the store
  /// from the first moment: a manifest without parts says so before anything else is written.
  private static func beginBackup(
    in target: any Storage, of storeID: ID16
  ) throws(NotelogError) -> BackupManifest {
    if let manifest = try BackupManifest.read(target, of: storeID) { return manifest }
    let manifest = BackupManifest(storeID: storeID)
    try fromStorage(manifest.write(to: target))
    return manifest
  }
}

// MARK: - Copies what is new of a store in use: FORMAT.md §26.

/// What a backup did.
public struct BackupSummary: Sendable {
  /// How many segments were copied.
  public internal(set) var copiedSegments = 0
  /// How many segments the backup had already.
  public internal(set) var keptSegments = 0
  /// How many of the segments copied the backup had, but damaged.
  public internal(set) var healedSegments = 0
  /// How many bytes were copied.
  public internal(set) var copiedByteCount = 0
  /// What does not check in the store, as far as it was read; empty for a sound one. It took the place of
  /// nothing that the backup held.
  public internal(set) var findings: [Finding] = []
  /// How many named keys can't be opened from the backup alone, as they can be shredded: their effaceable
  /// files are left out.
  public internal(set) var keysWithoutTheirFile = 0
}

/// One run of a backup.
///
/// Damage never takes the place of anything: what the backup has stays where the store's copy does not check,
/// and what belonged to the last backup of a sound store stays until there is another one.
struct Backup {
  let storage: any Storage
  let source: Examination
  let target: any Storage
  /// The backup as it was before.
  let previous: BackupManifest
  /// Whether parts that are there are read from their first byte to their last.
  let checksParts: Bool
  var progress: WorkProgress
  var summary = BackupSummary()
  var parts: [BackupManifest.Part] = []
  /// The names in the backup's folder.
  var present: Set<String> = []

  /// Whether the log ends before the backup does: the store lost its end, or is an older copy of itself.
  /// Nothing in it is new then.
  var isBehind: Bool { source.logEnd < previous.position }

  /// What does not check, in words; empty where all does.
  var finding: String {
    summary.findings.isEmpty ? isBehind ? "behind" : "" : "\(summary.findings)"
  }

  /// Copies and verifies what the backup lacks. It is not the backup yet.
  mutating func copy() throws(NotelogError) {
    present = Set(try fromStorage(target.names(in: "")))
    for entry in source.live.entries {
      try progress.advance(by: entry.byteCount)
      do { try add(entry) } catch { throw NotelogError(error) }
    }
    if let head { do { try addEnd(head) } catch { throw NotelogError(error) } }
  }

  /// Makes what was copied the backup, in one step, and removes what belonged only to the one before.
  func publish() throws(StorageError) {
    // The copies' names first: the manifest must not outlive them.
    try target.makeNamesDurable()
    let manifest = newManifest()
    try manifest.write(to: target)
    let kept = Set(manifest.parts.map(\.name))
    for name in try target.names(in: "") where BackupManifest.Part.isName(name) && !kept.contains(name) {
      // What can't be removed now is removed by the next backup.
      try? target.unlink(name)
    }
  }

  private func newManifest() -> BackupManifest {
    let generation = previous.generation == .max ? .max : previous.generation + 1
    var manifest = BackupManifest(
      storeID: source.storeID, position: source.logEnd, generation: generation, end: end)
    let isSound = summary.findings.isEmpty
    var earlier = Set(previous.parts.filter(\.isOfSound).map(\.name))
    for var part in parts {
      part.isCurrent = true
      part.isOfSound = isSound || earlier.remove(part.name) != nil
      manifest.parts.append(part)
    }
    if isSound { return manifest }
    for var part in previous.parts where earlier.contains(part.name) {
      part.isCurrent = false
      manifest.parts.append(part)
    }
    return manifest
  }

  /// The segment in which the log ends, if that is not finished. A head without a whole live set was never
  /// completed, and isn't it.
  private var head: FoundSegment? {
    guard source.end.offset > 0, source.live[source.end.segment] == nil else { return nil }
    return source.survey.segments[source.end.segment]
  }

  /// What the manifest says of the log's end.
  private var end: BackupManifest.End? {
    guard let head else { return nil }
    let mark = CloseMark(place: source.end, live: source.live, nextSequence: source.nextSequence)
    return BackupManifest.End(header: head.header, mark: mark)
  }

  // MARK: - Parts

  /// Adds a finished segment: as the backup has it, if that is sound; else from the store; else what there is
  /// of it.
  private mutating func add(_ entry: LiveEntry) throws(StorageError) {
    let part = BackupManifest.Part(entry: entry, kind: .segment)
    let found = source.survey.segments[entry.number]
    let isThere = present.contains(part.name)
    // Where the store's file is not the segment, nothing but this copy may be left.
    let isRead = checksParts || found?.entry != entry
    if isThere, isRead ? isSound(part) : part.isWholeAtItsEnds(in: target) {
      summary.keptSegments += 1
      return parts.append(part)
    }
    if found?.header.salt != entry.salt, let kept = bestKept(of: part) { return parts.append(kept) }
    guard let file = found?.file ?? unreadableFile(entry.number) else { return }
    var footer = Buffer()
    if let cut = try source.cutEnd(of: entry, footer: &footer) {
      parts.append(try copy(file, min(cut, try file.byteCount()), closing: (footer.bytes, cut), as: part))
    } else {
      parts.append(try copy(file, min(entry.byteCount, try file.byteCount()), as: part))
    }
    summary.copiedSegments += 1
    if isThere { summary.healedSegments += 1 }
  }

  /// Whether every byte of a part that is there checks, and can be read.
  private func isSound(_ part: BackupManifest.Part) -> Bool {
    (try? part.damages(in: target))?.isEmpty ?? false
  }

  /// The file under a segment's name that is none: frames may be left in it.
  private func unreadableFile(_ number: UInt32) -> (any StorageFile)? {
    guard source.survey.unreadable.contains(number) || source.survey.foreign.contains(number) else {
      return nil
    }
    return try? storage.open(FileName.segment(number), .read)
  }

  /// Takes the log's end up to where everything is durable, and closes the copy in order.
  private mutating func addEnd(_ head: FoundSegment) throws(StorageError) {
    guard let end else { return }
    let position = source.end
    var closing = Buffer()
    end.mark.appendFrame(to: &closing, salt: head.salt)
    // A file that ends too early is damage, which verifying the copy finds.
    let byteCount = min(position.offset, head.byteCount)
    var checksum = try Checksum.of(ForgivingFile(head.file, byteCount: byteCount), byteCount)
    checksum.update(closing.bytes)
    let part = BackupManifest.Part(
      entry: LiveEntry(
        number: head.number, byteCount: position.offset + closing.count, salt: head.salt.value,
        footerChecksum: checksum.value),
      kind: .end)
    if byteCount == position.offset, present.contains(part.name), isSound(part) {
      return parts.append(part)
    }
    parts.append(try copy(head.file, byteCount, closing: (closing.bytes, position.offset), as: part))
  }

  /// Copies a segment's first bytes, verifies the copy, and mends it from what the backup holds of the
  /// segment.
  ///
  /// - Returns: The part: as what it should be, if every byte of it checks.
  private mutating func copy(
    _ file: any StorageFile, _ byteCount: Int, closing: (bytes: RawSpan, place: Int)? = nil,
    as wanted: BackupManifest.Part
  ) throws(StorageError) -> BackupManifest.Part {
    let temporary = wanted.name + FileName.partialSuffix
    let copy = try target.openEmpty(temporary)
    defer { copy.close() }
    try copy.copyVerified(ForgivingFile(file, byteCount: byteCount), byteCount)
    if let closing { try copy.writeAll(closing.bytes, at: closing.place) }
    summary.copiedByteCount += try copy.byteCount()
    var part = wanted
    let damages = try wanted.damages(in: copy)
    if !damages.isEmpty {
      summary.findings.add(damages)
      try mend(copy, damages, of: wanted)
      part = try wanted.asFound(in: copy)
    }
    try copy.makeDurable()
    try target.move(temporary, to: part.name)
    return part
  }

  // MARK: - What the backup holds already

  /// The copies of a segment that the backup has, whole ones first.
  private func kept(of part: BackupManifest.Part) -> [BackupManifest.Part] {
    var kept = previous.parts.filter {
      $0.entry.number == part.entry.number && $0.entry.salt == part.entry.salt && present.contains($0.name)
    }
    if !kept.contains(where: { $0.name == part.name }), present.contains(part.name) { kept.append(part) }
    return kept.sorted { $0.kind.rawValue < $1.kind.rawValue }
  }

  /// The best of them whose header can be read.
  private func bestKept(of part: BackupManifest.Part) -> BackupManifest.Part? {
    kept(of: part).first { kept in
      guard let file = try? target.open(kept.name, .read) else { return false }
      defer { file.close() }
      return ((try? Survey.read(file, kept.entry.number)) ?? nil) != nil
    }
  }

  /// Puts what checks in the backup in the place of what doesn't in a copy: a segment's bytes never change.
  private func mend(
    _ copy: any StorageFile, _ damages: [Finding], of part: BackupManifest.Part
  ) throws(StorageError) {
    for kept in kept(of: part) {
      guard let file = try? target.open(kept.name, .read) else { continue }
      defer { file.close() }
      guard let theirs = try? kept.damages(in: file) else { continue }
      // The log's end is closed by a mark of the backup's: that is not the segment's own.
      let markByteCount = kept.kind == .segment ? 0 : CloseMark.frameByteCount
      let limit = min(kept.entry.byteCount - markByteCount, try file.byteCount())
      for damage in damages {
        let end = min(damage.kind == .truncated ? part.entry.byteCount : damage.range.upperBound, limit)
        guard damage.place.offset < end else { continue }
        let range = damage.place.offset..<end
        let isSound = theirs.allSatisfy { $0.kind == .truncated || !$0.touches(range) }
        if isSound { try copy.copyBytes(of: file, range) }
      }
    }
  }
}

extension Examination {
  /// Where the log ends: behind the last segment, if that is finished.
  var logEnd: LogPosition {
    if end.offset > 0 { return end }
    return log.last.map { LogPosition(segment: $0.number, offset: $0.end) } ?? .zero
  }
}

extension Finding {
  /// Whether it is about some of a range's bytes.
  fileprivate func touches(_ range: Range<Int>) -> Bool {
    kind == .unreadableSegment || kind == .foreignSegment
      || (place.offset < range.upperBound && place.offset + max(byteCount, 1) > range.lowerBound)
  }
}

// MARK: - Copies of files, read back.

extension StorageFile {
  /// Takes the first bytes of another file, and reads them back.
  func copyVerified(_ source: any StorageFile, _ byteCount: Int) throws(StorageError) {
    let checksum = try copyBytes(of: source, 0..<byteCount)
    guard try Checksum.of(self, byteCount).value == checksum.value else {
      throw StorageError(.write, name, errno: SystemErrno.inputOutput)
    }
  }
}

extension Checksum {
  /// The checksum of a file's first bytes.
  static func of(_ file: any StorageFile, _ byteCount: Int) throws(StorageError) -> Checksum {
    var checksum = Checksum()
    try file.forEachPiece(of: 0..<byteCount) { bytes, _ in checksum.update(bytes) }
    return checksum
  }
}
