// What stands for a file that is not there: FORMAT.md §12, line 7.

import NotelogStorage

/// A segment's file that is missing, or holds something else: nothing can be read of it, as of one that was cut to nothing.
final class MissingFile: StorageFile {
  let name: String

  init(_ name: String) { self.name = name }

  private var missing: StorageError { StorageError(.open, name, errno: SystemErrno.notFound) }

  func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int { 0 }
  func write(_ bytes: RawSpan, at offset: Int) throws(StorageError) -> Int { throw missing }
  func allocate(_ range: Range<Int>) throws(StorageError) { throw missing }
  func truncate(to byteCount: Int) throws(StorageError) { throw missing }
  func sync() throws(StorageError) {}
  func byteCount() throws(StorageError) -> Int { 0 }
  func lock(_ kind: StorageLockKind) throws(StorageError) { throw missing }
  func close() {}
}
