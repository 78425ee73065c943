// A folder in memory behind `Storage`: nothing of it is on a disk.

import NotelogBase

/// A folder whose files are bytes in memory. They go when nobody holds it, nor a file of it, any more.
///
/// It is a disk that never fails and where everything is durable at once. Folders in it are there by
/// themselves, and locks are granted to everybody: it is one store's, and nobody else reaches it.
package final class MemoryStorage: Storage {
  /// A file's bytes, which outlive its name while it is open.
  final class Content: Sendable {
    let bytes: Lock<[UInt8]>

    init(_ bytes: [UInt8] = []) { self.bytes = Lock(bytes) }
  }

  let files = Lock<[String: Content]>([:])

  /// An empty folder.
  package init() {}

  package var path: String { "in memory" }

  package func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    let isMade = mode != .read && mode != .update
    let content = files.withLock { files -> Content? in
      if let content = files[name] { return mode == .createNew ? nil : content }
      if isMade { files[name] = Content() }
      return files[name]
    }
    if let content { return MemoryFile(content) }
    throw StorageError(.open, name, errno: isMade ? SystemErrno.exists : SystemErrno.notFound)
  }

  package func forEachName(in folder: String, _ visit: (Span<UInt8>) -> Void) throws(StorageError) {
    let prefix = folder.isEmpty ? "" : folder + "/"
    let names = files.withLock { files in files.keys.filter { $0.hasPrefix(prefix) } }
    for name in names.map({ String($0.dropFirst(prefix.count)) }) where !name.contains("/") {
      visit(name.utf8.span)
    }
  }

  package func rename(_ name: String, to newName: String) throws(StorageError) {
    try files.withLock { files throws(StorageError) in
      guard let file = files.removeValue(forKey: name) else {
        throw StorageError(.rename, name, errno: SystemErrno.notFound)
      }
      files[newName] = file
    }
  }

  package func unlink(_ name: String) throws(StorageError) {
    let isThere = files.withLock { $0.removeValue(forKey: name) != nil }
    if !isThere { throw StorageError(.unlink, name, errno: SystemErrno.notFound) }
  }

  package func makeFolder(_ name: String) throws(StorageError) {}
  package func syncFolder(_ name: String) throws(StorageError) {}
}

/// An open file in memory.
package final class MemoryFile: StorageFile {
  private let content: MemoryStorage.Content
  private let isClosed = Flag(false)

  init(_ content: MemoryStorage.Content) { self.content = content }

  /// A file of these bytes, which is in no folder.
  package init(_ bytes: [UInt8]) { content = MemoryStorage.Content(bytes) }

  package func read(into span: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    let bytes = try use(.read) { $0 }
    let count = min(span.byteCount, bytes.count - offset)
    guard count > 0 else { return 0 }
    span.copy(bytes.rawSpan.extracting(offset..<offset + count))
    return count
  }

  package func write(_ span: RawSpan, at offset: Int) throws(StorageError) -> Int {
    let range = offset..<offset + span.byteCount
    try use(.write, upTo: range.upperBound) { $0.withBytes(in: range) { $0.copy(span) } }
    return span.byteCount
  }

  package func allocate(_ range: Range<Int>) throws(StorageError) {
    try use(.allocate, upTo: range.upperBound) { _ in }
  }

  package func truncate(to byteCount: Int) throws(StorageError) {
    try use(.truncate, upTo: byteCount) { $0.removeLast($0.count - byteCount) }
  }

  /// Uses the bytes, after zeros were added up to a length.
  private func use<Result: Sendable>(
    _ call: StorageError.Call, upTo byteCount: Int = 0, _ body: (inout [UInt8]) -> Result
  ) throws(StorageError) -> Result {
    if isClosed.isSet { throw StorageError(call, name, errno: SystemErrno.badDescriptor) }
    return content.bytes.withLock { bytes in
      if byteCount > bytes.count { bytes += repeatElement(0, count: byteCount - bytes.count) }
      return body(&bytes)
    }
  }

  package func sync() throws(StorageError) {}
  package func byteCount() throws(StorageError) -> Int { try use(.stat) { $0.count } }
  package func lock(_ kind: StorageLockKind) throws(StorageError) {}
  package func close() { _ = isClosed.exchange(true) }
}
