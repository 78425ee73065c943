// The real operating system behind `Storage`.

import NotelogBase
import Synchronization

/// A store's folder on this machine.
///
/// The folder is opened when it is first needed, and stays open until this object goes and all of the store's
/// files are closed: see `SystemFolder`.
package final class SystemStorage: Storage {
  /// The folder's path.
  package let path: String
  private let folder: SystemFolder
  private let pool: DescriptorPool

  /// A folder, which need not be there yet.
  ///
  /// - Parameters:
  ///   - path: Its path.
  ///   - openFileLimit: The most files that are only read and open at once; by what the process may have
  ///     open, unless given.
  package init(path: String, openFileLimit: Int? = nil) {
    self.path = path
    folder = SystemFolder(path: path)
    // A process has other uses for its descriptors, another store perhaps.
    let limit = openFileLimit ?? min(max(Syscall.openFileLimit() / 4, 8), 512)
    pool = DescriptorPool(of: folder, capacity: limit)
  }

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

  package var openFileLimit: Int { pool.capacity }

  package func watch(_ name: String) -> (any StorageWatch)? { SystemWatch(folder, name) }

  package func lockHolder(of name: String) -> String? {
    guard case .success(let file) = folder.openFile(name, StorageOpenMode.read.flags) else { return nil }
    defer { Syscall.closeFile(file.descriptor) }
    return file.identity.lockHolder
  }

  package func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    SystemFile(try pool.open(name, mode))
  }

  package func forEachName(in folder: String, _ visit: (Span<UInt8>) -> Void) throws(StorageError) {
    let descriptor = try pool.retrying { self.folder.open(folder) }
      .orThrow(.readdir, self.folder.path(of: folder))
    try Syscall.forEachName(descriptor, visit).orThrow(.readdir, self.folder.path(of: folder))
  }

  package func rename(_ name: String, to newName: String) throws(StorageError) {
    pool.keep(name)
    pool.keep(newName)
    try pool.retrying {
      folder.with(name) { from, name in
        folder.with(newName) { to, newName in Syscall.renameFile(from, name, to, newName) }
      }
    }.orThrow(.rename, folder.path(of: name))
  }

  package func unlink(_ name: String) throws(StorageError) {
    pool.keep(name)
    try pool.retrying { folder.with(name, Syscall.unlinkFile) }.orThrow(.unlink, folder.path(of: name))
  }

  package func makeFolder(_ name: String) throws(StorageError) {
    try pool.retrying { folder.with(name, Syscall.makeFolder) }.orThrow(.mkdir, folder.path(of: name))
  }

  package func syncFolder(_ name: String) throws(StorageError) {
    let descriptor = try pool.retrying { folder.open(name) }.orThrow(.open, folder.path(of: name))
    defer { Syscall.closeFile(descriptor) }
    try Syscall.syncFolder(descriptor).orThrow(.syncFolder, folder.path(of: name))
  }
}

extension Result where Failure == Errno {
  /// The value, or the error with the call and the name it was made on.
  @discardableResult
  func orThrow(_ call: StorageError.Call, _ name: @autoclosure () -> String) throws(StorageError) -> Success {
    switch self {
    case .success(let value): return value
    case .failure(let errno): throw StorageError(call, name(), errno: errno.number)
    }
  }
}

// MARK: - A store's folder as this machine knows it: one descriptor, and names relative to it.

/// A store's folder, and the folders in it.
///
/// The path is followed once, when the folder is first needed, and may be a link. From then on everything
/// happens in the folder that was found there, wherever its path leads by then, until this object goes. Below
/// it no link is followed: not in the place of a folder, nor of a file.
final class SystemFolder: Sendable {
  let path: String
  /// The descriptor, once the folder was opened.
  private let opened = Lock<Int32?>(nil)

  init(path: String) { self.path = path }

  /// The path of a name in it; its own where the name is empty.
  func path(of name: String) -> String {
    name.isEmpty ? path : path.hasSuffix("/") ? path + name : path + "/" + name
  }

  deinit {
    if let descriptor = opened.withLock({ $0 }) { Syscall.closeFile(descriptor) }
  }

  /// The folder's descriptor.
  private func root() -> Result<Int32, Errno> {
    opened.withLock { opened in
      if let opened { return .success(opened) }
      let result = Syscall.openFolder(path)
      opened = try? result.get()
      return result
    }
  }

  /// Runs a call with the folder that a name lies in, and the name that it has there. A name has at most one
  /// folder in it.
  func with<Value>(
    _ name: String, _ call: (Int32, String) -> Result<Value, Errno>
  ) -> Result<Value, Errno> {
    root().flatMap { root in
      guard let slash = name.utf8.firstIndex(of: UInt8(ascii: "/")) else { return call(root, name) }
      let (folder, rest) = (String(name[..<slash]), String(name[name.utf8.index(after: slash)...]))
      guard ![".", "..", ""].contains(folder), !rest.utf8.contains(UInt8(ascii: "/")) else {
        return .failure(Errno(SystemErrno.invalidArgument))
      }
      return Syscall.openFolder(root, folder).flatMap { descriptor in
        defer { Syscall.closeFile(descriptor) }
        return call(descriptor, rest)
      }
    }
  }

  /// A descriptor of its own of a folder in it, or of itself where the name is empty; the caller closes it.
  func open(_ folder: String) -> Result<Int32, Errno> {
    root().flatMap { Syscall.openFolder($0, folder.isEmpty ? "." : folder) }
  }

  /// Opens a file.
  func openFile(_ name: String, _ flags: Int32) -> Result<OpenedFile, Errno> {
    with(name) { Syscall.openFile($0, $1, flags) }
  }
}

// MARK: - An open file on this machine.

/// An open file: owns its descriptor.
package final class SystemFile: StorageFile {
  private let descriptor: SystemDescriptor
  /// The process that locked the file through this descriptor; 0 while nobody has.
  private let locker = Atomic<Int32>(0)
  private let opener = processIdentifier

  init(_ descriptor: SystemDescriptor) { self.descriptor = descriptor }

  deinit { close() }

  package var name: String { descriptor.name }

  package func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    let number = try descriptor.enter(.read)
    defer { descriptor.leave() }
    return try Syscall.readAt(number, &bytes, offset).orThrow(.read, descriptor.path)
  }

  package func write(_ bytes: RawSpan, at offset: Int) throws(StorageError) -> Int {
    try inside(.write) { Syscall.writeAt($0, bytes, offset) }
  }

  package func allocate(_ range: Range<Int>) throws(StorageError) {
    _ = try inside(.allocate) { Syscall.allocate($0, range) }
  }

  package func truncate(to byteCount: Int) throws(StorageError) {
    _ = try inside(.truncate) { Syscall.truncate($0, byteCount) }
  }

  package func sync() throws(StorageError) { _ = try inside(.sync, Syscall.syncData) }

  package func startWriteback() { _ = try? inside(.sync) { .success(Syscall.startWriteback($0)) } }

  package func endWriting() { descriptor.joinPool() }

  package func byteCount() throws(StorageError) -> Int { try inside(.stat, Syscall.byteCount) }

  package func lock(_ kind: StorageLockKind) throws(StorageError) {
    // The lock is the descriptor's, and would go with it.
    descriptor.leavePool()
    _ = try inside(.lock) { Syscall.lock($0, kind) }
    locker.store(processIdentifier, ordering: .releasing)
  }

  /// Runs a call that must not reach another file, which the descriptor's number may be as soon as this one
  /// is closed.
  private func inside<Value>(
    _ call: StorageError.Call, _ body: (Int32) -> Result<Value, Errno>
  ) throws(StorageError) -> Value {
    let number = try descriptor.enter(call)
    defer { descriptor.leave() }
    return try body(number).orThrow(call, descriptor.path)
  }

  package func close() {
    // In a child that was forked, those who were inside are not there, and never leave.
    guard let number = descriptor.close(waiting: opener == processIdentifier) else { return }
    // A child that was just forked, on its way to another program, holds the lock with its copy of the
    // descriptor: closing ours would not release it. A forked child that closes its copy must not release the
    // lock of its parent.
    let locker = locker.load(ordering: .acquiring)
    if locker != 0, locker == processIdentifier { Syscall.unlock(number) }
    Syscall.closeFile(number)
  }
}

// MARK: - Hearing of changes in a folder, or of a file.

/// What the system tells of a folder or a file: owns its descriptor.
final class SystemWatch: StorageWatch {
  private let descriptor: Int32

  /// Nothing where the system can't tell.
  init?(_ folder: SystemFolder, _ name: String) {
    let opened =
      name.isEmpty
      ? folder.open("") : folder.openFile(name, StorageOpenMode.read.flags).map { $0.descriptor }
    guard case .success(let watched) = opened else { return nil }
    defer { Syscall.closeFile(watched) }
    guard case .success(let descriptor) = Syscall.openWatch(watched) else { return nil }
    self.descriptor = descriptor
  }

  deinit { Syscall.closeFile(descriptor) }

  func wait(_ limit: Duration) {
    let parts = limit.components
    let milliseconds = parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000
    Syscall.waitForWatch(descriptor, Int32(clamping: milliseconds))
  }
}
