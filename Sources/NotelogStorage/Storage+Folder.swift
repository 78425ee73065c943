// What is asked of a folder in more than one step; an interrupted call is made again.

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
}

extension Storage {
  /// The names in a folder, in no particular order; one that is not UTF-8 is none of ours and is left out.
  package func names(in folder: String) throws(StorageError) -> [String] {
    var names: [String] = []
    try forEachName(in: folder) { bytes in
      if let name = try? UTF8Span(validating: bytes) { names.append(String(copying: name)) }
    }
    return names
  }

  /// Creates a folder and makes its entry durable: it must still be there when the power comes back. FORMAT.md §21.2.
  package func makeDurableFolder(_ name: String) throws(StorageError) {
    try makeFolder(name)
    try makeNamesDurable()
  }

  /// A file under that name, with nothing in it.
  package func openEmpty(_ name: String) throws(StorageError) -> any StorageFile {
    let file = try openFile(name, .createIfMissing)
    do throws(StorageError) {
      try file.setLength(0)
    } catch {
      file.close()
      throw error
    }
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
    do { try retryingInterruptions { () throws(StorageError) in try file.lock(kind) } } catch {
      file.close()
      throw error
    }
    return file
  }

  /// Gives a file that is whole and synced its name, durably: a crash leaves the file that had it, or this one.
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
