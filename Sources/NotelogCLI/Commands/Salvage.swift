// `notelog salvage STORE --to NEW`: what can be read of a store, in a new one, and what could not.
import Notelog

extension Command {
  static let salvage: Command = Command(
    words: ["salvage"], summary: "save what can be read of a damaged store into a new one",
    discussion: """
      STORE is a folder with a store's files, or with what is left of them: damaged, incomplete, without headers, there
      twice or under other names. It is only read. No key is needed, and the keyring comes along, with the files of
      keys that can be shredded, so that the new store opens with the same passwords. If there are several keyrings, the
      newest that a given password opens is taken, or without one that with the store's own names, and the others lie beside it. A password that
      opens none exits 12 at once; where the store's own keyring does not check, that is said, and it goes on without.

      Each record is saved in its newest version, and what was removed stays removed. Older versions that the store kept are not saved, and the new store keeps none. What could not be saved is named,
      place by place; then it exits 3. At last the new store is verified: with a password, every sealed value of it
      too.
      """,
    positionals: [.store], options: [to, olderVersions, storeID, .json],
    examples: [
      "notelog salvage broken.notelog --to saved.notelog": "saves what can be read"
    ], run: salvageStore)

  fileprivate static let to = Option(
    long: "to", value: "NEW", completion: .folders, help: "the new store's folder, missing or empty")
  fileprivate static let olderVersions = Option(
    long: "older-versions", help: "save a record whose newest version is lost in an older one, and name it")
  fileprivate static let storeID = Option(
    long: "store-id", value: "ID",
    help:
      "the store to save, where the files are of several: the keyring's unless given, or the one of most bytes"
  )
}

private func salvageStore(_ call: Invocation) throws -> ExitCode {
  guard let new = call.value(of: Command.to) else {
    throw ToolError.usage("--to is missing", hint: "usage: notelog salvage STORE --to NEW")
  }
  let given = call.value(of: Command.storeID)
  let storeID = given.flatMap { RecordID($0) }
  if let given, storeID == nil { throw ToolError.usage("'\(given)' is not an id") }
  // What is wrong with the password is said before the work is done.
  var credential = try SecretSource.given(call)
  try call.checkPath()
  let (summary, found) = try Interrupt.deferred {
    let summary = try withProgress(
      "salvaging",
      saying: [
        .notFound: ToolError(
          .noStore, "there is nothing of a store in '\(call.store)'",
          hint: "where no file has a readable header, --store-id says which store it was"),
        .alreadyExists: .notEmpty(new),
      ],
      into: new
    ) { progress in
      func salvage() throws -> SalvageSummary {
        try Store.salvage(
          from: call.store, to: new, unlocking: credential, storeID: storeID,
          keepsOlderVersions: call.has(Command.olderVersions), progress: progress)
      }
      do { return try salvage() } catch let error as NotelogError
        where error.code == .damaged && credential != nil
      {
        Console.say("warning", "\(ToolError(error).message): it goes on without the password or key")
        credential = nil
        return try salvage()
      }
    }
    do {
      // What was saved is looked at again, as whoever goes on with it would.
      let found = try withProgress("verifying") { progress in
        try Store.verify(at: new, unlocking: credential, progress: progress)
      }
      return (summary, found)
    } catch {
      if ToolError(any: error).code == .interrupted {
        Console.say("note", "'\(new)' is whole, and was not verified")
      }
      throw error
    }
  }
  let withoutSchema = found.isSound(.keyring) ? max(0, summary.recordCount - found.recordCount) : 0
  let isComplete = summary.isComplete && !found.verdict.isDamaged && withoutSchema == 0
  try call.print(report(summary, found, withoutSchema: withoutSchema, isComplete: isComplete))
  return isComplete ? .done : .damage
}

/// What was saved, and what the new store is like: `withoutSchema` records are of collections that it knows
/// nothing of.
private func report(
  _ summary: SalvageSummary, _ found: Verification, withoutSchema: Int, isComplete: Bool
) -> Report {
  var report = Report(width: 11)
  report.row("store", summary.storeID, ["store": summary.storeID, "complete": isComplete])
  // What is odd about the files.
  let remarks = [
    (summary.headerless, "without a header"), (summary.duplicates, "there twice"),
    (summary.foreign, "of other stores, left out"),
  ].filter { !$0.0.isEmpty }.map { ", \($0.0.count) \($0.1)" }
  report.row("read", counted(summary.files.count, "file") + remarks.joined())
  report.row(
    "saved", "\(counted(summary.recordCount, "record")), \(summary.byteCount) bytes",
    ["records": summary.recordCount, "chunks": summary.chunkCount, "bytes": summary.byteCount])
  report.row(
    "removed", "\(counted(summary.deletedCount, "record")), as they should be",
    ["removed": summary.deletedCount])
  let file = summary.keyringFile.map { ": found as '\(Escaping.line($0))'" } ?? ""
  report.row(
    "keyring", summary.keyring.words + file,
    ["keyring": summary.keyring.rawValue, "keyringFile": summary.keyringFile])
  report.rows(
    "keyring",
    summary.furtherKeyrings.map {
      "another lies beside it as '\($0)': the newest that a given password opens is taken"
    }, ["furtherKeyrings": summary.furtherKeyrings])
  report.add([
    "staleBelow": summary.possiblyStaleBelow, "withoutSchema": withoutSchema, "files": summary.files,
    "headerless": summary.headerless, "doubled": summary.duplicates, "foreign": summary.foreign,
  ])
  report.rows(
    "foreign", summary.foreignStores.map { "store \($0): --store-id \($0) saves that one" },
    ["foreignStores": summary.foreignStores])
  report.rows("lost", summary.losses.map { Escaping.line($0.words) })
  let more = summary.lossCount - summary.losses.count
  report.row("lost", more > 0 ? "and \(more) places more" : nil)
  let unnamed = summary.unnamedRecordCount
  report.row(
    "lost", unnamed > 0 ? "\(counted(unnamed, "more record")): the index has no ids of them" : nil,
    ["unnamedRecords": unnamed])
  let older = summary.olderVersions.map(\.shown)
  report.rows("older", older.map { "record \($0): not its newest version" }, ["olderVersions": older])
  if withoutSchema > 0 {
    report.row(
      "schema",
      "lost of \(counted(withoutSchema, "record")): they are kept, and nothing can show them; 'notelog accept' before a collection is made"
    )
  }
  report.row(
    "stale",
    summary.possiblyStaleBelow > 0
      ? "revisions below \(summary.possiblyStaleBelow) may have been changed or removed in what is lost" : nil
  )
  let copy = found.report
  report.rows(
    "new store", copy.lines,
    ["lossCount": summary.lossCount, "losses": summary.losses, "newStore": copy.json])
  report.row(
    "verdict",
    isComplete ? Console.styled("everything was saved", .green) : Console.styled("not all was saved", .red))
  return report
}

extension SalvageSummary.KeyringOutcome {
  fileprivate var words: String {
    switch self {
    case .sound: "sound, and came along"
    case .mended: "one copy was damaged or missing; the other came along, twice"
    case .damaged: "damaged; both copies came along as they are"
    case .foreign: "of another store, left out: restore one from a backup to open what is sealed"
    case .unreadable:
      "can't be read: look whose it is, and whether it is a link; nothing sealed opens without it"
    case .missing: "missing: restore one from a backup to open what is sealed"
    }
  }
}
