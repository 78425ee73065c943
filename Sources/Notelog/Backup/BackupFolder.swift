// A backup as the store that it would be restored to, and whether it is sound: FORMAT.md §26.

import NotelogBase
import NotelogFormat
import NotelogStorage

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
    _ live: LiveSet, _ keyring: String?
  ) {
    self.keyring = keyring
    self.manifest = manifest
    self.backup = backup
    self.parts = parts
    self.live = live
  }

  /// Shows what the manifest lists: the newest backup, and of the last one of a sound store what the log in
  /// the newest names and the newest lacks.
  ///
  /// - Parameters:
  ///   - manifest: The manifest.
  ///   - backup: The backup's folder.
  ///   - keyring: The file that stands for both of the keyring's; nil where they stand for themselves.
  convenience init(_ manifest: BackupManifest, in backup: any Storage, keyring: String? = nil) {
    var parts: [UInt32: BackupManifest.Part] = [:]
    for part in manifest.parts where part.isCurrent { parts[part.entry.number] = part }
    let newest = BackupView(manifest, in: backup, parts, LiveSet(), nil)
    let live = (try? Examination(newest, storeID: manifest.storeID))?.live ?? LiveSet()
    for part in manifest.parts where !part.isCurrent && part.kind == .segment {
      let number = part.entry.number
      if live[number] == part.entry, parts[number]?.kind != .segment { parts[number] = part }
    }
    self.init(manifest, in: backup, parts, live, keyring)
  }

  /// Looks into a folder; nothing where it holds a store, or anything else than a backup.
  ///
  /// - Returns: The backup, where a manifest can be read; and what is wrong with the two.
  static func find(
    in storage: any Storage
  ) throws(NotelogError) -> (view: BackupView?, findings: [Finding])? {
    let names: [String]
    do { names = try storage.names(in: "") } catch {
      if error.isMissing { return nil }
      throw NotelogError(error)
    }
    let isBackup = names.contains { BackupManifest.names.contains($0) || BackupManifest.Part.isName($0) }
    guard isBackup, !names.contains(where: { FileName.segmentNumber($0) != nil }) else { return nil }
    let files = BackupManifest.readBoth(in: storage)
    return (files.newest.map { BackupView($0, in: storage) }, files.findings)
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

  /// Checks the files that verifying the backup as a store does not: the log's end, of which all bytes have a
  /// checksum; what was damaged in the store; what belongs to the last backup of a sound store alone.
  ///
  /// - Returns: What does not check.
  func verifyParts(_ report: @escaping WorkProgress.Report) throws(NotelogError) -> [Finding] {
    let parts = manifest.parts.filter { part in
      part.kind != .segment || !part.isCurrent || live[part.entry.number] != part.entry
    }
    var progress = WorkProgress(total: parts.reduce(0) { $0 + $1.entry.byteCount }, report)
    var damages: [Finding] = []
    for part in parts {
      let found = try? part.damages(in: backup)
      damages.add(found ?? [Finding(.backupFile, segment: part.entry.number)])
      try progress.advance(by: part.entry.byteCount)
    }
    return damages
  }
}
