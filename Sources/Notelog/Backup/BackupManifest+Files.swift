// The two files of a backup's manifest: FORMAT.md §26.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension BackupManifest {
  /// What one of the two files is like.
  enum File {
    case missing
    case unreadable(NotelogError)
    case sound(BackupManifest)

    init(_ name: String, in storage: any Storage) {
      let bytes: [UInt8]
      do throws(StorageError) { bytes = try storage.readWhole(name, upTo: maximumByteCount) } catch {
        self = error.isMissing ? .missing : .unreadable(NotelogError(error))
        return
      }
      if let manifest = BackupManifest(bytes.rawSpan) {
        self = .sound(manifest)
      } else {
        self = .unreadable(NotelogError(.damaged, "the backup's \(name) does not check"))
      }
    }

    var manifest: BackupManifest? { if case .sound(let manifest) = self { manifest } else { nil } }
    var error: NotelogError? { if case .unreadable(let error) = self { error } else { nil } }
  }

  /// Both files.
  struct Files {
    let first: File
    let copy: File

    init(in storage: any Storage) {
      first = File(fileName, in: storage)
      copy = File(copyName, in: storage)
    }

    /// The sound one; of two, the newer.
    var newest: BackupManifest? {
      guard let first = first.manifest, let copy = copy.manifest else {
        return first.manifest ?? copy.manifest
      }
      return copy.generation > first.generation ? copy : first
    }
  }

  /// Reads a backup's manifest; nothing where there is none yet.
  ///
  /// - Throws: `damaged` or `inputOutput` where neither of the files can be read.
  static func read(_ storage: any Storage) throws(NotelogError) -> BackupManifest? {
    let files = Files(in: storage)
    if let newest = files.newest { return newest }
    if let error = files.first.error ?? files.copy.error { throw error }
    return nil
  }

  /// Puts the manifest in the place of the one before, file after file: one of them is whole at any moment.
  func write(to storage: any Storage) throws(StorageError) {
    var buffer = Buffer()
    append(to: &buffer)
    for name in [Self.fileName, Self.copyName] { try storage.replaceWhole(name, with: buffer.bytes.array()) }
  }
}
