// The real operating system behind `Storage`.

import NotelogConcurrency
import Synchronization

/// A store's folder on this machine.
package final class SystemStorage: Storage {
  /// The folder's path.
  package let path: String

  package init(path: String) { self.path = path }

  /// Creates the folder itself, and makes its entry durable in the folder above it.
  package func makeStoreFolder() throws(StorageError) {
    var path = path[...]
    while path.count > 1, path.last == "/" { path.removeLast() }
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? path
    let parent = path.dropLast(name.count)
    do throws(StorageError) {
      try SystemStorage(path: parent.isEmpty ? "." : String(parent)).makeDurableFolder(String(name))
    } catch { throw StorageError(error.call, String(path), errno: error.errno) }
  }

  package func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    let descriptor = try Syscall.openFile(full(name), mode.flags).orThrow(.open, name)
    return SystemFile(descriptor: descriptor, name: name)
  }

  package func forEachName(in folder: String, _ visit: (Span<UInt8>) -> Void) throws(StorageError) {
    try Syscall.forEachName(full(folder), visit).orThrow(.readdir, folder)
  }

  package func rename(_ name: String, to newName: String) throws(StorageError) {
    try Syscall.renameFile(full(name), full(newName)).orThrow(.rename, name)
  }

  package func unlink(_ name: String) throws(StorageError) {
    try Syscall.unlinkFile(full(name)).orThrow(.unlink, name)
  }

  package func makeFolder(_ name: String) throws(StorageError) {
    try Syscall.makeFolder(full(name)).orThrow(.mkdir, name)
  }

  package func syncFolder(_ name: String) throws(StorageError) {
    let descriptor = try Syscall.openFile(full(name), SystemOpenFlags.folder).orThrow(.open, name)
    defer { Syscall.closeFile(descriptor) }
    try Syscall.syncFolder(descriptor).orThrow(.syncFolder, name)
  }

  private func full(_ name: String) -> String { name.isEmpty ? path : path + "/" + name }
}

/// An open file: owns its descriptor.
package final class SystemFile: StorageFile {
  package let name: String
  private let descriptor: Int32
  private let isOpen = Flag(true)
  /// The process that locked the file through this descriptor; 0 while nobody has.
  private let locker = Atomic<Int32>(0)
  /// Those who change it, or sync it, just now.
  private let changers = Occupancy()
  private let opener = Syscall.processIdentifier()

  init(descriptor: Int32, name: String) {
    self.descriptor = descriptor
    self.name = name
  }

  deinit { close() }

  package func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    // By now the number may be another file's.
    guard isOpen.isSet else { throw StorageError(.read, name, errno: SystemErrno.badDescriptor) }
    return try Syscall.readAt(descriptor, &bytes, offset).orThrow(.read, name)
  }

  package func write(_ bytes: RawSpan, at offset: Int) throws(StorageError) -> Int {
    try changing(.write) { Syscall.writeAt(descriptor, bytes, offset) }
  }

  package func allocate(_ range: Range<Int>) throws(StorageError) {
    _ = try changing(.allocate) { Syscall.allocate(descriptor, range) }
  }

  package func truncate(to byteCount: Int) throws(StorageError) {
    _ = try changing(.truncate) { Syscall.truncate(descriptor, byteCount) }
  }

  package func sync() throws(StorageError) {
    _ = try changing(.sync) { Syscall.syncData(descriptor) }
  }

  /// Runs a call that must not reach another file, which the descriptor's number may be as soon as this one is closed.
  private func changing<Value>(
    _ call: StorageError.Call, _ body: () -> Result<Value, Errno>
  ) throws(StorageError) -> Value {
    guard changers.enter() else { throw StorageError(call, name, errno: SystemErrno.badDescriptor) }
    defer { changers.leave() }
    return try body().orThrow(call, name)
  }

  package func startWriteback() { Syscall.startWriteback(descriptor) }

  package func byteCount() throws(StorageError) -> Int {
    try Syscall.byteCount(descriptor).orThrow(.stat, name)
  }

  package func lock(_ kind: StorageLockKind) throws(StorageError) {
    try Syscall.lock(descriptor, kind).orThrow(.lock, name)
    locker.store(Syscall.processIdentifier(), ordering: .releasing)
  }

  package func close() {
    guard isOpen.exchange(false) else { return }
    changers.bar()
    // In a child that was forked, those who were inside are not there, and never leave.
    if opener == Syscall.processIdentifier() { changers.waitUntilEmpty() }
    // A child that was just forked, on its way to another program, holds the lock with its copy of the descriptor: closing
    // ours would not release it. A forked child that closes its copy must not release the lock of its parent.
    let locker = locker.load(ordering: .acquiring)
    if locker != 0, locker == Syscall.processIdentifier() { Syscall.unlock(descriptor) }
    Syscall.closeFile(descriptor)
  }
}

extension Result where Failure == Errno {
  /// The value, or the error with the call and the name it was made on.
  @discardableResult
  func orThrow(_ call: StorageError.Call, _ name: String) throws(StorageError) -> Success {
    switch self {
    case .success(let value): return value
    case .failure(let errno): throw StorageError(call, name, errno: errno.number)
    }
  }
}
