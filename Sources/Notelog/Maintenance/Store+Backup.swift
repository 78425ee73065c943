// Backup of a store in use, and restoring it: FORMAT.md 13, "Backup". Neither needs a key.

import NotelogCrypto
import NotelogJournal

/// What a backup did.
public struct BackupSummary: Sendable {
  /// How many segments were copied.
  public let copiedSegments: Int
  /// How many segments the backup had already.
  public let keptSegments: Int
  /// How many bytes were copied.
  public let copiedByteCount: Int
  /// What does not check in the store, and so in its copy; empty for a sound store.
  public let findings: [Verification.Finding]
}

extension Store {
  /// Brings a backup of this store up to date, while it is in use.
  ///
  /// The backup holds everything that was committed when this was called, and whatever was committed until it began to
  /// copy. See `backup(of:to:progress:)`.
  ///
  /// - Parameters:
  ///   - path: The backup's folder: missing, empty, or with an earlier backup of this store.
  ///   - progress: Told, from time to time, how many bytes of how many are done; its answer says whether to go on.
  /// - Returns: What was done.
  /// - Throws: `alreadyExists` where there is a backup of another store, `full`, `inputOutput`, `poisoned`, `closed`,
  ///   `cancelled`; the backup is then the one before.
  @discardableResult
  public func backup(
    to path: String, progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> BackupSummary {
    do throws(JournalError) { try journal.synchronize() } catch {
      // What another process writes, the backup makes durable itself.
      guard error.code == .readOnly else { throw NotelogError(journal: error) }
    }
    return try Self.backup(storage, to: Self.folder(path), progress: progress)
  }

  /// Brings a backup of a store up to date, whoever uses the store meanwhile, this process or another.
  ///
  /// Only segments that the backup lacks are copied; each copy is read back and verified before the backup becomes the
  /// new one, in one step. Interrupted, it is still the one before. The keyring comes along as it is; no key is needed.
  ///
  /// - Parameters:
  ///   - path: The store's folder.
  ///   - backupPath: The backup's folder: missing, empty, or with an earlier backup of this store.
  ///   - progress: Told, from time to time, how many bytes of how many are done; its answer says whether to go on.
  /// - Returns: What was done.
  /// - Throws: `notFound` where there is no store, `alreadyExists` where there is a backup of another one, `busy` where the
  ///   store must be opened for writing once, as its recovery was interrupted; `full`, `inputOutput`, `cancelled`. The backup is
  ///   then the one before.
  @discardableResult
  public static func backup(
    of path: String, to backupPath: String,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> BackupSummary {
    try backup(present(path), to: folder(backupPath), progress: progress)
  }

  /// Makes a store of a backup, in a new folder.
  ///
  /// Every byte of the new store is verified. No key is needed: the store has the passwords it had.
  ///
  /// - Parameters:
  ///   - backupPath: The backup's folder.
  ///   - path: The folder of the new store, which is missing or empty.
  ///   - progress: Told, from time to time, how many bytes of how many are done; its answer says whether to go on.
  /// - Returns: What does not check in the new store; empty where store and backup were sound.
  /// - Throws: `notFound` where there is no backup, `alreadyExists` where the folder is not empty, `damaged` where the backup's
  ///   manifest, its keyring or the end of its log does not check; `full`, `inputOutput`, `cancelled`. The folder is then left
  ///   empty.
  @discardableResult
  public static func restore(
    from backupPath: String, to path: String,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> [Verification.Finding] {
    try restore(present(backupPath), to: folder(path), progress: progress)
  }

  static func backup(
    _ source: any Storage, to target: any Storage,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> BackupSummary {
    var failure: NotelogError?
    let report: BackupReport
    do throws(JournalError) {
      report = try Journal.backup(from: source, to: target, progress: progress) { () throws(JournalError) in
        do throws(NotelogError) { try copyKeyring(from: source, to: target) } catch {
          failure = error
          throw JournalError(.inputOutput, "the keyring could not be copied")
        }
      }
    } catch { throw failure ?? NotelogError(journal: error) }
    return BackupSummary(
      copiedSegments: report.copiedSegments, keptSegments: report.keptSegments,
      copiedByteCount: report.copiedByteCount, findings: report.damages.map(Verification.Finding.init))
  }

  static func restore(
    _ backup: any Storage, to target: any Storage,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> [Verification.Finding] {
    let creation = try Creation(in: target)
    do throws(NotelogError) {
      let damages = try journaling { () throws(JournalError) in
        try Journal.restore(from: backup, to: target, progress: progress)
      }
      try copyKeyring(from: backup, to: target)
      try creation.finish()
      return damages.map(Verification.Finding.init)
    } catch {
      creation.abandon()
      throw error
    }
  }

  /// A folder that is there.
  private static func present(_ path: String) throws(NotelogError) -> SystemStorage {
    let storage = SystemStorage(path: path)
    do { _ = try storage.names(in: "") } catch {
      guard error.errno == SystemErrno.notFound else { throw NotelogError(storage: error, "reading \(path)") }
      throw NotelogError(.notFound, "there is no folder \(path)")
    }
    return storage
  }

  /// Copies the keyring's two files as they are, of which one that can't be read is made of the other, and the schemas' second copy.
  private static func copyKeyring(from source: any Storage, to target: any Storage) throws(NotelogError) {
    let files = KeyringFiles(storage: source)
    let found = files.contents()
    let choice = try naming("reading the keyring") { () throws(CryptoError) in
      try Keyring.choose(found.keyring, copy: found.copy)
    }
    var (keyring, copy) = (found.keyring ?? [], found.copy ?? [])
    switch choice.finding {
    case .bothSound, .copyOlder, .keyringOlder, .disagree: break
    case .copyUnreadable: copy = choice.keyring.bytes
    case .keyringUnreadable: keyring = choice.keyring.bytes
    }
    try KeyringFiles(storage: target).keep(keyring, as: KeyringFiles.name)
    try KeyringFiles(storage: target).keep(copy, as: KeyringFiles.copyName)
    // A copy that does not check never takes a sound one's place.
    try SchemaFile(storage: source).copy(to: target, of: choice.keyring.storeID)
  }
}
