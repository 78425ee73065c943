// Copies of files, read back.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension StorageFile {
  /// Takes the first bytes of another file, and reads them back.
  func copyVerified(_ source: any StorageFile, _ byteCount: Int) throws(StorageError) {
    var buffer = Buffer(capacity: SegmentReader.windowByteCount)
    var checksum = Checksum()
    var place = 0
    while place < byteCount {
      buffer.removeAll()
      let count = min(SegmentReader.windowByteCount, byteCount - place)
      guard try buffer.fill(count, from: source, at: place) == count else {
        throw StorageError(.read, source.name, errno: SystemErrno.inputOutput)
      }
      checksum.update(buffer.bytes)
      try writeAll(buffer.bytes, at: place)
      place += count
    }
    guard try Checksum.of(self, byteCount).value == checksum.value else {
      throw StorageError(.write, name, errno: SystemErrno.inputOutput)
    }
  }
}

extension StorageFile {
  /// Takes a range of another file's bytes.
  func copyBytes(of source: any StorageFile, _ range: Range<Int>) throws(StorageError) {
    var buffer = Buffer(capacity: min(SegmentReader.windowByteCount, range.count))
    var place = range.lowerBound
    while place < range.upperBound {
      buffer.removeAll()
      let count = min(SegmentReader.windowByteCount, range.upperBound - place)
      guard try buffer.fill(count, from: source, at: place) == count else {
        throw StorageError(.read, source.name, errno: SystemErrno.inputOutput)
      }
      try writeAll(buffer.bytes, at: place)
      place += count
    }
  }
}

extension Checksum {
  /// The checksum of a file's first bytes.
  static func of(_ file: any StorageFile, _ byteCount: Int) throws(StorageError) -> Checksum {
    var checksum = Checksum()
    var buffer = Buffer(capacity: SegmentReader.windowByteCount)
    var place = 0
    while place < byteCount {
      buffer.removeAll()
      let count = min(SegmentReader.windowByteCount, byteCount - place)
      guard try buffer.fill(count, from: file, at: place) == count else {
        throw StorageError(.read, file.name, errno: SystemErrno.inputOutput)
      }
      checksum.update(buffer.bytes)
      place += count
    }
    return checksum
  }
}
