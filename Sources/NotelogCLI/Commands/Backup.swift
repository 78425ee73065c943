// `notelog backup STORE DEST` and `notelog restore BACKUP STORE`.
import Notelog

extension Command {
  static let backup: Command = Command(
    words: ["backup"], summary: "bring a backup up to date, while the store is in use",
    discussion: """
      Only what the backup lacks is copied, and every copy is read back and verified before it counts. Interrupted, the
      backup is still the one before. No key is needed; the keyring comes along, so old passwords open old backups.

      Without a password, a keyring that was changed since goes beside the backup's, as nobody can tell it from a forged
      one, and 'notelog restore' then asks for the password. With one, it is checked and takes their place.

      What does not check in the store is named; then it exits 3. It never takes the place of what the backup holds: a
      good copy stays, and everything of the last backup of a sound store does until there is another one. The bytes of
      segments that the backup has already are not read again: --check reads them in the backup, 'notelog verify' in both.
      """,
    positionals: [
      .store,
      Positional(name: "DEST", completion: .folders, help: "the backup's folder; made if it is missing"),
    ],
    options: [checkParts, .json],
    examples: [
      "notelog backup my.notelog /media/disk/my.backup": "copies what is new since last time"
    ], run: backUp)

  fileprivate static let checkParts = Option(
    long: "check", help: "read all that the backup has already, and copy again what does not check")

  static let restore: Command = Command(
    words: ["restore"], summary: "make a store of a backup",
    discussion: """
      Every byte of the new store is verified. If something does not check, in the backup or in what the backup was made
      of, everything that is there is restored all the same; what does not check is named, and it exits 3. Then 'notelog
      salvage' makes a sound store of it.

      Where the backup holds several keyrings, the newest is taken that the password opens, and there has to be one:
      'notelog salvage BACKUP --to NEW' brings all of them along without.
      """,
    positionals: [
      Positional(name: "BACKUP", completion: .folders, help: "the backup's folder"),
      Positional(name: "STORE", completion: .folders, help: "the new store's folder, missing or empty"),
    ],
    options: [.json], run: restoreBackup)
}

private func backUp(_ call: Invocation) throws -> ExitCode {
  try call.checkPath()
  let credential = try SecretSource.given(call)
  let done = try withProgress("backing up", saying: [.notFound: call.noStore], into: call.positionals[1]) {
    progress in
    try Store.backup(
      of: call.store, to: call.positionals[1], unlocking: credential,
      checkingAll: call.has(Command.checkParts), progress: progress)
  }
  let healed = done.healedSegments > 0 ? " (\(done.healedSegments) damaged in the backup)" : ""
  try call.print(
    "\(counted(done.copiedSegments, "segment")) copied\(healed), \(done.keptSegments) there already; "
      + "\(done.copiedByteCount) bytes copied and verified",
    or: [
      "segmentsCopied": done.copiedSegments, "segmentsKept": done.keptSegments,
      "segmentsHealed": done.healedSegments, "bytesCopied": done.copiedByteCount, "findings": done.findings,
    ])
  if done.keysWithoutTheirFile > 0 {
    Console.say(
      "note",
      "\(counted(done.keysWithoutTheirFile, "key")) can be shredded: the backup leaves out the effaceable files, without which "
        + "nothing under them opens")
  }
  return sayFindings(done.findings)
}

private func restoreBackup(_ call: Invocation) throws -> ExitCode {
  let given = try SecretSource.given(call)
  do { return try restoreBackup(call, given) } catch {
    // Which of several keyrings is the store's, the password tells.
    let error = ToolError(any: error)
    guard error.code == .locked, given == nil else { throw error }
    Console.say("note", error.message)
    return try restoreBackup(call, try SecretSource.ask())
  }
}

private func restoreBackup(_ call: Invocation, _ credential: Credential?) throws -> ExitCode {
  let (backup, store) = (call.positionals[0], call.positionals[1])
  let findings = try withProgress(
    "restoring",
    saying: [
      .notFound: ToolError(
        .noStore, "there is no backup at '\(backup)'",
        hint: "'notelog salvage \(backup) --to NEW' saves what there is where both of its manifests are lost"),
      .alreadyExists: ToolError(
        .failed, "'\(store)' is not empty", hint: "a backup is restored into a folder of its own"),
    ],
    into: store
  ) { progress in
    try Store.restore(from: backup, to: store, unlocking: credential, progress: progress)
  }
  try call.print(
    findings.filter(\.isDamage).isEmpty
      ? "restored and verified" : "restored, with \(counted(findings.count, "finding"))",
    or: ["findings": findings])
  return sayFindings(findings)
}

/// Says what does not check, and what that means for the exit code.
private func sayFindings(_ findings: [Finding]) -> ExitCode {
  for finding in findings { Console.say(finding.isDamage ? "error" : "note", finding.words) }
  return findings.contains(where: \.isDamage) ? .damage : .done
}
