// Restoring a backup: FORMAT.md 26. It needs no key.

import NotelogStorage

extension Store {
  /// Makes a store of a backup, in a new folder.
  ///
  /// Every byte of the new store is verified. No key is needed, unless the backup holds several keyrings: then the newest is taken that the
  /// credential opens. The store has the passwords that its keyring has. Of a damaged backup everything is
  /// restored that is there, as it is; verifying and opening the new store then find the damage, and `salvage` what is sound.
  ///
  /// - Parameters:
  ///   - backupPath: The backup's folder.
  ///   - path: The folder of the new store, which is missing or empty.
  ///   - credential: What unlocks the store; nil where its keyring is beyond doubt.
  ///   - progress: Told, from time to time, how many bytes of how many are done; its answer says whether to go on.
  /// - Returns: What does not check in the new store or in the backup; and, as what is no damage, which keys can't be opened without their
  ///   effaceable files, which no backup has. Empty where store and backup were sound and there are no such keys.
  /// - Throws: `locked` where there are several keyrings, and no credential; `wrongPassword`, `tampered` where it opens none of them;
  ///   `notFound` where there is no backup, `alreadyExists` where the folder is not empty, `invalidArgument` where one folder
  ///   lies inside the other, `damaged` where neither copy of the backup's manifest checks; `full`, `inputOutput`, `cancelled`. The
  ///   folder is then left empty.
  @discardableResult
  public static func restore(
    from backupPath: String, to path: String, unlocking credential: Credential? = nil,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> [Finding] {
    let backup = try present(backupPath)
    try FolderPath.refuseNesting(path, with: backupPath)
    let target = try folder(path)
    return try about(backup, target) { () throws(NotelogError) in
      try restore(backup, to: target, unlocking: credential, progress: progress)
    }
  }

  static func restore(
    _ backup: any Storage, to target: any Storage, unlocking credential: Credential? = nil,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(NotelogError) -> [Finding] {
    let chosen = try keyringToRestore(backup, unlocking: credential)
    let creation = try Creation.begin(in: target)
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
