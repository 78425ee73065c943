// Salvage: what can be read of a store that is past opening, in a new one (docs/maintenance.md, "Salvage").

import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

extension Store {
  /// Copies everything that can be read of a store, or of a folder with files of one, into a new store.
  ///
  /// No key is needed: sealed bytes are copied as they are, and the keyring comes along, with the files of
  /// keys that can be shredded. Where there are several keyrings the newest is taken that the credential
  /// opens, without one that under the store's own names, and the others lie beside it. The files may be
  /// damaged, incomplete, without headers, there twice or under other names. Each record is saved in its
  /// newest version; what was deleted stays deleted. What is salvaged is only read.
  ///
  /// - Parameters:
  ///   - path: The folder with the files.
  ///   - newPath: The folder of the new store, which is missing or empty.
  ///   - credential: What unlocks the store, to tell its keyring from others.
  ///   - storeID: The store to salvage, where the files are of several; otherwise the keyring's, or the one
  ///     that most bytes are of.
  ///   - keepsOlderVersions: Whether a record whose newest version is lost is saved in an older one.
  ///   - progress: Told, from time to time, how many bytes of how many are done; its answer says whether to
  ///     go on.
  /// - Returns: What was saved and what could not be, place by place.
  /// - Throws: `notFound` where there is nothing of a store; `alreadyExists` where the new folder is not
  ///   empty; `invalidArgument` where one folder lies inside the other; `wrongPassword` where the credential
  ///   opens no keyring, `damaged` where the store's own does not check, so that nobody can say; `busy`, `full`,
  ///   `inputOutput`; `cancelled`. The new folder is then left empty.
  public static func salvage(
    from path: String, to newPath: String, unlocking credential: Credential? = nil, storeID: RecordID? = nil,
    keepsOlderVersions: Bool = false,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> SalvageSummary {
    let source = try present(path)
    try FolderPath.refuseNesting(newPath, with: path)
    let target = try folder(newPath)
    return try about(
      source, and: target,
      salvage(
        from: source, to: target, unlocking: credential, storeID: storeID,
        keepsOlderVersions: keepsOlderVersions, progress: progress))
  }

  static func salvage(
    from source: any Storage, to target: any Storage, unlocking credential: Credential? = nil,
    storeID: RecordID? = nil, keepsOlderVersions: Bool = false,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> SalvageSummary {
    let lock = try refuseWriter(source)
    defer { lock?.close() }
    let creation = try about(target, Creation(in: target))
    do throws(NotelogError) {
      // The keyring first, as in a store that is created: the journal is what makes the folder a store.
      let keyrings = KeyringFiles(storage: source)
      // The store that is meant: the one that was asked for, or the one that files and keyring speak for.
      var id = storeID?.bytes
      if id == nil {
        id = try SalvagePile.store(in: source, keyring: keyrings.read().newest?.storeID)
      }
      let all = keyrings.all(of: id)
      let isOwnSound = all.first.map { KeyringFiles.isOwn($0.name) } ?? false
      var opened: (name: String, keyring: Keyring)?
      if let credential {
        do throws(NotelogError) { opened = try KeyringFiles.newest(of: all, openedBy: credential) } catch {
          if !isOwnSound {
            throw NotelogError(.damaged, "the store's own keyring is missing or does not check")
          }
          // One that opens some keys only can't prove the keyring.
          if error.code != .tampered { throw error }
        }
      }
      let chosen = opened ?? (isOwnSound ? nil : all.max { $0.keyring.generation < $1.keyring.generation })
      let keyring = try salvageKeyring(
        keyrings.read(of: id, choosing: chosen?.keyring), ofAny: keyrings.read(), to: target)
      try EffaceableFile.copyAll(from: source, to: target)
      var summary = try Journal.salvage(
        from: source, to: target, storeID: id, keepsPossiblyStale: keepsOlderVersions, progress: progress)
      summary.take(try salvageSchemas(from: source, to: target, summary))
      let files = KeyringFiles(storage: target)
      for one in all {
        if let name = try files.keepBeside(one.keyring, of: id) { summary.furtherKeyrings.append(name) }
      }
      try creation.finish()
      summary.keyring = keyring
      summary.keyringFile = chosen.flatMap { KeyringFiles.isOwn($0.name) ? nil : $0.name }
      return summary
    } catch {
      creation.abandon()
      throw error
    }
  }

  /// A store that is being written to can't be salvaged: it changes under the reader.
  private static func refuseWriter(_ source: any Storage) throws(NotelogError) -> (any StorageFile)? {
    do { return try source.openLocked(FileName.lock, .read, .shared) } catch {
      guard error.isRefusedLock else { return nil }
      throw NotelogError.busy("the store is open for writing", FileName.lock, in: source, cause: error)
    }
  }

  /// Brings schemas along that the frames lack, from the pile's second copy, and gives the new store a second
  /// copy.
  private static func salvageSchemas(
    from source: any Storage, to target: any Storage, _ summary: SalvageSummary
  ) throws(NotelogError) -> SchemaCopies {
    let storeID = summary.store
    var options = JournalOptions()
    options.isReadOnly = true
    let schemas = try withJournal(of: target, options) { journal throws(NotelogError) in
      try SchemaCopies(
        of: journal, and: SchemaFile(storage: source), stale: Set(summary.olderVersions.map(\.bytes)))
    }
    if schemas.chosen.isEmpty { return schemas }
    if !schemas.fromFile.isEmpty {
      try withJournal(of: target, JournalOptions()) { journal throws(NotelogError) in
        try schemas.storeFromFile(in: journal)
      }
    }
    try SchemaFile(storage: target).replace(with: Array(schemas.chosen.values), of: storeID)
    return schemas
  }

  static func withJournal<Result>(
    of storage: any Storage, _ options: JournalOptions, _ body: (Journal) throws(NotelogError) -> Result
  ) throws(NotelogError) -> Result {
    let journal = try Journal.open(in: storage, options: options)
    // What was written is durable already.
    defer { try? journal.close() }
    return try body(journal)
  }

  /// Brings the keyring along, unless all there is of it is another store's. A file that does not check may
  /// be this store's.
  private static func salvageKeyring(
    _ found: TwinFile, ofAny any: TwinFile, to target: any Storage
  ) throws(NotelogError) -> SalvageSummary.KeyringOutcome {
    guard [found.first, found.copy].contains(where: { $0.bytes?.isEmpty == false }) else {
      return found.failure == nil ? .missing : .unreadable
    }
    let isAnySound = any.newest != nil && ![any.first.state, any.copy.state].contains(.unreadable)
    if found.newest == nil, isAnySound { return .foreign }
    try found.copy(to: target)
    if found.newest == nil || found.finding.copy == .different { return .damaged }
    return found.finding.isDamage ? .mended : .sound
  }
}

extension SalvageSummary {
  /// Takes in what became of the schemas, which are records too: those that were lost in the log came along
  /// from their second copy, or weigh more than other losses.
  fileprivate mutating func take(_ schemas: SchemaCopies) {
    recordCount -= schemas.countInLog
    let listedCount = losses.count
    losses = losses.compactMap { loss in
      guard loss.kind == .record, let number = loss.record.flatMap({ SchemaRecord.number($0.bytes) }) else {
        return loss
      }
      if schemas.fromFile.contains(UInt16(number)) { return nil }
      var loss = loss
      loss.words =
        "the schema of collection \(number): its records were saved, but can't be shown by name"
      return loss
    }
    lossCount -= listedCount - losses.count
  }
}

// MARK: - What lies in a store's files, frame by frame: the forensic view, without a key and without opening anything.

extension Store {
  /// Calls `body` with every piece of every segment file in a folder: frames, and the bytes between them.
  ///
  /// Nothing is opened, recovered or judged; a store that can't be opened is shown all the same.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - body: Called in the order of names and offsets.
  /// - Throws: `notFound` where there is no segment file; `inputOutput`; and what `body` throws.
  public static func forEachPiece(at path: String, _ body: (StoredPiece) throws -> Void) throws {
    do { try forEachPiece(in: SystemStorage(path: path), body) } catch let error as NotelogError {
      throw error.naming(path)
    }
  }

  static func forEachPiece(in storage: any Storage, _ body: (StoredPiece) throws -> Void) throws {
    let stop = Cancellation.flag
    let names = try fromStorage(storage.names(in: "")).filter { $0.contains(".journal") }.sorted()
    guard !names.isEmpty else { throw NotelogError(.notFound, "there is no segment here") }
    for name in names {
      guard var file = try? SalvageFile(name, in: storage) else {
        throw NotelogError(.inputOutput, "'\(name)' can't be read")
      }
      try file.forEachPiece { piece in
        if stop?.isSet == true { throw CancellationError() }
        try body(piece)
      }
    }
  }
}
