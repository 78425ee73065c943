// What is in a folder with a backup, and whether it is sound: FORMAT.md §26.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// A folder with a backup in it.
struct BackupFolder {
  /// What is wrong with the two files of the manifest.
  enum ManifestFinding: Equatable, Sendable {
    case bothSound
    /// The other file serves: this one is missing, or does not check, or is the one before.
    case unreadable(String)
    case older(String)
    /// Neither of them can be read.
    case neitherSound
  }

  let finding: ManifestFinding
  /// The backup as a store; nothing where neither manifest can be read.
  let view: BackupView?
  private let storage: any Storage
  /// The folder's path, for errors.
  var path: String { storage.path }

  /// The store whose backup it is.
  var storeID: ID16? { view?.manifest.storeID }
  /// How many files the newest backup consists of.
  var partCount: Int { view?.parts.count ?? 0 }

  /// Looks into a folder; nothing where it holds a store, or anything else than a backup.
  static func find(in storage: any Storage) throws(NotelogError) -> BackupFolder? {
    let names: [String]
    do { names = try storage.names(in: "") } catch {
      if error.isMissing { return nil }
      throw NotelogError(error)
    }
    let isBackup = names.contains {
      $0 == BackupManifest.fileName || $0 == BackupManifest.copyName || BackupManifest.Part.isName($0)
    }
    guard isBackup, !names.contains(where: { FileName.segmentNumber($0) != nil }) else { return nil }
    return BackupFolder(storage)
  }

  private init(_ storage: any Storage) {
    self.storage = storage
    let files = BackupManifest.Files(in: storage)
    view = files.newest.map { BackupView($0, in: storage) }
    finding =
      switch (files.first, files.copy) {
      case (.sound(let first), .sound(let copy)) where first.generation == copy.generation: .bothSound
      case (.sound(let first), .sound(let copy)):
        .older(first.generation > copy.generation ? BackupManifest.copyName : BackupManifest.fileName)
      case (.sound, _): .unreadable(BackupManifest.copyName)
      case (_, .sound): .unreadable(BackupManifest.fileName)
      default: .neitherSound
      }
  }

  /// Checks the files that verifying the backup as a store does not: the log's end, of which all bytes have a
  /// checksum; what was damaged in the store; what belongs to the last backup of a sound store alone.
  ///
  /// - Returns: What does not check.
  func verifyParts(_ report: @escaping WorkProgress.Report) throws(NotelogError) -> [Finding] {
    guard let view else { return [] }
    let parts = view.manifest.parts.filter { part in
      part.kind != .segment || !part.isCurrent || view.live[part.entry.number] != part.entry
    }
    var progress = WorkProgress(total: parts.reduce(0) { $0 + $1.entry.byteCount }, report)
    var damages: [Finding] = []
    for part in parts {
      let found = try? part.damages(in: storage)
      damages.add(found ?? [Finding(.backupFile, segment: part.entry.number)])
      try progress.advance(by: part.entry.byteCount)
    }
    return damages
  }
}

// MARK: - A backup as the store that it would be restored to: FORMAT.md §26.

/// Shows a backup's files under the names that they have in a store. It can only be read.
final class BackupView: Storage {
  let backup: any Storage
  let manifest: BackupManifest
  /// What stands for each segment, by its number.
  let parts: [UInt32: BackupManifest.Part]
  /// The finished segments that the log in it names; none where it can't be read.
  let live: LiveSet

  var path: String { backup.path }

  /// The file that stands for both of the keyring's; nil where they stand for themselves.
  private let keyring: String?

  /// The keyring's files and the schemas', which a backup has under the names that they have in a store.
  private static let otherNames: Set<String> = [FileName.keyring, FileName.keyringCopy, FileName.schemas]

  private init(
    _ manifest: BackupManifest, in backup: any Storage, _ parts: [UInt32: BackupManifest.Part],
    _ live: LiveSet, _ keyring: String? = nil
  ) {
    self.keyring = keyring
    self.manifest = manifest
    self.backup = backup
    self.parts = parts
    self.live = live
  }

  /// Shows what the manifest lists: the newest backup, and of the last one of a sound store what the log in
  /// the newest names and the newest lacks.
  convenience init(_ manifest: BackupManifest, in backup: any Storage) {
    var parts: [UInt32: BackupManifest.Part] = [:]
    for part in manifest.parts where part.isCurrent { parts[part.entry.number] = part }
    let newest = BackupView(manifest, in: backup, parts, LiveSet())
    let live = (try? Examination(newest, storeID: manifest.storeID))?.live ?? LiveSet()
    for part in manifest.parts where !part.isCurrent && part.kind == .segment {
      let number = part.entry.number
      if live[number] == part.entry, parts[number]?.kind != .segment { parts[number] = part }
    }
    self.init(manifest, in: backup, parts, live)
  }

  /// The same with another keyring.
  convenience init(_ view: BackupView, keyring: String?) {
    self.init(view.manifest, in: view.backup, view.parts, view.live, keyring)
  }

  func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    guard mode == .read else { throw StorageError(.open, name, errno: SystemErrno.readOnly) }
    if let part = FileName.segmentNumber(name).flatMap({ parts[$0] }) {
      return try backup.open(part.name, .read)
    }
    guard Self.otherNames.contains(name) else {
      throw StorageError(.open, name, errno: SystemErrno.notFound)
    }
    return try backup.open(name == FileName.schemas ? name : keyring ?? name, .read)
  }

  func forEachName(in folder: String, _ visit: (Span<UInt8>) -> Void) throws(StorageError) {
    guard folder.isEmpty else { throw StorageError(.readdir, folder, errno: SystemErrno.notFound) }
    let present = Set(try backup.names(in: ""))
    for (number, part) in parts where present.contains(part.name) {
      visit(FileName.segment(number).utf8.span)
    }
    for name in Self.otherNames where present.contains(name) { visit(name.utf8.span) }
  }

  func rename(_ name: String, to newName: String) throws(StorageError) {
    throw readOnly(.rename, name)
  }
  func unlink(_ name: String) throws(StorageError) { throw readOnly(.unlink, name) }
  func makeFolder(_ name: String) throws(StorageError) { throw readOnly(.mkdir, name) }
  func syncFolder(_ name: String) throws(StorageError) { throw readOnly(.syncFolder, name) }

  private func readOnly(_ call: StorageError.Call, _ name: String) -> StorageError {
    StorageError(call, name, errno: SystemErrno.readOnly)
  }
}

// MARK: - Whose a backup's folder is: FORMAT.md §26.

/// Holds a folder for backups of one store, for as long as one is being made.
///
/// The folder belongs to that store from the first moment: a manifest without parts says so before anything
/// else is written. What holds something else, another store above all, is left as it is.
struct BackupClaim: ~Copyable {
  /// The backup that is in the folder.
  let manifest: BackupManifest
  private let lock: any StorageFile

  deinit { lock.close() }

  /// - Throws: `alreadyExists` where the folder holds anything but a backup of the store; `busy` where one is
  ///   being made now.
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
