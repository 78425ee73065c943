// Backup while in use: FORMAT.md §26.

import NotelogFormat
import NotelogStorage
import NotelogBase

extension Journal {
  /// Brings a backup up to date: copies what is new of a store, which this or another process may be writing to.
  ///
  /// A pin keeps segments from being unlinked meanwhile. Every copy is read back and verified before the backup
  /// becomes the new one, in one step; interrupted, it is still the one before. What does not check in the store takes the place of
  /// nothing that the backup holds. A store whose log ends before the backup does leaves it as it is.
  ///
  /// - Parameters:
  ///   - source: The store's folder.
  ///   - target: The backup's folder: empty, or with an earlier backup of the same store.
  ///   - checksParts: Whether segments that the backup has already are read and verified too; otherwise only their beginnings and
  ///     ends are. What does not check is copied again.
  ///   - random: Makes the pin's name.
  ///   - progress: Told how far it is; its answer says whether to go on.
  ///   - companions: Copies what else belongs to the backup, after the segments and before it becomes the new one:
  ///     what segments need must not be older than they are. Its answer says whether the segments have what it speaks of; otherwise the
  ///     store is looked at again.
  /// - Returns: What was copied, and what does not check in the store, as far as it was read.
  /// - Throws: `alreadyExists` where the folder holds anything but a backup of this store, `busy` where one is being made in it, or the
  ///   store never holds still;
  ///   what else stood in the way. The backup is then the one before.
  static func backup(
    from source: any Storage, to target: any Storage, checksParts: Bool = false,
    random: UInt64 = .random(in: 0...UInt64.max),
    progress: @escaping WorkProgress.Report = { _, _ in true },
    companions: (ID16) throws(NotelogError) -> Bool = { _ in true }
  ) throws(NotelogError) -> BackupReport {
    let pin = try fromStorage(Pins(source).acquireIfWritable(random))
    let storeID = try Examination.stable(source).storeID
    let claim = try BackupClaim.acquire(target, for: storeID)
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
      try examination.synchronize(in: source)
      backup = Backup(
        of: source, examination, to: target, after: claim.manifest, checksParts: checksParts, progress)
      if !backup.isBehind { try backup.copy() }
      // A recovery may have cut the log between the examination and the copy.
      isWhole = attempts.isBelievable(backup.finding)
      if isWhole, !backup.isBehind { isWhole = try companions(storeID) }
    } while !isWhole
    if backup.isBehind {
      let position = claim.manifest.position
      backup.report.damages.append(
        Finding(.endsBeforeBackup, segment: position.segment, offset: position.offset))
    } else {
      try backup.publish()
    }
    _ = consume claim
    _ = consume pin
    return backup.report
  }
}
