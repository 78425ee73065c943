// What stands for a file that is not there: FORMAT.md §12, line 7.

import NotelogStorage

/// A segment's file that is missing, or holds something else: nothing can be read of it, as of one that was cut to nothing.
final class MissingFile: StorageFile {
  let name: String

  init(_ name: String) { self.name = name }

  func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int { 0 }
  func sync() throws(StorageError) {}
  func byteCount() throws(StorageError) -> Int { 0 }
  func close() {}
}
