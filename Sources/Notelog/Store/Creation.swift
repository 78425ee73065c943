// A store's folder while the store is being made (FORMAT.md 3, `creating` and `created`).

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Marks a folder in which a store is being made, so that one that was interrupted is known for what it is.
///
/// The mark is the file `creating`, held locked. It is durable before anything else is in the folder, and
/// becomes `created` when everything is. `created` is never removed: beside it, `creating` says nothing,
/// whoever put it there. Marks are anybody's to change, so nothing is removed on their word alone: a folder
/// whose segments hold records is never cleared, and with a log and a keyring it is a store.
struct Creation {
  private static let content = Array("notelog: a store is being made in this folder\n".utf8)

  private let storage: any Storage
  private let mark: any StorageFile

  /// Begins, and waits for as long for whoever is making a store in the folder now.
  static func begin(in storage: any Storage, waiting timeout: Duration) throws(NotelogError) -> Creation {
    let end = ContinuousClock.now.advanced(by: timeout)
    while true {
      do { return try Creation(in: storage) } catch {
        guard error.code == .busy, ContinuousClock.now < end else { throw error }
        pauseThread(.milliseconds(5))
      }
    }
  }

  /// Begins, in a folder that holds nothing, or what an interrupted creation left, which is removed.
  ///
  /// - Throws: `alreadyExists` where the folder holds anything else; `busy` where a store is being made in it
  ///   now.
  init(in storage: any Storage) throws(NotelogError) {
    self.storage = storage
    var names = try Self.names(in: storage)
    // A writer that found no store here may have left its lock.
    let isEmpty = names.allSatisfy { $0 == FileName.lock || $0 == FileName.creating }
    guard isEmpty || Self.isUnfinished(names) else { throw Self.notEmpty(names) }
    do throws(StorageError) {
      mark = try storage.openLocked(FileName.creating, .createIfMissing, .exclusive)
      // Who had it locked may have given up and removed it: then it keeps nobody out.
      if !mark.isNamed { throw StorageError(.lock, FileName.creating, errno: SystemErrno.wouldBlock) }
      if isEmpty, Self.isBegunMark(mark) {
        try mark.writeAll(Self.content.rawSpan, at: 0)
        try mark.makeDurable()
      }
      try storage.makeNamesDurable()
    } catch {
      if error.isRefusedLock {
        throw NotelogError.busy(
          "a store is being made in this folder", FileName.creating, in: storage, cause: error)
      }
      throw NotelogError(error, "creating the store")
    }
    names = try Self.names(in: storage)
    // Whoever held the mark before may have come to the end meanwhile.
    guard Self.isUnfinished(names), names.allSatisfy(Self.isOurs), Self.isMark(mark),
      !(try fromStorage(Survey.contents(of: storage)).hasRecords)
    else { throw Self.notEmpty(names) }
    try clear()
  }

  /// Ends: from now on the folder is a store.
  func finish() throws(NotelogError) {
    defer { mark.close() }
    do {
      try storage.move(FileName.creating, to: FileName.created)
      try storage.makeNamesDurable()
    } catch { throw NotelogError(error, "creating the store").naming(storage.path) }
  }

  /// Gives up: the folder is left empty, as far as possible.
  func abandon() {
    try? clear()
    // Where the very end failed, it has its new name already.
    try? storage.remove(FileName.created)
    try? storage.remove(FileName.creating)
    mark.close()
  }

  /// Refuses a folder in which a store was not made to its end.
  ///
  /// - Returns: Whether `created` says that it was; a store that was copied file by file may lack it.
  static func refuseUnfinished(in storage: any Storage) throws(NotelogError) -> Bool {
    if let isWhole = isCreatedWhole(in: storage) { return isWhole }
    guard let mark = try? storage.openFile(FileName.creating, .read) else { return false }
    defer { mark.close() }
    let names = try names(in: storage)
    guard isMark(mark), isUnfinished(names) else { return false }
    let isBeingMade = (try? mark.lock(.shared)) == nil
    let hasKeyring = names.contains(FileName.keyring) || names.contains(FileName.keyringCopy)
    if !isBeingMade, hasKeyring,
      try fromStorage(Survey.contents(of: storage)) == (hasLog: true, hasRecords: true)
    {
      return false
    }
    throw NotelogError(.notFound, "making this store was interrupted, or goes on: make it again")
  }

  /// Whether `created` is as a creation makes it, or a crash leaves it; nil where there is none.
  private static func isCreatedWhole(in storage: any Storage) -> Bool? {
    (try? storage.openFile(FileName.created, .read)).map(isBegunMark)
  }

  /// What is wrong with the mark of a store; nil where nothing is.
  static func finding(in storage: any Storage) -> String? {
    switch isCreatedWhole(in: storage) {
    case true?: nil
    case false?: "\(FileName.created) is not as it was written"
    case nil: "\(FileName.created) is missing or can't be read"
    }
  }

  /// Notes in a store that it is one, where `created` does not. A store that can't be written to does
  /// without.
  static func noteFinished(in storage: any Storage) {
    guard let file = try? storage.openFile(FileName.created, .createIfMissing) else { return }
    if (try? file.writeAll(content.rawSpan, at: 0)) == nil { return }
    try? file.setLength(content.count)
    try? file.sync()
  }

  private static func isUnfinished(_ names: [String]) -> Bool {
    names.contains(FileName.creating) && !names.contains(FileName.created)
  }

  private static func isMark(_ file: any StorageFile) -> Bool {
    (try? file.readWhole(upTo: content.count)) == content
  }

  /// Whether a file holds what a crash may leave of a mark that is being written: some of it, and zeros.
  private static func isBegunMark(_ file: any StorageFile) -> Bool {
    guard let found = try? file.readWhole(upTo: content.count), found.count <= content.count else {
      return false
    }
    return zip(found, content).allSatisfy { $0 == $1 || $0 == 0 }
  }

  /// That a folder holds something else; the keyring of a store whose log is gone is nothing to be removed.
  private static func notEmpty(_ names: [String]) -> NotelogError {
    let isStore = [FileName.created, FileName.keyring, FileName.keyringCopy].contains(where: names.contains)
    return NotelogError(
      .alreadyExists,
      isStore
        ? "there is a store in the folder, or what is left of one: create the new one in another folder"
        : "the folder is not empty: create the store in another one, or first remove by hand what is in this one"
    )
  }

  private static func names(in storage: any Storage) throws(NotelogError) -> [String] {
    do {
      return try storage.names(in: "").filter { !$0.hasPrefix(".") && !FileName.isPartial($0) }
    } catch { throw NotelogError(error, "reading the folder") }
  }

  /// Whether a file may have been left by a creation.
  private static func isOurs(_ file: String) -> Bool {
    let names = [
      FileName.creating, FileName.keyring, FileName.keyringCopy, FileName.schemas, FileName.lock,
      FileName.reserve,
      FileName.index,
    ]
    return names.contains(file) || FileName.segmentNumber(file) != nil
  }

  private func clear() throws(NotelogError) {
    do {
      for name in try storage.names(in: "")
      where name != FileName.creating && (Self.isOurs(name) || FileName.isPartial(name)) {
        try storage.remove(name)
      }
      try storage.makeNamesDurable()
    } catch { throw NotelogError(error, "removing what an interrupted creation left") }
  }
}
