// Small files, which are read and replaced as a whole: the keyring's two, the schemas' second copy, the marks of a creation.

import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogJournal

extension StorageFile {
  /// All of the file; of one that is longer than `limit` a byte more than that, which shows it as well as all of it.
  func readWhole(upTo limit: Int) throws(StorageError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: min(try byteCount(), limit + 1))
    let count = try bytes.withBytes(in: 0..<bytes.count) {
      (span: inout MutableRawSpan) throws(StorageError) in
      try readFully(into: &span, at: 0)
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}

extension Storage {
  /// All of a file; of one that is longer than `limit` a byte more than that.
  func readWhole(_ name: String, upTo limit: Int) throws(StorageError) -> [UInt8] {
    let file = try open(name, .read)
    defer { file.close() }
    return try file.readWhole(upTo: limit)
  }

  /// Replaces a file in one step, durably: a crash at any moment leaves the old one or the new one.
  func replaceWhole(_ name: String, with bytes: [UInt8]) throws(StorageError) {
    let partial = name + FileName.partialSuffix
    do {
      let file = try openEmpty(partial)
      defer { file.close() }
      try file.writeAll(bytes.rawSpan, at: 0)
      try file.sync()
      try rename(partial, to: name)
    } catch {
      // It is of no use to anybody, and on a full disk its room is.
      try? unlink(partial)
      throw error
    }
    try syncFolder("")
  }
}
