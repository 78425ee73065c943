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

  /// Checks the files that verifying the backup as a store does not: the log's end, of which all bytes have a checksum; what was
  /// damaged in the store; what belongs to the last backup of a sound store alone.
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
      for damage in found ?? [Finding(.backupFile, segment: part.entry.number)]
      where !damages.contains(where: { $0.covers(damage) }) {
        damages.append(damage)
      }
      try progress.advance(by: part.entry.byteCount)
    }
    return damages
  }
}
