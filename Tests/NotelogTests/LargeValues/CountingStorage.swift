// A store's folder that counts what is read from it.

import NotelogStorage
@testable import Notelog
import NotelogTestSupport
import Synchronization

/// Counts the bytes and calls of reads, and hands everything on.
final class CountingStorage: ForwardingStorage {
  let base: any Storage
  private let bytes = Atomic<Int>(0)
  private let calls = Atomic<Int>(0)

  init(_ base: any Storage) { self.base = base }

  /// How many bytes were read, and in how many calls.
  var reads: (byteCount: Int, callCount: Int) {
    (bytes.load(ordering: .relaxed), calls.load(ordering: .relaxed))
  }

  fileprivate func count(_ byteCount: Int) {
    bytes.add(byteCount, ordering: .relaxed)
    calls.add(1, ordering: .relaxed)
  }

  func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    CountingFile(try base.open(name, mode), self)
  }
}

private final class CountingFile: ForwardingFile {
  let base: any StorageFile
  private let storage: CountingStorage

  init(_ base: any StorageFile, _ storage: CountingStorage) {
    self.base = base
    self.storage = storage
  }

  func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    let count = try base.read(into: &bytes, at: offset)
    storage.count(count)
    return count
  }
}
