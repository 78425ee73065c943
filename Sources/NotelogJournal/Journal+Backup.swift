// Backup while in use, and restore: FORMAT.md §13, "Backup".

import NotelogConcurrency

extension Journal {
  /// Brings a backup up to date: copies what is new of a store, which another process may be writing to.
  ///
  /// A pin keeps segments from being unlinked meanwhile. Every copy is read back and verified before the backup
  /// becomes the new one, in one step; interrupted, it is still the one before. The keyring is no part of it: copy it
  /// afterwards.
  ///
  /// - Parameters:
  ///   - source: The store's folder.
  ///   - target: The backup's folder: empty, or with an earlier backup of the same store.
  ///   - options: As for opening.
  /// - Returns: What was copied, and what does not check in the store.
  /// - Throws: What stood in the way; then the backup is the one before.
  package static func backup(
    from source: any Storage, to target: any Storage, options: JournalOptions = JournalOptions()
  ) throws(JournalError) -> BackupReport {
    let pin = try journaling { () throws(StorageError) in try Pins(source).take(options.random()) }
    let reader = try JournalReader(in: source, options: options)
    let journal = reader.journal
    // What was read may not be durable yet; a copy of it must not outlive it.
    try journal.synchronizeFiles()
    var backup = Backup(from: source, to: target)
    let report = try backup.run(journal)
    _ = consume pin
    return report
  }

  /// Makes a store of a backup, in an empty folder. Every byte is verified.
  package static func restore(
    from backup: any Storage, to target: any Storage
  ) throws(JournalError) {
    guard let manifest = try BackupManifest.read(backup) else {
      throw JournalError(.notAStore, "there is no backup here")
    }
    let names = try journaling { () throws(StorageError) in try target.names(in: "") }
    guard !names.contains(where: { FileName.segmentNumber($0) != nil }) else {
      throw JournalError(.alreadyExists, "there is a store here already")
    }
    do throws(StorageError) {
      // The log's segments in descending order: a store whose newest segment is missing passes for a whole one.
      for part in manifest.parts.sorted(by: { $0.entry.number > $1.entry.number }) {
        let name = FileName.segment(part.entry.number)
        let source = try retryingInterruptions { () throws(StorageError) in try backup.open(part.name, .read)
        }
        defer { source.close() }
        let file = try retryingInterruptions { () throws(StorageError) in
          try target.open(name + FileName.partialSuffix, .createIfMissing)
        }
        defer { file.close() }
        try retryingInterruptions { () throws(StorageError) in try file.truncate(to: 0) }
        let checksum = try Backup.copy(source, to: file, part.entry.byteCount)
        try file.sync()
        guard try Backup.checksum(of: file, part.entry.byteCount) == checksum,
          !part.isEnd || checksum == part.entry.footerChecksum
        else { throw StorageError(.read, part.name, errno: SystemErrno.inputOutput) }
        try retryingInterruptions { () throws(StorageError) in
          try target.rename(name + FileName.partialSuffix, to: name)
        }
      }
      try retryingInterruptions { () throws(StorageError) in try target.syncFolder("") }
    } catch { throw JournalError(error) }
    let damages = try verify(target, storeID: manifest.storeID).report.damages
    guard damages.isEmpty else {
      throw JournalError(
        .damaged, "the store was restored, but \(damages.count) places in it do not check",
        segment: damages.first?.segment, offset: damages.first?.offset)
    }
  }

  /// Makes durable what this journal has read, whoever wrote it.
  private func synchronizeFiles() throws(JournalError) {
    let (end, floor) = log.state.withLock { ($0.visibleEnd, $0.floor) }
    guard floor < end else { return }
    do {
      for segment in catalog.segments.all where segment.number >= floor.segment { try segment.file.sync() }
    } catch { throw JournalError(error) }
  }
}
