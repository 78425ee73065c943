// The operating system as the store sees it: one protocol, so that crash and fault tests run the shipping
// code.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

package import NotelogBase

/// A store's folder.
///
/// Each requirement is one system call, with its errors and without retries: what survives `EINTR`, a short
/// write or a failing disk is decided above this protocol, where the simulated disk can try it. Names are
/// relative to the folder.
package protocol Storage: AnyObject, Sendable {
  /// The folder's path as it was given, for errors; empty where there is none.
  var path: String { get }
  /// How many files that are only read it keeps open at once. It closes others behind the scenes, and opens
  /// them again when they are read: that fails where another process has removed them meanwhile.
  var openFileLimit: Int { get }
  /// Opens a file. The corresponding C function is `openat`.
  func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile
  /// Shows the names in a folder (`""` is the store's own), in no particular order. The C function is
  /// `readdir`.
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
  /// What tells when a file is written, or something in the folder changes where the name is empty; nothing
  /// where the system has nothing of the kind, or there is no such file. Linux's `inotify`.
  func watch(_ name: String) -> StorageWatch?
  /// Who holds a lock on a file, in words; nothing where nobody does, or the system doesn't say. Linux's `/proc/locks`.
  func lockHolder(of name: String) -> String?
}

/// An open file of a store.
public protocol StorageFile: AnyObject, Sendable {
  /// The name it was opened under, for errors; empty where nobody knows.
  var name: String { get }
  /// Whether that name still leads to it: another process may have removed it, or given it to another file.
  var isNamed: Bool { get }
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
  /// Closes the descriptor; the file must not be used afterwards. The corresponding C function is `close`. A
  /// file that nobody has any more closes itself: this is for one that others still have, or that is locked.
  func close()
}

extension Storage {
  /// What has no descriptors keeps all files open.
  package var openFileLimit: Int { Int.max }

  package var path: String { "" }

  package func watch(_ name: String) -> StorageWatch? { nil }

  package func lockHolder(of name: String) -> String? { nil }
}

extension StorageFile {
  package var name: String { "" }

  /// What is no system's has no other processes.
  package var isNamed: Bool { true }

  /// Where a system has no such hint, nothing is lost but time.
  package func startWriteback() {}

  /// Where a file takes nothing while it is open, it stays open.
  package func endWriting() {}

  // What is only read need not say how it is written.

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
  /// For reading and writing an existing file. One that has another name too is refused, as the others are
  /// that may write.
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

/// A system call that failed, or whose result is of no use.
public struct StorageError: Error, Equatable, Sendable {
  /// The calls that can fail; `version` where one was done, and what it read is a newer version's.
  public enum Call: String, Sendable {
    case open, readdir, rename, unlink, mkdir, read, write, allocate, truncate, sync, syncFolder, stat, lock
    case version
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

// MARK: - What is asked of a folder in more than one step; an interrupted call is made again.

extension Storage {
  /// Opens a file.
  package func openFile(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    try retryingInterruptions { () throws(StorageError) in try open(name, mode) }
  }

  /// Moves a file over another in one step.
  package func move(_ name: String, to newName: String) throws(StorageError) {
    try retryingInterruptions { () throws(StorageError) in try rename(name, to: newName) }
  }

  /// Removes a file's name.
  package func remove(_ name: String) throws(StorageError) {
    try retryingInterruptions { () throws(StorageError) in try unlink(name) }
  }

  /// Makes the names in a folder durable; in the store's own where nothing is said.
  package func makeNamesDurable(in folder: String = "") throws(StorageError) {
    try retryingInterruptions { () throws(StorageError) in try syncFolder(folder) }
  }

  /// The names in a folder, in no particular order; one that is not UTF-8 is none of ours and is left out.
  package func names(in folder: String) throws(StorageError) -> [String] {
    var names: [String] = []
    try forEachName(in: folder) { bytes in
      if let name = try? UTF8Span(validating: bytes) { names.append(String(copying: name)) }
    }
    return names
  }

  /// A file under that name, with nothing in it.
  package func openEmpty(_ name: String) throws(StorageError) -> any StorageFile {
    let file = try openFile(name, .createIfMissing)
    try file.setLength(0)
    return file
  }

  /// Opens a file and locks it. The lock ends when the file is closed.
  ///
  /// - Parameters:
  ///   - name: The file's name.
  ///   - mode: How it is opened.
  ///   - kind: Who else may hold a lock on it.
  /// - Returns: The file.
  /// - Throws: What opening and locking throw; a lock that another holds is `wouldBlock` of the call `lock`.
  package func openLocked(
    _ name: String, _ mode: StorageOpenMode, _ kind: StorageLockKind
  ) throws(StorageError) -> any StorageFile {
    let file = try openFile(name, mode)
    try retryingInterruptions { () throws(StorageError) in try file.lock(kind) }
    return file
  }

  /// Gives a file that is whole and synced its name, durably: a crash leaves the file that had it, or this
  /// one.
  ///
  /// - Parameters:
  ///   - partial: The name that it was written under.
  ///   - name: The name that it gets.
  /// - Throws: What renaming and syncing the folder throw.
  package func publish(_ partial: String, as name: String) throws(StorageError) {
    try move(partial, to: name)
    try makeNamesDurable()
  }
}

// MARK: - Whole reads and writes out of single system calls: where EINTR and short counts are dealt with.

extension StorageError {
  package var isInterruption: Bool { errno == SystemErrno.interrupted }
  package var isNoSpace: Bool { errno == SystemErrno.noSpace || errno == SystemErrno.quotaExceeded }
  package var isMissing: Bool { errno == SystemErrno.notFound }
  package var isUnsupported: Bool {
    errno == SystemErrno.notSupported || errno == SystemErrno.invalidArgument
  }
}

/// Repeats a system call while signals interrupt it.
@inline(__always)
package func retryingInterruptions<Result>(
  _ call: () throws(StorageError) -> Result
) throws(StorageError) -> Result {
  while true {
    do { return try call() } catch {
      guard error.isInterruption else { throw error }
    }
  }
}

extension StorageFile {
  /// Reads until the span is full or the file ends.
  ///
  /// - Returns: How many bytes were read; fewer than asked only at the end of the file.
  package func readFully(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    var done = 0
    while done < bytes.byteCount {
      let count: Int
      do {
        var rest = bytes._mutatingExtracting(droppingFirst: done)
        count = try read(into: &rest, at: offset + done)
      } catch {
        guard error.isInterruption else { throw error }
        continue
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Cuts or grows the file.
  package func setLength(_ byteCount: Int) throws(StorageError) {
    try retryingInterruptions { () throws(StorageError) in try truncate(to: byteCount) }
  }

  /// Makes the file's content and length durable. An interrupted sync has lost nothing: what fails is said by
  /// the next.
  package func makeDurable() throws(StorageError) {
    // Not the method itself: that would take memory for it at each sync.
    try retryingInterruptions { () throws(StorageError) in try sync() }
  }

  /// Writes every byte, whatever the system takes at a time.
  package func writeAll(_ bytes: RawSpan, at offset: Int) throws(StorageError) {
    var done = 0
    while done < bytes.byteCount {
      let count = try retryingInterruptions { () throws(StorageError) in
        try write(bytes.extracting(droppingFirst: done), at: offset + done)
      }
      // A system that takes nothing and reports no error would keep us here for ever.
      if count == 0 { throw StorageError(.write, name, errno: SystemErrno.inputOutput) }
      done += count
    }
  }
}

extension Buffer {
  /// Appends up to `byteCount` bytes of a file.
  ///
  /// - Returns: How many bytes the file had there.
  @discardableResult
  package mutating func fill(_ byteCount: Int, from file: any StorageFile, at offset: Int)
    throws(StorageError) -> Int
  {
    let start = count
    resizeForReading(to: start + byteCount)
    var all = mutableBytes
    var bytes = all._mutatingExtracting(start..<start + byteCount)
    do {
      let done = try file.readFully(into: &bytes, at: offset)
      truncate(to: start + done)
      return done
    } catch {
      truncate(to: start)
      throw error
    }
  }
}

/// How much of a file is read at a time.
private let pieceByteCount = 256 << 10

extension StorageFile {
  /// Calls `body` with the bytes of a range, piece by piece, and with where each piece begins.
  ///
  /// - Parameters:
  ///   - range: Bytes that the file has.
  ///   - body: Called with each piece.
  /// - Throws: What `body` throws; `inputOutput` where the file has fewer bytes.
  package func forEachPiece(
    of range: Range<Int>, _ body: (RawSpan, _ offset: Int) throws(StorageError) -> Void
  ) throws(StorageError) {
    var buffer = Buffer(capacity: min(pieceByteCount, range.count))
    for place in stride(from: range.lowerBound, to: range.upperBound, by: pieceByteCount) {
      buffer.removeAll()
      let count = min(pieceByteCount, range.upperBound - place)
      guard try buffer.fill(count, from: self, at: place) == count else {
        throw StorageError(.read, name, errno: SystemErrno.inputOutput)
      }
      try body(buffer.bytes, place)
    }
  }

  /// Takes a range of another file's bytes.
  ///
  /// - Returns: Their checksum.
  @discardableResult
  package func copyBytes(of source: any StorageFile, _ range: Range<Int>) throws(StorageError) -> Checksum {
    var checksum = Checksum()
    try source.forEachPiece(of: range) { (bytes, place) throws(StorageError) in
      checksum.update(bytes)
      try writeAll(bytes, at: place)
    }
    return checksum
  }

  /// Promises space by the system's own means.
  ///
  /// - Returns: Whether it has any.
  package func allocateIfSupported(_ range: Range<Int>) throws(StorageError) -> Bool {
    do { try retryingInterruptions { () throws(StorageError) in try allocate(range) } } catch {
      guard error.isUnsupported else { throw error }
      return false
    }
    return true
  }

  /// Promises space: by the system's own means, or by writing zeros where it has none.
  package func promise(_ range: Range<Int>) throws(StorageError) {
    if try allocateIfSupported(range) { return }
    do { try writeZeros(range) } catch {
      // Nothing is promised in part: what was taken is wanted elsewhere on a full disk.
      try? truncate(to: range.lowerBound)
      throw error
    }
  }

  /// Writes zeros.
  package func writeZeros(_ range: Range<Int>) throws(StorageError) {
    var zeros = Buffer()
    zeros.appendZeros(min(range.count, 1 << 16))
    var place = range.lowerBound
    while place < range.upperBound {
      let count = min(zeros.count, range.upperBound - place)
      try writeAll(zeros.bytes.extracting(first: count), at: place)
      place += count
    }
  }
}
