// The real operating system behind `Storage`.

/// A store's folder on this machine.
///
/// The folder is opened when it is first needed, and stays open until this object goes and all of the store's files are closed: see
/// `SystemFolder`.
package final class SystemStorage: Storage {
  /// The folder's path.
  package let path: String
  private let folder: SystemFolder
  private let pool: DescriptorPool

  /// A folder, which need not be there yet.
  ///
  /// - Parameters:
  ///   - path: Its path.
  ///   - openFileLimit: The most files that are only read and open at once; by what the process may have open, unless given.
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

  package func lockHolder(of name: String) -> LockHolder? {
    guard case .success(let file) = folder.openFile(name, StorageOpenMode.read.flags) else { return nil }
    defer { Syscall.closeFile(file.descriptor) }
    return LockHolder(of: file.identity)
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
