// The library's folder in memory, put together of files, and taken apart.

@testable import NotelogBase
@testable import NotelogStorage

extension MemoryStorage {
  /// A folder with files. What makes them too long meets the fuzzer's bound on memory.
  convenience init(_ files: [String: [UInt8]]) {
    self.init()
    for (name, bytes) in files {
      let content = Content()
      content.bytes.withLock { $0 = bytes }
      self.files.withLock { $0[name] = content }
    }
  }

  /// The files' bytes as they are now.
  var contents: [String: [UInt8]] { files.withLock { $0.mapValues { file in file.bytes.withLock { $0 } } } }
}
