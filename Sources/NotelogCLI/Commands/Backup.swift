// `notelog backup STORE DEST`: one round of shipping, and what it superseded goes.
import Notelog

extension Command {
  static let backup: Command = Command(
    words: ["backup"], summary: "bring a backup up to date, while the store is in use",
    discussion: """
      A backup is an archive, as 'notelog ship' makes it, of which only the newest moment is kept, and what --keep says. Only what it lacks is copied, and every copy
      is read back before it counts. Interrupted, the backup still has what it had. No key is needed; the keyring comes along, so old passwords open old
      backups.

      Then what is superseded is deleted, once the backup's newest moment is verified byte for byte; nothing is while anything is wrong. Without a password, earlier
      keyrings stay, as nobody can tell which is forged, and 'notelog restore' then asks for the password. With one, they go.

      What does not check in the store is named; then it exits 3. It never takes the place of what the backup holds. The bytes of
      segments that the backup has already are not read again in the store: 'notelog verify' reads them.
      """,
    positionals: [.store, .folder("DEST", "the backup's folder; made if it is missing")],
    options: [checkParts, .keep, .json],
    examples: [
      "notelog backup my.notelog /media/disk/my.backup": "copies what is new since last time",
      "notelog backup my.notelog /media/disk/my.backup --keep 30d": "every moment of 30 days can be restored",
    ], run: backUp)

  fileprivate static let checkParts = Option(
    long: "check", help: "read all that the backup has already, and copy again what does not check")
}

private func backUp(_ call: Invocation) throws -> ExitCode {
  try call.checkPath()
  let credential = try SecretSource.given(call)
  let before = try call.firstKept()
  let archive = FolderArchive(path: call.positionals[1])
  let done = try withProgress("backing up", saying: [.notFound: call.noStore], into: call.positionals[1]) {
    progress in
    try Shipper(of: call.store, to: archive).ship(
      checkingAll: call.has(Command.checkParts), progress: progress)
  }
  var findings = done.findings
  if findings.isEmpty {
    let expired = try Store.expired(in: archive, before: before, unlocking: credential)
    findings += expired.findings
    try archive.delete(expired.names)
  }
  let healed = done.mendedObjects > 0 ? " (\(done.mendedObjects) damaged in the backup)" : ""
  try call.print(
    "\(counted(done.putObjects, "object")) copied\(healed), \(counted(done.keptSegments, "segment")) there already; "
      + "\(done.byteCount) bytes copied and verified",
    or: done.json(findings))
  if credential == nil, try archive.objects().keys.count(where: { $0.hasPrefix("k-") }) > 1 {
    Console.say(
      "note",
      "the backup has several keyrings: 'restore' asks for the password, and 'backup' with it lets the others go"
    )
  }
  if done.keysWithoutTheirFile > 0 {
    Console.say(
      "note",
      "\(counted(done.keysWithoutTheirFile, "key")) can be shredded: the backup leaves out the effaceable files, without which "
        + "nothing under them opens")
  }
  return sayFindings(findings)
}
