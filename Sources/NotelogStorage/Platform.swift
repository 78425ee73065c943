// The one file that knows which C library and which system it stands on.

internal import CSystem

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The system's error numbers that the store tells apart.
package enum SystemErrno {
  package static let interrupted = EINTR
  package static let noSpace = ENOSPC
  package static let quotaExceeded = EDQUOT
  package static let notFound = ENOENT
  package static let exists = EEXIST
  package static let inputOutput = EIO
  package static let notSupported = EOPNOTSUPP
  package static let invalidArgument = EINVAL
  package static let link = ELOOP
  package static let wouldBlock = EWOULDBLOCK
  package static let badDescriptor = EBADF
  package static let readOnly = EROFS
  package static let accessDenied = EACCES
  package static let isFolder = EISDIR
  package static let notFolder = ENOTDIR
  package static let manyNames = EMLINK
  package static let stale = ESTALE
  static let tooManyOpen = EMFILE
  static let tooManyOpenInSystem = ENFILE

  /// The system's words for an error number.
  package static func message(_ number: Int32) -> String {
    // SAFETY: strerror returns a C string that lives until this thread's next call; it is copied at once.
    unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
  }
}

/// System calls, one function each: the arguments pass through, a failure is the error number.
enum Syscall {
  /// Watches a file for writes; or a folder, for files in it that are written, made, renamed or removed.
  static func openWatch(_ watched: Int32) -> Result<Int32, Errno> {
    #if os(Linux)
      let watch = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
      guard watch >= 0 else { return .failure(Errno(errno)) }
      let events = UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE)
      // SAFETY: Swift lends the path as a C string for the call.
      guard unsafe inotify_add_watch(watch, "/proc/self/fd/\(watched)", events) >= 0 else {
        let number = errno
        closeFile(watch)
        return .failure(Errno(number))
      }
      return .success(watch)
    #else
      return .failure(Errno(SystemErrno.notSupported))
    #endif
  }

  /// Returns when there is something to tell, or the time is over; what there is, is forgotten.
  static func waitForWatch(_ watch: Int32, _ milliseconds: Int32) {
    var request = pollfd(fd: watch, events: Int16(POLLIN), revents: 0)
    // SAFETY: one structure, which outlives the call.
    guard unsafe poll(&request, 1, milliseconds) > 0 else { return }
    unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      // SAFETY: the memory is as long as that, and what is in it is not looked at.
      while unsafe read(watch, buffer.baseAddress, buffer.count) > 0 {}
    }
  }

  /// Opens a file of a folder, and nothing else: no link to another place, no device, no pipe that would
  /// block.
  static func openFile(_ folder: Int32, _ name: String, _ flags: Int32) -> Result<OpenedFile, Errno> {
    // SAFETY: Swift lends the name as a C string for the call.
    let opened = unsafe result(openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600))
    return opened.flatMap { descriptor in
      var status = stat()
      // SAFETY: the pointer is to a local that outlives the call.
      let number = unsafe fstat(descriptor, &status) == 0 ? EINVAL : errno
      guard status.st_mode & S_IFMT == S_IFREG else {
        closeFile(descriptor)
        return .failure(Errno(number))
      }
      return .success(OpenedFile(descriptor: descriptor, status))
    }
  }

  /// Opens a folder by its path, which may be a link.
  static func openFolder(_ path: String) -> Result<Int32, Errno> {
    // SAFETY: Swift lends the path as a C string for the call.
    unsafe result(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
  }

  /// Opens a folder in a folder; `.` is that one itself, once more. A link is not followed.
  static func openFolder(_ folder: Int32, _ name: String) -> Result<Int32, Errno> {
    // SAFETY: Swift lends the name as a C string for the call.
    unsafe result(openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
  }

  /// How many files a process may have open at once.
  static func openFileLimit() -> Int {
    let limit = sysconf(Int32(_SC_OPEN_MAX))
    return limit > 0 ? limit : Int.max
  }

  static func closeFile(_ descriptor: Int32) {
    // The descriptor is gone even where close reports an error; data were synced, or not promised.
    _ = close(descriptor)
  }

  static func readAt(_ descriptor: Int32, _ bytes: inout MutableRawSpan, _ offset: Int) -> Result<Int, Errno>
  {
    // SAFETY: the pointer covers exactly the span's bytes and does not outlive the call.
    unsafe bytes.withUnsafeMutableBytes {
      unsafe result(pread(descriptor, $0.baseAddress, $0.count, off_t(offset)))
    }
  }

  static func writeAt(_ descriptor: Int32, _ bytes: RawSpan, _ offset: Int) -> Result<Int, Errno> {
    // SAFETY: the pointer covers exactly the span's bytes and does not outlive the call.
    unsafe bytes.withUnsafeBytes {
      unsafe result(pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)))
    }
  }

  /// Promises the range's blocks and grows the file; Darwin has no call that also reads back as zeros.
  static func allocate(_ descriptor: Int32, _ range: Range<Int>) -> Result<Int32, Errno> {
    #if canImport(Darwin)
      return .failure(Errno(EOPNOTSUPP))
    #else
      return result(fallocate(descriptor, 0, off_t(range.lowerBound), off_t(range.count)))
    #endif
  }

  static func truncate(_ descriptor: Int32, _ byteCount: Int) -> Result<Int32, Errno> {
    result(ftruncate(descriptor, off_t(byteCount)))
  }

  /// Durable on the medium: on Darwin `fsync` alone stops at the drive's cache.
  static func syncData(_ descriptor: Int32) -> Result<Int32, Errno> {
    #if canImport(Darwin)
      return result(fcntl(descriptor, F_FULLFSYNC))
    #else
      return result(fdatasync(descriptor))
    #endif
  }

  /// Begins to bring a file's content to the medium and returns at once; errors are the next sync's to
  /// report.
  static func startWriteback(_ descriptor: Int32) {
    #if os(Linux)
      // SYNC_FILE_RANGE_WRITE, whose name the C library's module leaves out.
      _ = sync_file_range(descriptor, 0, 0, 2)
    #endif
  }

  /// Durable directory entries.
  static func syncFolder(_ descriptor: Int32) -> Result<Int32, Errno> {
    #if canImport(Darwin)
      return result(fcntl(descriptor, F_FULLFSYNC))
    #else
      return result(fsync(descriptor))
    #endif
  }

  static func byteCount(_ descriptor: Int32) -> Result<Int, Errno> {
    var status = stat()
    // SAFETY: the pointer is to a local that outlives the call.
    return unsafe result(fstat(descriptor, &status)).map { _ in Int(status.st_size) }
  }

  static func lock(_ descriptor: Int32, _ kind: StorageLockKind) -> Result<Int32, Errno> {
    result(flock(descriptor, (kind == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB))
  }

  static func unlock(_ descriptor: Int32) { _ = flock(descriptor, LOCK_UN) }

  static func renameFile(
    _ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String
  ) -> Result<Int32, Errno> {
    // SAFETY: Swift lends the names as C strings for the call.
    unsafe result(renameat(folder, name, newFolder, newName))
  }

  static func unlinkFile(_ folder: Int32, _ name: String) -> Result<Int32, Errno> {
    // SAFETY: Swift lends the name as a C string for the call.
    unsafe result(unlinkat(folder, name, 0))
  }

  static func makeFolder(_ folder: Int32, _ name: String) -> Result<Int32, Errno> {
    // SAFETY: Swift lends the name as a C string for the call.
    unsafe result(mkdirat(folder, name, 0o700))
  }

  /// Shows the names in a folder, without `.` and `..`, and closes its descriptor.
  static func forEachName(_ folder: Int32, _ visit: (Span<UInt8>) -> Void) -> Result<Int32, Errno> {
    // SAFETY: the stream is used by this call alone and closed before it returns; an entry's name ends in a
    // zero, and is looked at where it stands, before the next one is asked for.
    guard let stream = unsafe fdopendir(folder) else {
      let number = errno
      closeFile(folder)
      return .failure(Errno(number))
    }
    defer { unsafe _ = closedir(stream) }
    guard let place = MemoryLayout<dirent>.offset(of: \.d_name) else { return .failure(Errno(EINVAL)) }
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else {
        return errno == 0 ? .success(0) : .failure(Errno(errno))
      }
      let start = unsafe UnsafeRawPointer(entry) + place
      let byteCount = unsafe strlen(start.assumingMemoryBound(to: CChar.self))
      let bytes = unsafe UnsafeBufferPointer(
        start: start.assumingMemoryBound(to: UInt8.self), count: byteCount)
      let name = unsafe bytes.span
      if byteCount > 2 || !name.indices.allSatisfy({ name[$0] == UInt8(ascii: ".") }) { visit(name) }
    }
  }

  private static func result<Value: BinaryInteger>(_ value: Value) -> Result<Value, Errno> {
    value < 0 ? .failure(Errno(errno)) : .success(value)
  }
}

/// An error number on its way from a system call to the error that names call and file.
struct Errno: Error {
  let number: Int32

  init(_ number: Int32) { self.number = number }
}

/// The flags of `open` for each mode.
extension StorageOpenMode {
  var flags: Int32 {
    switch self {
    case .read: O_RDONLY
    case .update: O_RDWR
    case .createNew: O_RDWR | O_CREAT | O_EXCL
    case .createIfMissing, .lock: O_RDWR | O_CREAT
    }
  }

  var mayWrite: Bool { self != .read && self != .lock }
}

/// A file that was opened: what tells it from every other, and how many names it has.
struct OpenedFile {
  /// What tells a file from every other that is there at the same time.
  struct Identity: Equatable, Sendable {
    let device: UInt64
    let number: UInt64
  }

  let descriptor: Int32
  let identity: Identity
  let nameCount: Int

  fileprivate init(descriptor: Int32, _ status: stat) {
    self.descriptor = descriptor
    identity = Identity(
      device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(truncatingIfNeeded: status.st_ino))
    nameCount = Int(status.st_nlink)
  }
}
