// Copies what is new of a store in use: FORMAT.md §13, "Backup".

/// What a backup did.
package struct BackupReport: Sendable {
  /// Segments that were copied, and those that the backup had already.
  package internal(set) var copiedSegments = 0
  package internal(set) var keptSegments = 0
  package internal(set) var copiedByteCount = 0
  /// Where the log ended when it was taken; all before it was durable.
  package internal(set) var position = LogPosition.zero
  /// What does not check, in the store and so in its copy.
  package internal(set) var damages: [Damage] = []
}

/// One run of a backup.
struct Backup {
  let source: Examination
  let target: any Storage
  private(set) var report = BackupReport()
  private var parts: [BackupManifest.Part] = []
  private var progress: WorkProgress

  init(of source: Examination, to target: any Storage, _ progress: @escaping WorkProgress.Report) {
    self.source = source
    self.target = target
    self.progress = WorkProgress(
      total: source.live.entries.reduce(source.end.offset) { $0 + $1.byteCount }, progress)
  }

  /// Copies and verifies what the backup lacks. It is not the backup yet.
  mutating func copy() throws(JournalError) {
    let present = Set(try journaling { () throws(StorageError) in try target.names(in: "") })
    for entry in source.live.entries {
      try progress.advance(by: entry.byteCount)
      guard let found = source.survey.segments[entry.number] else {
        report.damages.append(Damage(.missingSegment, segment: entry.number))
        continue
      }
      let part = BackupManifest.Part(entry: entry, kind: .segment)
      if present.contains(part.name), isWhole(part) {
        report.keptSegments += 1
        parts.append(part)
        continue
      }
      do { parts.append(try copy(found, as: part)) } catch { throw JournalError(error) }
    }
    if source.live[source.end.segment] == nil, let head = source.survey.segments[source.end.segment] {
      do { parts.append(try copyEnd(head, present)) } catch { throw JournalError(error) }
    }
    report.position = source.end
  }

  /// Makes what was copied the backup, in one step, and removes what belonged only to the one before.
  func publish() throws(JournalError) {
    do {
      // The copies' names first: the manifest must not outlive them.
      try retryingInterruptions { () throws(StorageError) in try target.syncFolder("") }
      let manifest = BackupManifest(storeID: source.storeID, position: source.end, parts: parts)
      try manifest.write(to: target)
      let kept = Set(parts.map(\.name))
      for name in try target.names(in: "") where BackupManifest.Part.isName(name) && !kept.contains(name) {
        // What can't be removed now is removed by the next backup.
        try? target.unlink(name)
      }
    } catch { throw JournalError(error) }
  }

  /// Copies a finished segment, and verifies every byte of the copy. One that does not check is copied anew each time.
  private mutating func copy(
    _ found: FoundSegment, as part: BackupManifest.Part
  ) throws(StorageError) -> BackupManifest.Part {
    var part = part
    let temporary = part.name + FileName.partialSuffix
    let byteCount = min(part.entry.byteCount, found.byteCount)
    let file = try target.openEmpty(temporary)
    defer { file.close() }
    try file.copyVerified(found.file, byteCount)
    try file.sync()
    let damages = try Self.damages(of: file, part.entry)
    if !damages.isEmpty { part.kind = .damagedSegment }
    try retryingInterruptions { () throws(StorageError) in try target.rename(temporary, to: part.name) }
    report.damages += damages
    report.copiedSegments += 1
    report.copiedByteCount += byteCount
    return part
  }

  /// Whether a part that is there has its length. What it holds was read back when it was copied; restoring looks again.
  private func isWhole(_ part: BackupManifest.Part) -> Bool {
    guard let file = try? target.open(part.name, .read) else { return false }
    defer { file.close() }
    return (try? file.byteCount()) == part.entry.byteCount
  }

  private static func damages(
    of file: any StorageFile, _ entry: LiveEntry
  ) throws(StorageError) -> [Damage] {
    var found: FoundSegment?
    do { found = try Survey.read(file, entry.number) } catch {
      throw error.cause ?? StorageError(.read, file.name, errno: SystemErrno.inputOutput)
    }
    guard let found else { return [Damage(.unreadableSegment, segment: entry.number)] }
    return try found.damages(as: entry).damages
  }

  /// Copies the log's end up to where everything is durable, and closes the copy in order.
  private mutating func copyEnd(
    _ head: FoundSegment, _ present: Set<String>
  ) throws(StorageError) -> BackupManifest.Part {
    let end = source.end.offset
    let live = source.live
    let mark = CloseMark(place: source.end, liveCount: live.count, liveChecksum: live.checksum)
    var closing = Buffer()
    mark.appendFrame(to: &closing, sequence: source.nextSequence, salt: head.salt, place: end)
    var checksum = try Checksum.of(head.file, end)
    checksum.update(closing.bytes)
    let part = BackupManifest.Part(
      entry: LiveEntry(
        number: head.number, byteCount: end + closing.count, salt: head.salt.value,
        footerChecksum: checksum.value),
      kind: .end)
    if present.contains(part.name), isWhole(part) { return part }
    let temporary = part.name + FileName.partialSuffix
    let file = try target.openEmpty(temporary)
    defer { file.close() }
    try file.copyVerified(head.file, end)
    try file.writeAll(closing.bytes, at: end)
    try file.sync()
    try retryingInterruptions { () throws(StorageError) in try target.rename(temporary, to: part.name) }
    report.copiedByteCount += part.entry.byteCount
    return part
  }
}

extension Storage {
  /// A new file under a name of our own making; what was left under it is removed, and not written to: it may have another name.
  package func openEmpty(_ name: String) throws(StorageError) -> any StorageFile {
    while true {
      do throws(StorageError) {
        return try retryingInterruptions { () throws(StorageError) in try open(name, .createNew) }
      } catch { guard error.errno == SystemErrno.exists else { throw error } }
      do throws(StorageError) {
        try retryingInterruptions { () throws(StorageError) in try unlink(name) }
      } catch { guard error.isMissing else { throw error } }
    }
  }
}

extension StorageFile {
  /// Takes the first bytes of another file, and reads them back.
  func copyVerified(_ source: any StorageFile, _ byteCount: Int) throws(StorageError) {
    var buffer = Buffer(capacity: SegmentReader.windowByteCount)
    var checksum = Checksum()
    var place = 0
    while place < byteCount {
      buffer.removeAll()
      let count = min(SegmentReader.windowByteCount, byteCount - place)
      guard try buffer.fill(count, from: source, at: place) == count else {
        throw StorageError(.read, source.name, errno: SystemErrno.inputOutput)
      }
      checksum.update(buffer.bytes)
      try writeAll(buffer.bytes, at: place)
      place += count
    }
    guard try Checksum.of(self, byteCount).value == checksum.value else {
      throw StorageError(.write, name, errno: SystemErrno.inputOutput)
    }
  }
}

extension Checksum {
  /// The checksum of a file's first bytes.
  static func of(_ file: any StorageFile, _ byteCount: Int) throws(StorageError) -> Checksum {
    var checksum = Checksum()
    var buffer = Buffer(capacity: SegmentReader.windowByteCount)
    var place = 0
    while place < byteCount {
      buffer.removeAll()
      let count = min(SegmentReader.windowByteCount, byteCount - place)
      guard try buffer.fill(count, from: file, at: place) == count else {
        throw StorageError(.read, file.name, errno: SystemErrno.inputOutput)
      }
      checksum.update(buffer.bytes)
      place += count
    }
    return checksum
  }
}
