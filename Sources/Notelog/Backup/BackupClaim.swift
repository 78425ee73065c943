// Whose a backup's folder is: FORMAT.md §26.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Holds a folder for backups of one store, for as long as one is being made.
///
/// The folder belongs to that store from the first moment: a manifest without parts says so before anything else is written.
/// What holds something else, another store above all, is left as it is.
struct BackupClaim: ~Copyable {
  /// The backup that is in the folder.
  let manifest: BackupManifest
  private let lock: any StorageFile

  deinit { lock.close() }

  /// - Throws: `alreadyExists` where the folder holds anything but a backup of the store; `busy` where one is being made now.
  static func acquire(_ target: any Storage, for storeID: ID16) throws(NotelogError) -> BackupClaim {
    // Before anything is touched: the lock of a store has the same name.
    _ = try check(target, storeID)
    let lock = try takeLock(target)
    do throws(NotelogError) {
      // Whoever held the lock may have begun a backup.
      if let manifest = try check(target, storeID) { return BackupClaim(manifest: manifest, lock: lock) }
      let manifest = BackupManifest(storeID: storeID)
      try fromStorage(manifest.write(to: target))
      return BackupClaim(manifest: manifest, lock: lock)
    } catch {
      lock.close()
      throw error
    }
  }

  /// - Returns: The manifest of the store's backup, if there is one.
  private static func check(
    _ target: any Storage, _ storeID: ID16
  ) throws(NotelogError) -> BackupManifest? {
    if let manifest = try BackupManifest.read(target) {
      guard manifest.storeID == storeID else {
        throw NotelogError(.alreadyExists, "'\(target.path)' holds a backup of another store")
      }
      return manifest
    }
    let names = try fromStorage(target.names(in: ""))
    let ours = [
      FileName.lock, BackupManifest.fileName + FileName.partialSuffix,
      BackupManifest.copyName + FileName.partialSuffix,
    ]
    guard names.allSatisfy({ ours.contains($0) }) else {
      throw NotelogError(.alreadyExists, "'\(target.path)' holds something else than a backup")
    }
    return nil
  }

  private static func takeLock(_ target: any Storage) throws(NotelogError) -> any StorageFile {
    do { return try target.openLocked(FileName.lock, .lock, .exclusive) } catch {
      guard error.call == .lock, error.errno == SystemErrno.wouldBlock else { throw NotelogError(error) }
      throw NotelogError.busy(
        "a backup is being made in '\(target.path)'", FileName.lock, in: target, cause: error)
    }
  }
}
