// A file that is opened when somebody first reads it: a store has many segments, and an opening needs few of them.

import NotelogFormat
import NotelogStorage
import Synchronization

/// A file for reading that is opened at the first read.
///
/// Nothing of it need be checked then: a frame is valid only under the salt of the segment that is meant.
final class DeferredFile: StorageFile {
  /// What the reference holds: it can only hold objects of one class.
  private final class Opened: Sendable {
    let file: any StorageFile
    init(_ file: any StorageFile) { self.file = file }
  }

  private let storage: any Storage
  private let number: UInt32
  private let opened = AtomicLazyReference<Opened>()

  /// The file of a segment.
  init(segment number: UInt32, in storage: any Storage) {
    self.number = number
    self.storage = storage
  }

  var name: String { FileName.segment(number) }

  /// The file, opened now if it wasn't. Of two threads that open it at once, the later closes what it opened.
  private func file() throws(StorageError) -> any StorageFile {
    if let opened = opened.load() { return opened.file }
    let file = try storage.openFile(name, .read)
    let kept = opened.storeIfNil(Opened(file)).file
    if kept !== file { file.close() }
    return kept
  }

  func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    try file().read(into: &bytes, at: offset)
  }

  func byteCount() throws(StorageError) -> Int { try file().byteCount() }

  func close() { opened.load()?.file.close() }
}
