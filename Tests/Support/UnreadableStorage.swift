// A medium with bad sectors.

package import NotelogStorage

/// A folder in which a range of one file can't be read: up to it reads are short, and in it they fail.
package final class UnreadableStorage: ForwardingStorage {
  package let base: any Storage
  private let name: String
  private let range: Range<Int>

  package init(_ base: any Storage, _ name: String, _ range: Range<Int>) {
    self.base = base
    self.name = name
    self.range = range
  }

  package func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    let file = try base.open(name, mode)
    return name == self.name ? UnreadableFile(file, range) : file
  }
}

private final class UnreadableFile: ForwardingFile {
  let base: any StorageFile
  private let range: Range<Int>

  init(_ base: any StorageFile, _ range: Range<Int>) {
    self.base = base
    self.range = range
  }

  func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    let wanted = offset..<min(offset + bytes.byteCount, try base.byteCount())
    guard !wanted.isEmpty, wanted.overlaps(range) else { return try base.read(into: &bytes, at: offset) }
    guard offset < range.lowerBound else {
      throw StorageError(.read, name, errno: SystemErrno.inputOutput)
    }
    var start = bytes._mutatingExtracting(first: range.lowerBound - offset)
    return try base.read(into: &start, at: offset)
  }
}
