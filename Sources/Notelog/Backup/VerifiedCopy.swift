// Copies of files, read back.

import NotelogBase
import NotelogStorage

extension StorageFile {
  /// Takes the first bytes of another file, and reads them back.
  func copyVerified(_ source: any StorageFile, _ byteCount: Int) throws(StorageError) {
    let checksum = try copyBytes(of: source, 0..<byteCount)
    guard try Checksum.of(self, byteCount).value == checksum.value else {
      throw StorageError(.write, name, errno: SystemErrno.inputOutput)
    }
  }
}

extension Checksum {
  /// The checksum of a file's first bytes.
  static func of(_ file: any StorageFile, _ byteCount: Int) throws(StorageError) -> Checksum {
    var checksum = Checksum()
    try file.forEachPiece(of: 0..<byteCount) { bytes, _ in checksum.update(bytes) }
    return checksum
  }
}
