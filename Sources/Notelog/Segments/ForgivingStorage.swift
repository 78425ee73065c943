// A store's folder on a medium with bad sectors, read all the same: FORMAT.md §12.3.

import NotelogFormat
import NotelogStorage

/// A folder in which unreadable sectors of segments read as zeros. Whoever writes does not look through it: what a recovery can't read it
/// must not cut.
final class ForgivingStorage: Storage {
  private let base: any Storage

  init(_ base: any Storage) { self.base = base }

  var path: String { base.path }
  var openFileLimit: Int { base.openFileLimit }

  func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    let file = try base.open(name, mode)
    return mode == .read && FileName.segmentNumber(name) != nil ? ForgivingFile(file) : file
  }

  func forEachName(in folder: String, _ visit: (Span<UInt8>) -> Void) throws(StorageError) {
    try base.forEachName(in: folder, visit)
  }
  func rename(_ name: String, to newName: String) throws(StorageError) {
    try base.rename(name, to: newName)
  }
  func unlink(_ name: String) throws(StorageError) { try base.unlink(name) }
  func makeFolder(_ name: String) throws(StorageError) { try base.makeFolder(name) }
  func syncFolder(_ name: String) throws(StorageError) { try base.syncFolder(name) }
  func watch(_ name: String) -> (any StorageWatch)? { base.watch(name) }
  func lockHolder(of name: String) -> LockHolder? { base.lockHolder(of: name) }
}

extension FoundSegment {
  /// Where the medium has not given bytes that were asked for so far.
  var unreadableDamages: [Finding] {
    ((file as? ForgivingFile)?.unreadable ?? []).map {
      Finding(.unreadableBytes, segment: number, offset: $0.lowerBound, byteCount: $0.count)
    }
  }
}
