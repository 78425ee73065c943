// The operating system as the store sees it: one protocol, so that crash and fault tests run the shipping code.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

/// A store's folder.
///
/// Each requirement is one system call, with its errors and without retries: what survives `EINTR`, a short write or a
/// failing disk is decided above this protocol, where the simulated disk can try it. Names are relative to the folder.
package protocol Storage: AnyObject, Sendable {
  /// The folder's path as it was given, for errors; empty where there is none.
  var path: String { get }
  /// How many files that are only read it keeps open at once. It closes others behind the scenes, and opens them again when they are
  /// read: that fails where another process has removed them meanwhile.
  var openFileLimit: Int { get }
  /// Opens a file. The corresponding C function is `openat`.
  func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile
  /// Shows the names in a folder (`""` is the store's own), in no particular order. The C function is `readdir`.
  ///
  /// As bytes: an opening looks at the names of a thousand segments, and needs the numbers in them.
  func forEachName(in folder: String, _ visit: (Span<UInt8>) -> Void) throws(StorageError)
  /// Moves a file over another in one step. The corresponding C function is `rename`.
  func rename(_ name: String, to newName: String) throws(StorageError)
  /// Removes a file's name. The corresponding C function is `unlink`.
  func unlink(_ name: String) throws(StorageError)
  /// Creates a folder. The corresponding C function is `mkdir`.
  func makeFolder(_ name: String) throws(StorageError)
  /// Makes a folder's entries durable. The C function is `fsync` on the folder.
  func syncFolder(_ name: String) throws(StorageError)
  /// What tells when a file is written, or something in the folder changes where the name is empty; nothing where the system has nothing
  /// of the kind, or there is no such file. Linux's `inotify`.
  func watch(_ name: String) -> (any StorageWatch)?
  /// Who holds a lock on a file; nothing where nobody does, or the system doesn't say. Linux's `/proc/locks`.
  func lockHolder(of name: String) -> LockHolder?
}

/// Tells when a file or something in a folder changes.
package protocol StorageWatch: AnyObject, Sendable {
  /// Returns when something has changed since it returned last, or when the time is over.
  func wait(_ limit: Duration)
}

/// An open file of a store.
public protocol StorageFile: AnyObject, Sendable {
  /// The name it was opened under, for errors; empty where nobody knows.
  var name: String { get }
  /// Reads at most the span's length, less only at the file's end or where the system says so. C's `pread`.
  func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int
  /// Writes and returns how many bytes were taken, which may be fewer than given. C's `pwrite`.
  func write(_ bytes: RawSpan, at offset: Int) throws(StorageError) -> Int
  /// Promises space and grows the file with zeros. C's `fallocate`; throws `EOPNOTSUPP` where there is none.
  func allocate(_ range: Range<Int>) throws(StorageError)
  /// Cuts or grows the file. The corresponding C function is `ftruncate`.
  func truncate(to byteCount: Int) throws(StorageError)
  /// Makes the file's content and length durable: `fdatasync`, or `F_FULLFSYNC` on Darwin.
  func sync() throws(StorageError)
  /// Hints that the content will be synced before long. Promises nothing. Linux's `sync_file_range`.
  func startWriteback()
  /// Says that it is durable, and only read from now on.
  func endWriting()
  /// The file's length. The corresponding C function is `fstat`.
  func byteCount() throws(StorageError) -> Int
  /// Takes the advisory lock without waiting; throws `EWOULDBLOCK` where another holds it. C's `flock`.
  func lock(_ kind: StorageLockKind) throws(StorageError)
  /// Closes the descriptor; the file must not be used afterwards. The corresponding C function is `close`.
  func close()
}

extension Storage {
  /// What has no descriptors keeps all files open.
  package var openFileLimit: Int { Int.max }

  package var path: String { "" }

  package func watch(_ name: String) -> (any StorageWatch)? { nil }

  package func lockHolder(of name: String) -> LockHolder? { nil }
}

extension StorageFile {
  package var name: String { "" }

  /// Where a system has no such hint, nothing is lost but time.
  package func startWriteback() {}

  /// Where a file takes nothing while it is open, it stays open.
  package func endWriting() {}
}

/// What is only read, and so need not say how it is written.
extension StorageFile {
  package func write(_ bytes: RawSpan, at offset: Int) throws(StorageError) -> Int { throw readOnly(.write) }
  package func allocate(_ range: Range<Int>) throws(StorageError) { throw readOnly(.allocate) }
  package func truncate(to byteCount: Int) throws(StorageError) { throw readOnly(.truncate) }
  package func sync() throws(StorageError) { throw readOnly(.sync) }
  package func lock(_ kind: StorageLockKind) throws(StorageError) { throw readOnly(.lock) }

  private func readOnly(_ call: StorageError.Call) -> StorageError {
    StorageError(call, name, errno: SystemErrno.readOnly)
  }
}

/// How a file is opened. Every mode is close-on-exec.
package enum StorageOpenMode: Sendable {
  /// For reading an existing file.
  case read
  /// For reading and writing an existing file. One that has another name too is refused, as the others are that may write.
  case update
  /// For reading and writing a file that must not exist yet.
  case createNew
  /// For reading and writing, created empty if missing.
  case createIfMissing
  /// For locking, created empty if missing. What is in it is never changed, so it may have other names.
  case lock
}

/// The two kinds of advisory lock.
public enum StorageLockKind: Sendable {
  /// Held by many at once.
  case shared
  /// Held by one alone.
  case exclusive
}

/// A system call that failed.
public struct StorageError: Error, Equatable, Sendable {
  /// The calls that can fail.
  public enum Call: String, Sendable {
    case open, readdir, rename, unlink, mkdir, read, write, allocate, truncate, sync, syncFolder, stat, lock
  }

  /// What was asked.
  public let call: Call
  /// The file or folder it was asked of; of the real system with its path.
  public let name: String
  /// The system's error number.
  public let errno: Int32

  public init(_ call: Call, _ name: String, errno: Int32) {
    self.call = call
    self.name = name
    self.errno = errno
  }
}

extension StorageError {
  /// The folder that it is about; empty where the name is no path.
  package var folder: String {
    switch call {
    case .readdir, .syncFolder, .mkdir: name.contains("/") ? name : ""
    default: String(name[..<(name.lastIndex(of: "/") ?? name.startIndex)])
    }
  }

  /// Whether something else than a file has the name: a link, a folder, a pipe, a device.
  package var isOfNoFile: Bool {
    call == .open
      && [SystemErrno.link, SystemErrno.invalidArgument, SystemErrno.isFolder].contains(errno)
  }

  /// Why it failed, in words: the system's, or plainer ones.
  package var reason: String {
    guard call == .open else { return SystemErrno.message(errno) }
    switch errno {
    case SystemErrno.link: return "it is a symbolic link, and links are not followed"
    case SystemErrno.invalidArgument, SystemErrno.isFolder: return "it is not a regular file"
    case SystemErrno.manyNames:
      return
        "it has a second name (a hard link), and writing to it would change that file too; put a copy in its place"
    case SystemErrno.stale: return "another process has removed it meanwhile; open the store again"
    default: return SystemErrno.message(errno)
    }
  }
}
