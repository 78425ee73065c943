// Verification of a backup: FORMAT.md 26. It never writes.

import NotelogCrypto

extension Store {
  /// Verifies a backup as the store that it would be restored to, and its own files besides.
  static func verify(
    _ backup: BackupFolder, unlocking credential: Credential?, threadCount: Int,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool
  ) throws(NotelogError) -> Verification {
    let damages = try backup.verifyParts(progress)
    var verification = Verification()
    if let whole = backup.view {
      let found = KeyringFiles(storage: whole.backup).all(of: backup.storeID)
      let opened = credential.flatMap { try? KeyringFiles.newest(of: found, openedBy: $0) }
      let chosen = opened ?? found.first
      let view = BackupView(whole, keyring: chosen.flatMap { KeyringFiles.isOwn($0.name) ? nil : $0.name })
      do throws(NotelogError) {
        verification = try verify(
          in: view, unlocking: credential, threadCount: threadCount, progress: progress)
        for one in found where !KeyringFiles.isOwn(one.name) && one.name != chosen?.name {
          let isNewer = opened.map { one.keyring.generation > $0.keyring.generation } ?? false
          verification.findings.append(.init(further: one.name, isDamage: isNewer))
        }
      } catch {
        // A backup of which too little is left to be a store is a finding too.
        guard [.damaged, .notFound].contains(error.code) else { throw error }
        verification.add(error, .structure)
      }
    }
    verification.backup = Verification.Backup(
      storeID: backup.storeID.map { RecordID($0) }, partCount: backup.partCount)
    for finding in damages where !verification.findings.contains(finding) {
      verification.findings.append(finding)
    }
    switch backup.finding {
    case .bothSound: break
    case .older(let name):
      verification.add("\(name): of the backup before; the other one serves", .structure, isDamage: false)
    case .unreadable(let name):
      verification.add(
        "\(name): missing, or does not check; the other one serves", .structure, isDamage: true)
    case .neitherSound:
      verification.add("neither manifest nor manifest.copy can be read", .structure, isDamage: true)
    }
    return verification
  }
}
