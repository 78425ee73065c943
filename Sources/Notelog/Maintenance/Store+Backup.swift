// Backup of a store in use: FORMAT.md 26. It needs no key.

import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

extension Store {
  /// Brings a backup of this store up to date, while it is in use.
  ///
  /// The backup holds everything that was committed when this was called, and whatever was committed until it
  /// began to copy. See `backup(of:to:unlocking:checkingAll:progress:)`; an unlocked store vouches for its
  /// keyring.
  ///
  /// - Parameters:
  ///   - path: The backup's folder: missing, empty, or with an earlier backup of this store.
  ///   - checksAll: Whether segments that the backup has already are read and verified too.
  ///   - progress: Told, from time to time, how many bytes of how many are done; its answer says whether to
  ///     go on.
  /// - Returns: What was done.
  /// - Throws: `alreadyExists` where there is a backup of another store, `invalidArgument` where the folder
  ///   lies inside the store's or around it; `full`, `inputOutput`, `poisoned`, `closed`, `cancelled`; the
  ///   backup is then the one before.
  @discardableResult
  public func backup(
    to path: String, checkingAll checksAll: Bool = false,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> BackupSummary {
    do throws(NotelogError) { try journal.synchronize() } catch {
      // What another process writes, the backup makes durable itself.
      guard error.code == .readOnly || error.code == .suspended else {
        throw error.naming(journal.path)
      }
    }
    if let folder = storage as? SystemStorage { try FolderPath.refuseNesting(path, with: folder.path) }
    return try Self.backup(
      storage, to: Self.folder(path), checksAll: checksAll, progress: progress, vouching: vault.vouches)
  }

  /// Brings a backup of a store up to date, whoever uses the store meanwhile, this process or another.
  ///
  /// Only segments that the backup lacks are copied; each copy is read back and verified before the backup
  /// becomes the new one, in one step. Interrupted, it is still the one before. No key is needed.
  ///
  /// The keyring comes along. One that is another than the backup's takes its place only where a credential
  /// opens it: without one, whether it is the store's or was forged nobody knows, and it goes beside those
  /// that are there. Restoring then needs a credential.
  ///
  /// What does not check in the store is a finding, and never takes the place of what the backup holds: a
  /// copy from before stays where the store's file is missing or damaged, and all of the last backup of a
  /// sound store stays until there is another one. Segments that are in the backup already are not read in
  /// the store, and in the backup only at their beginnings and ends, unless all are to be checked; those that
  /// don't check are copied again.
  ///
  /// - Parameters:
  ///   - path: The store's folder.
  ///   - backupPath: The backup's folder: missing, empty, or with an earlier backup of this store.
  ///   - credential: What unlocks the store, so that its keyring is checked; nil checks nothing.
  ///   - checksAll: Whether segments that the backup has already are read and verified too.
  ///   - progress: Told, from time to time, how many bytes of how many are done; its answer says whether to
  ///     go on.
  /// - Returns: What was done.
  /// - Throws: `notFound` where there is no store, `alreadyExists` where there is a backup of another one,
  ///   `invalidArgument` where one folder lies inside the other, `busy` where another backup is being made
  ///   there; `wrongPassword`, `tampered` where the credential opens no keyring of the store; `full`,
  ///   `inputOutput`, `cancelled`. The backup is then the one before.
  @discardableResult
  public static func backup(
    of path: String, to backupPath: String, unlocking credential: Credential? = nil,
    checkingAll checksAll: Bool = false,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> BackupSummary {
    let source = try present(path)
    try FolderPath.refuseNesting(backupPath, with: path)
    let target = try folder(backupPath)
    do throws(NotelogError) {
      guard let credential else {
        return try backup(source, to: target, checksAll: checksAll, progress: progress)
      }
      // What is wrong with the credential is said before anything is done.
      let own = KeyringFiles(storage: source).all(of: nil).filter { KeyringFiles.isOwn($0.name) }
      if !own.isEmpty { _ = try KeyringFiles.newest(of: own, openedBy: credential) }
      return try backup(
        source, to: target, checksAll: checksAll, progress: progress,
        vouching: { (try? KeyringFiles.newest(of: [("", $0)], openedBy: credential)) != nil })
    } catch { throw error.naming(source.path, or: target.path) }
  }

  static func backup(
    _ source: any Storage, to target: any Storage, checksAll: Bool = false,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true },
    vouching vouches: (Keyring) -> Bool = { _ in false }
  ) throws(NotelogError) -> BackupSummary {
    var keyring: [Finding] = []
    func countedSchemas() -> UInt64? {
      KeyringFiles(storage: source).read().newest?.schemaRevisions
    }
    // A schema is in the log before the keyring counts it: what is counted now, the copy of the log has.
    var counted = countedSchemas()
    var summary = try Journal.backup(from: source, to: target, checksParts: checksAll, progress: progress) {
      storeID throws(NotelogError) in
      keyring = try backUpKeyring(source, to: target, of: storeID, vouches)
      let before = counted
      counted = countedSchemas()
      return counted == before
    }
    summary.findings += keyring
    summary.keysWithoutTheirFile =
      KeyringFiles(storage: target).read().newest?.effaceableKeys.count ?? 0
    return summary
  }

  /// A folder that is there.
  static func present(_ path: String) throws(NotelogError) -> SystemStorage {
    let storage = SystemStorage(path: path)
    do { _ = try storage.names(in: "") } catch {
      guard error.errno == SystemErrno.notFound else {
        throw NotelogError(error, "reading the folder").naming(path)
      }
      throw NotelogError(.notFound, "there is no such folder").naming(path)
    }
    return storage
  }

  // MARK: - The keyring

  /// Brings the keyring along, and the schemas' second copy. Where there is none yet, its two files are
  /// copied; another one than is there takes their place where somebody with the root vouches for it, and
  /// otherwise goes beside. Where neither file can be read, or the schemas can't, the backup keeps its own.
  private static func backUpKeyring(
    _ source: any Storage, to target: any Storage, of id: ID16, _ vouches: (Keyring) -> Bool
  ) throws(NotelogError) -> [Finding] {
    let schemas = SchemaFile(storage: source).read(of: id)
    try schemas.copy(to: target)
    var findings: [Finding] = []
    if schemas.state == .unreadable {
      findings.append(.init("schemas: the store's second copy does not check"))
    }
    let found = KeyringFiles(storage: source).read(of: id)
    let files = KeyringFiles(storage: target)
    let kept = files.read(of: id)
    guard found.newest != nil else {
      guard kept.newest != nil else {
        throw found.failure ?? NotelogError(crypto: .damagedKeyring(.length), "reading the keyring")
      }
      return findings + [.init("keyring: neither of the store's two can be read; the backup keeps its own")]
    }
    guard let newestKept = kept.newest else {
      try found.copy(to: target)
      return findings + found.whatWasMended
    }
    let own = [found.newest, found.other].compactMap(\.self)
    if let vouched = own.first(where: vouches), vouched.generation >= newestKept.generation {
      let before = files.all(of: id).filter { $0.keyring.generation <= vouched.generation }
      try files.replace(with: vouched.bytes)
      // One that can't be removed is no harm.
      for old in before where !KeyringFiles.isOwn(old.name) { try? target.unlink(old.name) }
    } else {
      // Of the backup's own, one that does not check is made of the other.
      try kept.copy(to: target)
      for keyring in own { try files.keepBeside(keyring, of: id) }
    }
    return findings + found.whatWasMended
      + files.all(of: id).filter { !KeyringFiles.isOwn($0.name) }.map { Finding(further: $0.name) }
  }

  /// What of a backup's keyrings is to be restored: the newest that a credential opens; nil where there is
  /// none but the two files.
  static func keyringToRestore(
    _ backup: any Storage, unlocking credential: Credential?
  ) throws(NotelogError) -> Keyring? {
    let found = KeyringFiles(storage: backup).all(of: nil)
    if let credential, !found.isEmpty {
      return try KeyringFiles.newest(of: found, openedBy: credential).keyring
    }
    guard found.allSatisfy({ KeyringFiles.isOwn($0.name) }) else {
      throw NotelogError(
        .locked,
        "the backup holds \(found.count) keyrings: which of them is the store's, only a password or key of it can tell"
      )
    }
    return nil
  }

  /// Copies a backup's keyring: the one that was chosen or, of the two files, of which one that can't be read
  /// is made of the other, both; and the schemas' second copy. Where neither keyring can be read, both are
  /// copied as they are.
  static func restoreKeyring(
    _ backup: any Storage, to target: any Storage, choosing chosen: Keyring? = nil
  ) throws(NotelogError) -> [Finding] {
    let found = KeyringFiles(storage: backup).read(choosing: chosen)
    try found.copy(to: target)
    guard let keyring = found.newest else {
      return [.init("keyring: neither of the backup's two can be read")]
    }
    try SchemaFile(storage: backup).read(of: keyring.storeID).copy(to: target)
    return found.whatWasMended
      + keyring.effaceableKeys.map { key in
        Finding(
          "key \(key.current.rawValue) opens with its file \(FileName.effaceable(key.number)) only, which no backup has: put it here if you kept it",
          isDamage: false)
      }
  }
}

extension Keyring {
  /// The keys that can be shredded, and were not.
  fileprivate var effaceableKeys: [NamedKey] { namedKeys.filter { $0.isEffaceable && !$0.isShredded } }
}

extension TwinFile {
  /// What was mended in the copy, and what could not be.
  fileprivate var whatWasMended: [Finding] {
    if finding.copy == .different { return [.init("keyring: it and its copy differ")] }
    return [(first, copy), (copy, first)].filter { $0.0.content == nil }.map { own, other in
      .init("keyring: \(own.name) is missing or does not check; it was made of \(other.name)")
    }
  }
}

extension Finding {
  /// What is found of the keyring.
  fileprivate init(_ message: String, isDamage: Bool = true) {
    self.init(message, .keyring, isDamage: isDamage)
  }

  /// That a keyring lies beside another, and nobody knows which is the store's. To somebody with a key it is
  /// damage if it says that it is the newer.
  init(further name: String, isDamage: Bool = false) {
    let message =
      isDamage
      ? "is newer than the keyring that the key opens, and does not open with it"
      : "lies beside the backup's keyring, and nobody with a key has checked it"
    self.init("keyring: '\(name)' \(message)", .keyring, isDamage: isDamage)
  }
}

// MARK: - Restoring a backup: FORMAT.md 26. It needs no key.

extension Store {
  /// Makes a store of a backup, in a new folder.
  ///
  /// Every byte of the new store is verified. No key is needed, unless the backup holds several keyrings:
  /// then the newest is taken that the credential opens. The store has the passwords that its keyring has. Of
  /// a damaged backup everything is restored that is there, as it is; verifying and opening the new store
  /// then find the damage, and `salvage` what is sound.
  ///
  /// - Parameters:
  ///   - backupPath: The backup's folder.
  ///   - path: The folder of the new store, which is missing or empty.
  ///   - credential: What unlocks the store; nil where its keyring is beyond doubt.
  ///   - progress: Told, from time to time, how many bytes of how many are done; its answer says whether to
  ///     go on.
  /// - Returns: What does not check in the new store or in the backup; and, as what is no damage, which keys
  ///   can't be opened without their effaceable files, which no backup has. Empty where store and backup were
  ///   sound and there are no such keys.
  /// - Throws: `locked` where there are several keyrings, and no credential; `wrongPassword`, `tampered`
  ///   where it opens none of them; `notFound` where there is no backup, `alreadyExists` where the folder is
  ///   not empty, `invalidArgument` where one folder lies inside the other, `damaged` where neither copy of
  ///   the backup's manifest checks; `full`, `inputOutput`, `cancelled`. The folder is then left empty.
  @discardableResult
  public static func restore(
    from backupPath: String, to path: String, unlocking credential: Credential? = nil,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> [Finding] {
    let backup = try present(backupPath)
    try FolderPath.refuseNesting(path, with: backupPath)
    let target = try folder(path)
    return try about(
      backup, and: target, restore(backup, to: target, unlocking: credential, progress: progress))
  }

  static func restore(
    _ backup: any Storage, to target: any Storage, unlocking credential: Credential? = nil,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> [Finding] {
    let chosen = try keyringToRestore(backup, unlocking: credential)
    let creation = try about(target, Creation(in: target))
    do throws(NotelogError) {
      let damages = try Journal.restore(from: backup, to: target, progress: progress)
      let keyring = try restoreKeyring(backup, to: target, choosing: chosen)
      try creation.finish()
      return damages + keyring
    } catch {
      creation.abandon()
      throw error
    }
  }
}
