// Where a store is shipped to: a folder, or whatever else keeps objects under names. FORMAT.md §26.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Where a store is shipped to: a bucket, for instance, by three functions.
///
/// An object is put once, and never changed: names say what is in objects, and with the same name only the same
/// bytes are put again. Nothing is ever deleted. A folder is an archive by ``FolderArchive``.
public protocol Archive: Sendable {
  /// The names of all objects, and how many bytes each has.
  ///
  /// - Returns: Names and lengths. Names that are not an archive's may be among them.
  /// - Throws: What stands in the way.
  func objects() throws -> [String: Int]

  /// Puts an object, whole and durable before this returns, or not at all.
  ///
  /// - Parameters:
  ///   - name: Its name. Where there is one of that name already, it has the same bytes, or was cut short, and
  ///     may be replaced.
  ///   - contents: What is in it.
  /// - Throws: What stands in the way; then there is no object of that name, or the one before.
  func put(_ name: String, _ contents: ArchiveContents) throws

  /// Reads bytes of an object.
  ///
  /// - Parameters:
  ///   - name: Its name.
  ///   - range: Which bytes; it has as many.
  /// - Returns: The bytes.
  /// - Throws: What stands in the way.
  func read(_ name: String, _ range: Range<Int>) throws -> [UInt8]
}

/// What is to be put into an object of an ``Archive``.
public struct ArchiveContents: Sendable {
  let file: any StorageFile
  /// How many bytes there are.
  public let byteCount: Int
  /// The CRC-32 of all bytes. Where those that were read make another one, the object must not be put.
  public let checksum: UInt32

  init(_ file: any StorageFile) throws(StorageError) {
    self.file = file
    byteCount = try file.byteCount()
    checksum = try Checksum.of(file, 0..<byteCount).value
  }

  /// Reads some of the bytes.
  ///
  /// - Parameter range: Which bytes.
  /// - Returns: The bytes.
  /// - Throws: `inputOutput` where the store can't be read.
  public func read(_ range: Range<Int>) throws -> [UInt8] {
    precondition(
      range.lowerBound >= 0 && range.upperBound <= byteCount, "contents are read within their length")
    var buffer = Buffer()
    guard try fromStorage(buffer.fill(range.count, from: file, at: range.lowerBound)) == range.count else {
      throw NotelogError(.inputOutput, "the store's file got shorter while it was shipped")
    }
    return buffer.bytes.array()
  }
}

/// An archive in a folder.
public struct FolderArchive: Archive {
  private let path: String
  private let given: (any Storage)?
  /// The folder. It is not held open: its disk may be taken away, and another one put in its place.
  var storage: any Storage { given ?? SystemStorage(path: path) }

  /// An archive in a folder, which shipping makes where it is missing.
  ///
  /// - Parameter path: The folder's path.
  public init(path: String) { (self.path, given) = (path, nil) }

  init(_ storage: any Storage) { (path, given) = ("", storage) }

  /// Whether a folder holds an archive, or what is left of one: objects, and no file of a store's log.
  ///
  /// - Parameter path: The folder's path.
  /// - Returns: Whether it does; not where it can't be read.
  public static func isArchive(at path: String) -> Bool {
    guard let names = try? SystemStorage(path: path).names(in: "") else { return false }
    // A salvaged store has keyrings under an archive's names.
    return !names.contains { FileName.segmentNumber($0) != nil }
      && names.contains { name in
        ArchivedObject(name: name).map { $0.kind != .keyring } ?? ArchivedObject.isStore(name)
      }
  }

  /// The names of all objects, and how many bytes each has.
  ///
  /// - Returns: Names and lengths.
  /// - Throws: `notFound` where there is no folder; `inputOutput`.
  public func objects() throws -> [String: Int] {
    if let folder = storage as? SystemStorage { _ = try Store.present(folder.path) }
    var objects: [String: Int] = [:]
    for name in try fromStorage(storage.names(in: ""))
    where ArchivedObject(name: name) != nil || ArchivedObject.isStore(name) {
      do throws(StorageError) { objects[name] = try storage.openFile(name, .read).byteCount() } catch {
        // Something else than a file is no object; what is gone meanwhile, neither.
        guard error.isMissing || error.isOfNoFile else { throw NotelogError(error) }
      }
    }
    return objects
  }

  /// Puts an object, whole and durable before this returns, or not at all.
  ///
  /// - Parameters:
  ///   - name: Its name.
  ///   - contents: What is in it.
  /// - Throws: `full`, `inputOutput`.
  public func put(_ name: String, _ contents: ArchiveContents) throws {
    // Another name for each: who puts the same object at the same time writes a file of its own.
    let partial = "\(name).\(String(UInt64.random(in: 0...UInt64.max), radix: 16))\(FileName.partialSuffix)"
    try fromStorage(storage.copy(contents.file, as: name, under: partial, checksum: contents.checksum))
    try fromStorage(storage.makeNamesDurable())
  }

  /// Reads bytes of an object.
  ///
  /// - Parameters:
  ///   - name: Its name.
  ///   - range: Which bytes; it has as many.
  /// - Returns: The bytes.
  /// - Throws: `inputOutput`, also where it has fewer.
  public func read(_ name: String, _ range: Range<Int>) throws -> [UInt8] {
    let file = try fromStorage(storage.openFile(name, .read))
    defer { file.close() }
    var buffer = Buffer()
    guard try fromStorage(buffer.fill(range.count, from: file, at: range.lowerBound)) == range.count else {
      throw NotelogError(StorageError(.read, name, errno: SystemErrno.inputOutput))
    }
    return buffer.bytes.array()
  }

  /// Deletes objects, and what interrupted puts left. Which may go, ``Store/expired(in:before:branch:unlocking:)`` says.
  ///
  /// - Parameter names: The objects' names.
  /// - Throws: What stands in the way; objects before that one are gone.
  public func delete(_ names: [String]) throws {
    for name in names {
      do throws(StorageError) { try storage.remove(name) } catch {
        guard error.isMissing else { throw NotelogError(error) }
      }
    }
    for name in try fromStorage(storage.names(in: "")) where Self.isPartial(name) {
      // Who writes it has it locked.
      guard let partial = try? storage.openLocked(name, .lock, .exclusive) else { continue }
      try? storage.remove(name)
      partial.close()
    }
    try fromStorage(storage.makeNamesDurable())
  }

  /// Whether a put that was interrupted left it.
  static func isPartial(_ name: String) -> Bool {
    guard name.hasSuffix(FileName.partialSuffix) else { return false }
    let whole = String(name.prefix { $0 != "." })
    return ArchivedObject(name: whole) != nil || ArchivedObject.isStore(whole)
  }
}

// MARK: - Objects, and parts of files, as files.

extension Archive {
  /// The same, for a round or a plan: a folder is opened once.
  var openedOnce: any Archive { (self as? FolderArchive).map { FolderArchive($0.storage) } ?? self }

  /// An object as a file.
  func open(_ object: ArchivedObject) throws(StorageError) -> any StorageFile {
    if let folder = self as? FolderArchive { return try folder.storage.openFile(object.name, .read) }
    return ObjectFile(self, object)
  }

}

extension NotelogError {
  /// What an archive throws: its own errors as they are, any other as one of input and output.
  init(archive error: any Error, _ name: String) {
    switch error {
    case let error as NotelogError: self = error
    case let error as StorageError: self.init(error, "shipping \(name)")
    default: self.init(.inputOutput, "\(name): the archive says: \(error)")
    }
  }
}

extension Storage {
  /// Copies a file, reads back what was written, and makes it durable before it gets its name.
  ///
  /// - Parameters:
  ///   - source: The file.
  ///   - name: The name that the copy gets.
  ///   - partial: The name that it is written under.
  ///   - checksum: What its bytes make; nil where that is not known.
  /// - Throws: What stands in the way; then there is no copy.
  func copy(
    _ source: any StorageFile, as name: String, under partial: String, checksum: UInt32? = nil
  ) throws(StorageError) {
    do throws(StorageError) {
      let copy = try openLocked(partial, .createNew, .exclusive)
      defer { copy.close() }
      let byteCount = try source.byteCount()
      let read = try copy.copyBytes(of: source, 0..<byteCount).value
      guard checksum ?? read == read, try Checksum.of(copy, 0..<byteCount).value == read else {
        throw StorageError(.write, name, errno: SystemErrno.inputOutput)
      }
      try copy.makeDurable()
      try move(partial, to: name)
    } catch {
      try? unlink(partial)
      throw error
    }
  }
}

extension Checksum {
  /// The checksum of a range of a file's bytes.
  static func of(_ file: any StorageFile, _ range: Range<Int>) throws(StorageError) -> Checksum {
    var checksum = Checksum()
    try file.forEachPiece(of: range) { bytes, _ in checksum.update(bytes) }
    return checksum
  }
}

/// An object of an archive, read in large parts.
private final class ObjectFile: StorageFile {
  private static let firstByteCount = 64 << 10
  private static let partByteCount = 4 << 20

  let name: String
  private let archive: any Archive
  private let length: Int
  private let part = Lock<(start: Int, bytes: [UInt8])>((0, []))

  init(_ archive: any Archive, _ object: ArchivedObject) {
    (self.archive, name, length) = (archive, object.name, object.byteCount)
  }

  func byteCount() throws(StorageError) -> Int { length }
  func close() {}

  func read(into span: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    let count = min(span.byteCount, length - offset)
    guard count > 0 else { return 0 }
    let (start, bytes) = try part.withLock { part throws(StorageError) in
      if offset < part.start || offset >= part.start + part.bytes.count {
        // Who goes on where the last part ended reads all of it.
        let isNext = offset > 0 && offset == part.start + part.bytes.count
        let end = min(length, offset + max(count, isNext ? Self.partByteCount : Self.firstByteCount))
        guard let bytes = try? archive.read(name, offset..<end), bytes.count == end - offset else {
          throw StorageError(.read, name, errno: SystemErrno.inputOutput)
        }
        part = (offset, bytes)
      }
      return part
    }
    let done = min(count, start + bytes.count - offset)
    span.copy(bytes.rawSpan.extracting(offset - start..<offset - start + done))
    return done
  }
}

/// Parts of files, one behind the other, as a file.
final class SplicedFile: StorageFile {
  let name: String
  private let parts: [(file: any StorageFile, range: Range<Int>)]

  /// - Parameters:
  ///   - parts: The parts. The files are closed with this one.
  ///   - name: Its name, for errors.
  init(_ parts: [(file: any StorageFile, range: Range<Int>)], name: String) {
    (self.parts, self.name) = (parts.filter { !$0.range.isEmpty }, name)
  }

  func byteCount() throws(StorageError) -> Int { parts.reduce(0) { $0 + $1.range.count } }
  func close() { for part in parts { part.file.close() } }

  func read(into span: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    guard let (file, range) = part(at: offset) else { return 0 }
    var piece = span._mutatingExtracting(0..<min(span.byteCount, range.count))
    return try file.read(into: &piece, at: range.lowerBound)
  }

  /// The part with the byte at an offset, and its bytes from there on.
  private func part(at offset: Int) -> (file: any StorageFile, range: Range<Int>)? {
    var start = 0
    for (file, range) in parts {
      if offset < start + range.count { return (file, range.lowerBound + offset - start..<range.upperBound) }
      start += range.count
    }
    return nil
  }
}
