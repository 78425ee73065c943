// Copies what is new of a store in use, and puts a copy back: FORMAT.md §13, "Backup".

import NotelogConcurrency

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
  let source: any Storage
  let target: any Storage
  private var report = BackupReport()

  init(from source: any Storage, to target: any Storage) {
    self.source = source
    self.target = target
  }

  /// Copies, verifies, and only then says that this is the backup.
  mutating func run(_ journal: Journal) throws(JournalError) -> BackupReport {
    let before = try BackupManifest.read(target)
    if let before, before.storeID != journal.storeID {
      throw JournalError(.alreadyExists, "there is a backup of another store here")
    }
    let (end, live, nextSequence) = journal.log.state.withLock { ($0.visibleEnd, $0.live, $0.nextSequence) }
    var parts: [BackupManifest.Part] = []
    do {
      let present = Set(try target.names(in: ""))
      for entry in live.entries {
        let part = BackupManifest.Part(entry: entry, isEnd: false)
        parts.append(part)
        guard let segment = journal.catalog.segments[entry.number] else {
          report.damages.append(Damage(.missingSegment, segment: entry.number))
          parts.removeLast()
          continue
        }
        if present.contains(part.name) { report.keptSegments += 1 } else { try copy(segment, as: part) }
      }
      if live[end.segment] == nil, let head = journal.catalog.segments[end.segment] {
        parts.append(try copyEnd(head, end.offset, live, nextSequence))
      }
      try retryingInterruptions { () throws(StorageError) in try target.syncFolder("") }
      let manifest = BackupManifest(storeID: journal.storeID, position: end, parts: parts)
      try manifest.write(to: target)
      removeOld(keeping: manifest, present)
    } catch { throw JournalError(error) }
    report.position = end
    return report
  }

  /// Copies a finished segment under a temporary name, reads the copy back and verifies every byte of it.
  private mutating func copy(_ segment: Segment, as part: BackupManifest.Part) throws(StorageError) {
    let temporary = part.name + FileName.partialSuffix
    let file = try retryingInterruptions { () throws(StorageError) in
      try target.open(temporary, .createIfMissing)
    }
    defer { file.close() }
    try retryingInterruptions { () throws(StorageError) in try file.truncate(to: 0) }
    let checksum = try Self.copy(segment.file, to: file, part.entry.byteCount)
    try file.sync()
    guard try Self.checksum(of: file, part.entry.byteCount) == checksum else {
      throw StorageError(.write, temporary, errno: SystemErrno.inputOutput)
    }
    try verify(file, part.entry)
    try retryingInterruptions { () throws(StorageError) in try target.rename(temporary, to: part.name) }
    report.copiedSegments += 1
    report.copiedByteCount += part.entry.byteCount
  }

  private mutating func verify(_ file: any StorageFile, _ entry: LiveEntry) throws(StorageError) {
    var found: FoundSegment?
    do { found = try Survey.read(file, entry.number) } catch {
      throw error.cause ?? StorageError(.read, "", errno: SystemErrno.inputOutput)
    }
    guard let found else {
      report.damages.append(Damage(.unreadableSegment, segment: entry.number))
      return
    }
    if found.entry != entry { report.damages.append(Damage(.replacedSegment, segment: entry.number)) }
    var verifier = SegmentVerifier(found, entry: entry, end: found.byteCount)
    try verifier.run()
    report.damages += verifier.damages
  }

  /// Copies the log's end up to where everything is durable, and closes the copy in order.
  private mutating func copyEnd(
    _ head: Segment, _ end: Int, _ live: LiveSet, _ nextSequence: UInt64
  ) throws(StorageError) -> BackupManifest.Part {
    // A mark that the store was closed with may stand just before the end; the copy gets one of its own.
    let mark = CloseMark(
      place: LogPosition(segment: head.number, offset: end), liveCount: live.count,
      liveChecksum: live.checksum)
    var closing = Buffer()
    closing.appendZeros(Layout.frameHeaderByteCount + CloseMark.byteCount)
    var bytes = closing.mutableBytes
    mark.write(into: &bytes, at: Layout.frameHeaderByteCount)
    let checksum = Checksum.of(bytes.bytes.extracting(droppingFirst: Layout.frameHeaderByteCount))
    FrameHeader(
      .close, payloadByteCount: CloseMark.byteCount, sequence: nextSequence, payloadChecksum: checksum
    )
    .write(into: &bytes, at: 0, salt: head.salt, place: end)
    let temporary = "end" + FileName.partialSuffix
    let file = try retryingInterruptions { () throws(StorageError) in
      try target.open(temporary, .createIfMissing)
    }
    defer { file.close() }
    try retryingInterruptions { () throws(StorageError) in try file.truncate(to: 0) }
    _ = try Self.copy(head.file, to: file, end)
    try file.writeAll(closing.bytes, at: end)
    try file.sync()
    let byteCount = end + closing.count
    let entry = LiveEntry(
      number: head.number, byteCount: byteCount, salt: head.salt.value,
      footerChecksum: try Self.checksum(of: file, byteCount))
    let part = BackupManifest.Part(entry: entry, isEnd: true)
    try retryingInterruptions { () throws(StorageError) in try target.rename(temporary, to: part.name) }
    report.copiedByteCount += byteCount
    return part
  }

  /// Removes what neither the new manifest names nor anybody else put there.
  private func removeOld(keeping manifest: BackupManifest, _ present: Set<String>) {
    let kept = Set(manifest.parts.map(\.name))
    for name in present
    where !kept.contains(name)
      && (name.hasSuffix(".segment") || name.hasSuffix(".end") || name.hasSuffix(FileName.partialSuffix))
    {
      // What can't be removed now is removed by the next backup.
      try? target.unlink(name)
    }
  }

  private static let pieceByteCount = 1 << 20

  /// Copies that many bytes and returns their checksum.
  static func copy(
    _ source: any StorageFile, to target: any StorageFile, _ byteCount: Int
  ) throws(StorageError) -> UInt32 {
    var checksum = Checksum()
    var buffer = Buffer(capacity: pieceByteCount)
    var place = 0
    while place < byteCount {
      buffer.removeAll()
      let count = min(pieceByteCount, byteCount - place)
      guard try buffer.fill(count, from: source, at: place) == count else {
        throw StorageError(.read, "", errno: SystemErrno.inputOutput)
      }
      checksum.update(buffer.bytes)
      try target.writeAll(buffer.bytes, at: place)
      place += count
    }
    return checksum.value
  }

  /// The checksum of a file's first bytes.
  static func checksum(of file: any StorageFile, _ byteCount: Int) throws(StorageError) -> UInt32 {
    var checksum = Checksum()
    var buffer = Buffer(capacity: pieceByteCount)
    var place = 0
    while place < byteCount {
      buffer.removeAll()
      let count = min(pieceByteCount, byteCount - place)
      guard try buffer.fill(count, from: file, at: place) == count else {
        throw StorageError(.read, "", errno: SystemErrno.inputOutput)
      }
      checksum.update(buffer.bytes)
      place += count
    }
    return checksum.value
  }
}
