// The real operating system behind `Storage`.

import NotelogBase
import Synchronization

/// A store's folder on this machine.
///
/// The path is followed once, when the folder is first needed, and may be a link. From then on everything
/// happens in the folder that was found there, wherever its path leads by then, until this object goes and all
/// of the store's files are closed. Below it no link is followed: not in the place of a folder, nor of a file.
package final class SystemStorage: Storage {
  /// The folder's path.
  package let path: String
  /// The most files that are only read, and open at once, unless more are being read or have lost their
  /// names.
  package let openFileLimit: Int
  /// The folder's descriptor, once it was opened.
  private let folder = Lock<Int32?>(nil)
  let pool = Lock(DescriptorPool())

  /// A folder, which need not be there yet.
  ///
  /// - Parameters:
  ///   - path: Its path.
  ///   - openFileLimit: The most files that are only read and open at once; by what the process may have
  ///     open, unless given.
  package init(path: String, openFileLimit: Int? = nil) {
    self.path = path
    // A process has other uses for its descriptors, another store perhaps.
    self.openFileLimit = openFileLimit ?? min(max(Syscall.openFileLimit() / 4, 8), 512)
  }

  deinit {
    if let descriptor = folder.withLock({ $0 }) { Syscall.closeFile(descriptor) }
  }

  /// Creates the folder itself, and makes its entry durable in the folder above it: it must still be there
  /// when the power comes back. FORMAT.md §21.2.
  package func makeStoreFolder() throws(StorageError) {
    var path = path[...]
    while path.count > 1, path.last == "/" { path.removeLast() }
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? path
    let parent = path.dropLast(name.count)
    do throws(StorageError) {
      let above = SystemStorage(path: parent.isEmpty ? "." : String(parent))
      try above.makeFolder(String(name))
      try above.makeNamesDurable()
    } catch { throw StorageError(error.call, String(path), errno: error.errno) }
  }

  package func watch(_ name: String) -> StorageWatch? {
    let opened = name.isEmpty ? openFolder("") : openDescriptor(name, .read).map(\.descriptor)
    guard case .success(let watched) = opened else { return nil }
    defer { Syscall.closeFile(watched) }
    guard case .success(let descriptor) = Syscall.openWatch(watched) else { return nil }
    return StorageWatch(descriptor)
  }

  package func lockHolder(of name: String) -> String? {
    guard case .success(let file) = openDescriptor(name, .read) else { return nil }
    defer { Syscall.closeFile(file.descriptor) }
    return file.identity.lockHolder
  }

  package func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    let opened = try perform(.open, name) { openDescriptor(name, mode) }
    if mode.mayWrite, opened.nameCount > 1 {
      // Its other name may be outside the store: what is written here would be written there.
      Syscall.closeFile(opened.descriptor)
      throw StorageError(.open, path(of: name), errno: SystemErrno.manyNames)
    }
    let descriptor = SystemDescriptor(opened, name, in: self)
    if mode == .read { add(descriptor) }
    return SystemFile(descriptor)
  }

  package func forEachName(in folder: String, _ visit: (Span<UInt8>) -> Void) throws(StorageError) {
    let descriptor = try perform(.readdir, folder) { openFolder(folder) }
    try Syscall.forEachName(descriptor, visit).orThrow(.readdir, path(of: folder))
  }

  package func rename(_ name: String, to newName: String) throws(StorageError) {
    keep(name)
    keep(newName)
    _ = try perform(.rename, name) {
      with(name) { from, name in
        with(newName) { to, newName in Syscall.renameFile(from, name, to, newName) }
      }
    }
  }

  package func unlink(_ name: String) throws(StorageError) {
    keep(name)
    _ = try perform(.unlink, name) { with(name, Syscall.unlinkFile) }
  }

  package func makeFolder(_ name: String) throws(StorageError) {
    _ = try perform(.mkdir, name) { with(name, Syscall.makeFolder) }
  }

  package func syncFolder(_ name: String) throws(StorageError) {
    let descriptor = try perform(.open, name) { openFolder(name) }
    defer { Syscall.closeFile(descriptor) }
    try Syscall.syncFolder(descriptor).orThrow(.syncFolder, path(of: name))
  }

  // MARK: - Names relative to the folder

  /// The path of a name in it; its own where the name is empty.
  func path(of name: String) -> String {
    name.isEmpty ? path : path.hasSuffix("/") ? path + name : path + "/" + name
  }

  /// Runs a call with the folder that a name lies in, and the name that it has there. A name has at most one
  /// folder in it.
  private func with<Value>(
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

  /// The folder's descriptor.
  private func root() -> Result<Int32, Errno> {
    folder.withLock { folder in
      if let folder { return .success(folder) }
      let result = Syscall.openFolder(path)
      folder = try? result.get()
      return result
    }
  }

  /// A descriptor of its own of a folder in it, or of itself where the name is empty; the caller closes it.
  private func openFolder(_ name: String) -> Result<Int32, Errno> {
    root().flatMap { Syscall.openFolder($0, name.isEmpty ? "." : name) }
  }

  /// Opens a file; the caller closes it.
  func openDescriptor(_ name: String, _ mode: StorageOpenMode) -> Result<OpenedFile, Errno> {
    with(name) { Syscall.openFile($0, $1, mode.flags) }
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

  package var isNamed: Bool {
    guard case .success(let file) = descriptor.storage.openDescriptor(name, .read) else { return false }
    defer { Syscall.closeFile(file.descriptor) }
    return file.identity == descriptor.identity
  }

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

  package func endWriting() { descriptor.storage.add(descriptor) }

  package func byteCount() throws(StorageError) -> Int { try inside(.stat, Syscall.byteCount) }

  package func lock(_ kind: StorageLockKind) throws(StorageError) {
    // The lock is the descriptor's, and would go with it.
    descriptor.storage.forget(descriptor)
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

/// Tells when a file or something in a folder changes: owns its descriptor.
package final class StorageWatch: Sendable {
  private let descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { Syscall.closeFile(descriptor) }

  /// Returns when something has changed since it returned last, or when the time is over.
  package func wait(_ limit: Duration) {
    let parts = limit.components
    let milliseconds = parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000
    Syscall.waitForWatch(descriptor, Int32(clamping: milliseconds))
  }
}
