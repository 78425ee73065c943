// Small files, which are read and replaced as a whole: the keyring's two, the schemas' second copy, a
// backup's manifest.

import NotelogBase
package import NotelogStorage

extension StorageFile {
  /// All of the file.
  ///
  /// - Parameter limit: Of a file that is longer, a byte more than that is read, which shows it as well as
  ///   all of it.
  /// - Returns: The bytes.
  /// - Throws: What reading throws.
  package func readWhole(upTo limit: Int) throws(StorageError) -> [UInt8] {
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
  /// All of a file.
  ///
  /// - Parameters:
  ///   - name: Its name.
  ///   - limit: Of a file that is longer, a byte more than that is read.
  /// - Returns: The bytes.
  /// - Throws: What opening and reading throw.
  package func readWhole(_ name: String, upTo limit: Int) throws(StorageError) -> [UInt8] {
    try openFile(name, .read).readWhole(upTo: limit)
  }

  /// Replaces a file in one step, durably: a crash at any moment leaves the old one or the new one.
  ///
  /// - Parameters:
  ///   - name: Its name; it is written under the same with `.partial` behind.
  ///   - bytes: All that it is to hold.
  /// - Throws: What stands in the way; then the old one is still there.
  package func replaceWhole(_ name: String, with bytes: [UInt8]) throws(StorageError) {
    let partial = name + FileName.partialSuffix
    do {
      let file = try openEmpty(partial)
      try file.writeAll(bytes.rawSpan, at: 0)
      try file.makeDurable()
      try publish(partial, as: name)
    } catch {
      // It is of no use to anybody, and on a full disk its room is.
      try? unlink(partial)
      throw error
    }
  }
}
