// Makes a store of a backup: FORMAT.md §26.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Journal {
  /// Makes a store of a backup, in a folder without one.
  ///
  /// What does not check in the backup is put in its place as it is. What is known of the log's end besides
  /// its file is written there again, so that what is missing before the end is damage to whoever opens the
  /// store, and never taken for its end.
  ///
  /// - Parameters:
  ///   - backup: The backup's folder.
  ///   - target: The folder for the store.
  ///   - report: Told how far it is; its answer says whether to go on.
  /// - Returns: What does not check in what was restored; nothing where the backup was made of a sound store
  ///   and is sound itself.
  /// - Throws: `notAStore` where there is no backup, `alreadyExists` where there is a store, `damaged` where
  ///   no manifest of the backup and no file of it is left; `full`, `inputOutput`.
  static func restore(
    from backup: any Storage, to target: any Storage,
    progress report: @escaping WorkProgress.Report = { _, _ in true }
  ) throws(NotelogError) -> [Finding] {
    // One without parts was begun, and never came to its end: a store has a head at least.
    guard let manifest = try BackupManifest.read(backup), !manifest.parts.isEmpty else {
      throw NotelogError(.notFound, "there is no backup here")
    }
    let names = try fromStorage(target.names(in: ""))
    guard !names.contains(where: { FileName.segmentNumber($0) != nil }) else {
      throw NotelogError(.alreadyExists, "there is a store here already")
    }
    let parts = BackupView(manifest, in: backup).parts.values
    var damages: [Finding] = []
    let branch = ID16(low: JournalOptions().random(), high: JournalOptions().random())
    // The newest first: a store whose newest segments are missing would pass for a whole one, an older one.
    var progress = WorkProgress(total: parts.reduce(0) { $0 + $1.entry.byteCount }, report)
    for part in parts.sorted(by: { $0.entry.number > $1.entry.number }) {
      damages += try fromStorage(restore(part, of: manifest, branch, from: backup, to: target))
      try progress.advance(by: part.entry.byteCount)
    }
    try fromStorage(target.makeNamesDurable())
    do {
      damages.add(try verify(target, storeID: manifest.storeID).report.damages)
    } catch {
      // What can't be opened can still be salvaged.
      guard error.code == .damaged, !damages.isEmpty else { throw error }
    }
    if manifest.end == nil, damages.isEmpty { try beginBranch(branch, in: target, of: manifest.storeID) }
    return damages
  }

  /// Begins a branch where the log's last segment is finished, and so never changed: in a next one, with
  /// nothing in it yet.
  private static func beginBranch(
    _ id: ID16, in target: any Storage, of storeID: ID16
  ) throws(NotelogError) {
    let now = try Examination(target, storeID: storeID)
    guard !now.needsRecovery else { return }
    let number = try FileName.segmentNumber(after: now.highestKnownNumber)
    var branch = now.branch
    branch.id = id
    let header = SegmentHeader(
      .log, number: number, storeID: storeID, branch: branch,
      salt: JournalOptions().random(), firstSequence: now.nextSequence,
      floor: LogPosition(segment: number, offset: Layout.firstFrameOffset), live: now.live)
    let start = header.start(live: now.live)
    try fromStorage(target.replaceWhole(FileName.segment(number), with: start.bytes.array()))
  }

  private static func restore(
    _ part: BackupManifest.Part, of manifest: BackupManifest, _ branch: ID16, from backup: any Storage,
    to target: any Storage
  ) throws(StorageError) -> [Finding] {
    let name = FileName.segment(part.entry.number)
    let isEnd = part.isCurrent && part.kind != .segment && part.entry.number == manifest.position.segment
    let end = isEnd ? manifest.end : nil
    let source = try part.openIfThere(in: backup)
    defer { source?.close() }
    guard source != nil || end != nil else { return [Finding(.missingSegment, segment: part.entry.number)] }
    let file = try target.openEmpty(name + FileName.partialSuffix)
    defer { file.close() }
    if let source {
      let byteCount = min(try source.byteCount(), part.entry.byteCount)
      try file.copyVerified(ForgivingFile(source, byteCount: byteCount), byteCount)
    }
    let isSound = try part.hasItsBytes(file)
    if !isSound, let end { try end.write(to: file) }
    if isSound, let end { try beginBranch(branch, in: file, of: end.header) }
    try file.makeDurable()
    try target.move(name + FileName.partialSuffix, to: name)
    return isSound ? [] : [Finding(.backupFile, segment: part.entry.number)]
  }

  /// Begins a branch in the log's last segment, which is not finished. A header that does not check stays as
  /// it is: the damage is to be seen.
  private static func beginBranch(
    _ id: ID16, in file: any StorageFile, of header: SegmentHeader
  ) throws(StorageError) {
    guard let found = try? Survey.read(file, header.number), found.badCopies.isEmpty, found.header == header
    else { return }
    var header = header
    header.branch.id = id
    try header.write(to: file)
  }
}

extension BackupManifest.End {
  /// Writes what is known of the log's last segment: both copies of its header, and the mark that it ends in.
  fileprivate func write(to file: any StorageFile) throws(StorageError) {
    try header.write(to: file)
    var buffer = Buffer()
    mark.appendFrame(to: &buffer, salt: SegmentSalt(header.salt))
    try file.writeAll(buffer.bytes, at: mark.place.offset)
  }
}
