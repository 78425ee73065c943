// A folder in memory, as quick as can be: no crash, no fault, and only so much space.

@testable import NotelogBase
@testable import NotelogFormat
@testable import Notelog
@testable import NotelogStorage
import Synchronization

/// A store's folder without a disk. Locks are granted to everybody.
final class MemoryStorage: Storage {
  /// A reader that wants more than that has lost its way.
  static let byteCountMax = 64 << 20

  private let files: Mutex<[String: MemoryFile]>
  private let folders = Mutex<Set<String>>([""])

  init(_ files: [String: [UInt8]] = [:]) { self.files = Mutex(files.mapValues(MemoryFile.init)) }

  /// The files' bytes as they are now.
  var contents: [String: [UInt8]] { files.withLock { $0.mapValues(\.content) } }

  func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    let file = files.withLock { files -> MemoryFile? in
      if let file = files[name] { return mode == .createNew ? nil : file }
      guard mode == .createNew || mode == .createIfMissing || mode == .lock else { return nil }
      let file = MemoryFile([])
      files[name] = file
      return file
    }
    guard let file else {
      throw StorageError(.open, name, errno: mode == .createNew ? SystemErrno.exists : SystemErrno.notFound)
    }
    return file
  }

  func forEachName(in folder: String, _ visit: (Span<UInt8>) -> Void) throws(StorageError) {
    guard folders.withLock({ $0.contains(folder) }) else {
      throw StorageError(.readdir, folder, errno: SystemErrno.notFound)
    }
    let prefix = folder.isEmpty ? "" : folder + "/"
    let names = files.withLock {
      $0.keys.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
    for name in names where !name.contains("/") { visit(name.utf8.span) }
  }

  func rename(_ name: String, to newName: String) throws(StorageError) {
    let isThere = files.withLock { files in
      guard let file = files.removeValue(forKey: name) else { return false }
      files[newName] = file
      return true
    }
    guard isThere else { throw StorageError(.rename, name, errno: SystemErrno.notFound) }
  }

  func unlink(_ name: String) throws(StorageError) {
    guard files.withLock({ $0.removeValue(forKey: name) }) != nil else {
      throw StorageError(.unlink, name, errno: SystemErrno.notFound)
    }
  }

  func makeFolder(_ name: String) throws(StorageError) {
    guard folders.withLock({ $0.insert(name).inserted }) else {
      throw StorageError(.mkdir, name, errno: SystemErrno.exists)
    }
  }

  func syncFolder(_ name: String) throws(StorageError) {}
}

/// A file in memory.
private final class MemoryFile: StorageFile {
  private let bytes: Mutex<[UInt8]>

  init(_ bytes: [UInt8]) { self.bytes = Mutex(bytes) }

  var content: [UInt8] { bytes.withLock { $0 } }

  func read(into span: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    let content = content
    guard offset < content.count else { return 0 }
    let count = min(span.byteCount, content.count - offset)
    span.copy(content.rawSpan.extracting(offset..<offset + count), at: 0)
    return count
  }

  func write(_ span: RawSpan, at offset: Int) throws(StorageError) -> Int {
    if offset + span.byteCount > content.count { try truncate(to: offset + span.byteCount) }
    bytes.withLock { content in
      content.withBytes(in: offset..<offset + span.byteCount) { $0.copy(span, at: 0) }
    }
    return span.byteCount
  }

  func allocate(_ range: Range<Int>) throws(StorageError) {
    if range.upperBound > content.count { try truncate(to: range.upperBound) }
  }

  func truncate(to byteCount: Int) throws(StorageError) {
    guard byteCount <= MemoryStorage.byteCountMax else {
      throw StorageError(.truncate, "", errno: SystemErrno.noSpace)
    }
    bytes.withLock { content in
      if byteCount < content.count {
        content.removeLast(content.count - byteCount)
      } else {
        content += [UInt8](repeating: 0, count: byteCount - content.count)
      }
    }
  }

  var name: String { "" }
  func sync() throws(StorageError) {}
  func startWriteback() {}
  func endWriting() {}
  func byteCount() throws(StorageError) -> Int { bytes.withLock { $0.count } }
  func lock(_ kind: StorageLockKind) throws(StorageError) {}
  func close() {}
}
