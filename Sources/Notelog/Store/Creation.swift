// A store's folder while the store is being made (FORMAT.md 3, `creating`).

import NotelogJournal

/// Marks a folder in which a store is being made, so that one that was interrupted is known for what it is.
///
/// The mark is a file, held locked. It is durable before anything else is in the folder, and goes when everything is. It
/// says what it is: a file that merely bears its name never makes a sound store pass for an unfinished one, whose files
/// the next creation removes.
struct Creation {
  static let name = "creating"
  private static let content = Array("notelog: a store is being made in this folder\n".utf8)

  private let storage: any Storage
  private let mark: any StorageFile

  /// Begins, in a folder that holds nothing, or what an interrupted creation left, which is removed.
  ///
  /// - Throws: `alreadyExists` where the folder holds anything else; `busy` where a store is being made in it now.
  init(in storage: any Storage) throws(NotelogError) {
    self.storage = storage
    var names = try Self.names(in: storage)
    // A writer that found no store here may have left its lock.
    let isEmpty = names.allSatisfy { $0 == FileName.lock || $0 == Self.name }
    guard isEmpty || names.contains(Self.name) else { throw Self.notEmpty }
    do throws(StorageError) {
      mark = try storage.open(Self.name, .createIfMissing)
      try mark.lock(.exclusive)
      if isEmpty {
        try mark.writeAll(Self.content.rawSpan, at: 0)
        try mark.sync()
      }
      try storage.syncFolder("")
    } catch {
      if error.call == .lock, error.errno == SystemErrno.wouldBlock {
        throw NotelogError(.busy, "a store is being made in this folder by another process")
      }
      throw NotelogError(storage: error, "creating the store")
    }
    names = try Self.names(in: storage)
    // Whoever held the mark before may have come to the end meanwhile.
    guard names.contains(Self.name), names.allSatisfy(Self.isOurs), Self.isMark(mark) else {
      throw Self.notEmpty
    }
    try clear()
  }

  /// Ends: from now on the folder is a store.
  func finish() throws(NotelogError) {
    defer { mark.close() }
    do {
      try storage.unlink(Self.name)
      try storage.syncFolder("")
    } catch { throw NotelogError(storage: error, "creating the store") }
  }

  /// Gives up: the folder is left empty, as far as possible.
  func abandon() {
    try? clear()
    try? storage.unlink(Self.name)
    mark.close()
  }

  /// Refuses a folder in which a store was not made to its end.
  static func refuseUnfinished(in storage: any Storage) throws(NotelogError) {
    guard let mark = try? storage.open(name, .read) else { return }
    defer { mark.close() }
    guard isMark(mark) else { return }
    throw NotelogError(.notFound, "making this store was interrupted, or goes on: make it again")
  }

  private static func isMark(_ file: any StorageFile) -> Bool {
    var bytes = [UInt8](repeating: 0, count: content.count + 1)
    let count = try? bytes.withBytes(in: 0..<bytes.count) {
      (span: inout MutableRawSpan) throws(StorageError) in
      try file.readFully(into: &span, at: 0)
    }
    return count == content.count && bytes.dropLast() == content[...]
  }

  private static var notEmpty: NotelogError {
    NotelogError(.alreadyExists, "the folder is not empty: a store is created in one of its own")
  }

  private static func names(in storage: any Storage) throws(NotelogError) -> [String] {
    do {
      return try storage.names(in: "").filter { !$0.hasPrefix(".") && !$0.hasSuffix(FileName.partialSuffix) }
    } catch { throw NotelogError(storage: error, "reading the folder") }
  }

  /// Whether a file may have been left by a creation.
  private static func isOurs(_ file: String) -> Bool {
    let names = [
      name, KeyringFiles.name, KeyringFiles.copyName, SchemaFile.name, FileName.lock, FileName.reserve,
      FileName.index,
    ]
    return names.contains(file) || FileName.segmentNumber(file) != nil
  }

  private func clear() throws(NotelogError) {
    do {
      for name in try storage.names(in: "")
      where name != Self.name && (Self.isOurs(name) || name.hasSuffix(FileName.partialSuffix)) {
        try storage.unlink(name)
      }
      try storage.syncFolder("")
    } catch { throw NotelogError(storage: error, "removing what an interrupted creation left") }
  }
}
