// Backup while in use, and restore: FORMAT.md §13, "Backup".

import NotelogConcurrency

extension Journal {
  /// Brings a backup up to date: copies what is new of a store, which this or another process may be writing to.
  ///
  /// A pin keeps segments from being unlinked meanwhile. Every copy is read back and verified before the backup
  /// becomes the new one, in one step; interrupted, it is still the one before.
  ///
  /// - Parameters:
  ///   - source: The store's folder.
  ///   - target: The backup's folder: empty, or with an earlier backup of the same store.
  ///   - random: Makes the pin's name.
  ///   - progress: Told how far it is; its answer says whether to go on.
  ///   - companions: Copies what else belongs to the backup, after the segments and before it becomes the new one:
  ///     what segments need must not be older than they are.
  /// - Returns: What was copied, and what does not check in the store.
  /// - Throws: `alreadyExists` where the folder holds anything but a backup of this store, `busy` where one is being made in it;
  ///   what else stood in the way. The backup is then the one before.
  package static func backup(
    from source: any Storage, to target: any Storage, random: UInt64 = .random(in: 0...UInt64.max),
    progress: @escaping WorkProgress.Report = { _, _ in true },
    companions: () throws(JournalError) -> Void = {}
  ) throws(JournalError) -> BackupReport {
    let pin = try journaling { () throws(StorageError) in try Pins(source).take(random) }
    let examination = try Examination.settled(source)
    guard !examination.isBeingRecovered else {
      throw JournalError(.busy, "the store's recovery was interrupted: open it for writing first")
    }
    // What was read may not be durable yet; a copy of it must not outlive it.
    try examination.synchronize()
    let claim = try BackupClaim.take(target, for: examination.storeID)
    var backup = Backup(of: examination, to: target, progress)
    try backup.copy()
    try companions()
    try backup.publish()
    _ = consume claim
    _ = consume pin
    return backup.report
  }

  /// Makes a store of a backup, in a folder without one.
  ///
  /// - Parameters:
  ///   - backup: The backup's folder.
  ///   - target: The folder for the store.
  ///   - report: Told how far it is; its answer says whether to go on.
  /// - Returns: What does not check in what was restored; nothing where the backup was made of a sound store and is
  ///   sound itself.
  /// - Throws: `notAStore` where there is no backup, `alreadyExists` where there is a store, `damaged` where the backup's end
  ///   does not check, `full`, `inputOutput`.
  package static func restore(
    from backup: any Storage, to target: any Storage,
    progress report: @escaping WorkProgress.Report = { _, _ in true }
  ) throws(JournalError) -> [Damage] {
    // One without parts was begun, and never came to its end: a store has a head at least.
    guard let manifest = try BackupManifest.read(backup), !manifest.parts.isEmpty else {
      throw JournalError(.notAStore, "there is no backup here")
    }
    let names = try journaling { () throws(StorageError) in try target.names(in: "") }
    guard !names.contains(where: { FileName.segmentNumber($0) != nil }) else {
      throw JournalError(.alreadyExists, "there is a store here already")
    }
    // The newest first: a store whose newest segments are missing would pass for a whole one, an older one.
    var progress = WorkProgress(total: manifest.parts.reduce(0) { $0 + $1.entry.byteCount }, report)
    for part in manifest.parts.sorted(by: { $0.entry.number > $1.entry.number }) {
      try restore(part, from: backup, to: target)
      try progress.advance(by: part.entry.byteCount)
    }
    try journaling { () throws(StorageError) in
      try retryingInterruptions { () throws(StorageError) in try target.syncFolder("") }
    }
    return try verify(target, storeID: manifest.storeID).report.damages
  }

  private static func restore(
    _ part: BackupManifest.Part, from backup: any Storage, to target: any Storage
  ) throws(JournalError) {
    let name = FileName.segment(part.entry.number)
    try journaling { () throws(StorageError) in
      let source: any StorageFile
      do throws(StorageError) {
        source = try retryingInterruptions { () throws(StorageError) in try backup.open(part.name, .read) }
      } catch {
        // A part that is gone is a segment that is missing: verifying says so.
        if error.isMissing, part.kind != .end { return }
        throw error
      }
      defer { source.close() }
      let file = try target.openEmpty(name + FileName.partialSuffix)
      defer { file.close() }
      let byteCount = min(try source.byteCount(), part.entry.byteCount)
      try file.copyVerified(source, byteCount)
      // What follows the end's last transaction was never the store's: it has to be whole.
      if part.kind == .end, try Checksum.of(file, byteCount).value != part.entry.footerChecksum {
        throw StorageError(.read, part.name, errno: SystemErrno.inputOutput)
      }
      try file.sync()
      try retryingInterruptions { () throws(StorageError) in
        try target.rename(name + FileName.partialSuffix, to: name)
      }
    }
  }
}
