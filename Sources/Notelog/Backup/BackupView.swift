// A backup as the store that it would be restored to: FORMAT.md §26.

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
    _ live: LiveSet, _ keyring: String? = nil
  ) {
    self.keyring = keyring
    self.manifest = manifest
    self.backup = backup
    self.parts = parts
    self.live = live
  }

  /// Shows what the manifest lists: the newest backup, and of the last one of a sound store what the log in the newest names and
  /// the newest lacks.
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
