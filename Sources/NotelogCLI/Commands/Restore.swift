// `notelog restore ARCHIVE STORE` and `notelog expired ARCHIVE`: what an archive gives back, and what may go.
import Foundation
import Notelog

extension Command {
  static let restore: Command = Command(
    words: ["restore"], summary: "make a store of an archive, as it was at any moment",
    discussion: """
      The newest moment is taken unless another is named. It prints which one that was, and every byte of the new store is verified. What is missing of the
      moment, or does not check, is named, and it exits 3; all else is restored all the same. Then 'notelog salvage' makes a sound store of it.

      A moment is within a branch: each store that was restored begins one, and goes on from there. Where several have that moment, --branch has to choose.
      --list prints a line for each: the branch, its revisions, and the times of the first and the last moment; with --json also all moments at which an object
      ends. Where the store keeps no times, these are those that a time finds.

      --needs prints the names of the objects that the moment needs, one a line, for a tool that fetches them. Log segments have to be there for that.

      Where the archive holds several keyrings, the newest is taken that the password opens and that goes with the moment, and there has to be one:
      'notelog salvage ARCHIVE --to NEW' brings all of them along without.
      """,
    positionals: [
      .archive,
      .folder("STORE", "the new store, missing or empty; not with --list and --needs", isOptional: true),
    ],
    options: Option.moment + [listBranches, needs, .json],
    examples: [
      "notelog restore /media/disk/notes again.notelog --at '2026-11-20 14:03'":
        "with all that was committed by then",
      "notelog restore /media/disk/notes --list": "what there is to choose from",
    ], run: restoreArchive)

  fileprivate static let listBranches = Option(long: "list", help: "list the branches, and make no store")
  fileprivate static let needs = Option(long: "needs", help: "list what the moment needs, and make no store")

  static let expired: Command = Command(
    words: ["expired"], summary: "list what of an archive is needed no more",
    discussion: """
      It prints the names of the objects that neither the newest moment needs nor, with --keep, any of the last TIME, one a line. Only --delete deletes anything.

      The newest moment is verified before, byte for byte. While anything does not check in it, or an object's time lies ahead of the clock, or
      two copies of the store were carried there, or branches have moments that none goes on from, it says so, prints nothing, and exits 3. Keyrings are listed only where a password or key opens a newer one.
      """,
    positionals: [.archive], options: [.keep, delete, needed, .json],
    examples: [
      "notelog expired /media/disk/notes --keep 30d --delete": "every moment of the last 30 days stays",
      "notelog expired box --keep 30d | rclone delete --files-from - remote:notes": "the same in a bucket",
    ], run: listExpired)

  fileprivate static let delete = Option(long: "delete", help: "delete them in the folder, and print which")
  fileprivate static let needed = Option(
    long: "needed", help: "list all others instead, for locks that have to be renewed for instance")
}

extension Option {
  static let keep = Option(
    long: "keep", value: "TIME",
    help: "keep every moment of the last TIME, like 12h or 30d, beside the newest")

  /// What names a moment of an archive.
  static let moment = [at, revision, branch, utc]
  fileprivate static let at = Option(
    long: "at", value: "TIME",
    help: "with what was committed by then: '2026-11-20 14:03' for instance, to the end of that minute")
  fileprivate static let revision = Option(
    long: "revision", value: "N", help: "as it was after the transaction of that revision")
  static let branch = Option(long: "branch", value: "BRANCH", help: "on that branch: its first eight digits")
}

extension Positional {
  static let archive = folder("ARCHIVE", "the archive's folder")
}

extension Invocation {
  /// The moment of an archive that the command line names.
  func moment() throws -> ArchiveMoment {
    guard try only(of: [.at, .revision]) == .at, let text = value(of: .at) else {
      return try number(of: .revision, in: 0...UInt64.max).map { .revision($0) } ?? .newest
    }
    guard let period = Moment.period(text, isUTC: has(.utc)) else {
      throw ToolError.usage("--at takes a time like '2026-11-20 14:03', not '\(text)'")
    }
    return .time(Date(timeIntervalSinceReferenceDate: max(period.lowerBound, period.upperBound - 0.001)))
  }

  /// From when on every moment of an archive is kept.
  func firstKept() throws -> Date { Moment.now - TimeInterval(try seconds(of: .keep) ?? 0) }

  /// The archive in a folder.
  func archive(at path: String) throws -> FolderArchive {
    if FolderArchive.isArchive(at: path) { return FolderArchive(path: path) }
    let hint =
      lookForFolder(at: path).isThere ? "'notelog salvage \(path) --to NEW' saves what there is" : nil
    throw ToolError(.noStore, "there is no archive at '\(path)'", hint: hint)
  }
}

private func restoreArchive(_ call: Invocation) throws -> ExitCode {
  let (archive, moment) = (try call.archive(at: call.store), try call.moment())
  let branch = call.value(of: .branch)
  let listing = try call.only(of: [Command.listBranches, Command.needs])
  guard (call.positionals.count == 1) == (listing != nil) else {
    throw ToolError.usage(listing == nil ? "STORE is missing" : "with --list or --needs no store is made")
  }
  if listing == Command.listBranches {
    for branch in try Store.branches(of: archive) { try call.print(branch.line(call), or: branch.json) }
    return .done
  }
  if listing == Command.needs {
    let names = try Store.objects(of: archive, at: moment, branch: branch)
    try call.print(names, or: ["objects": names.json])
    return .done
  }
  let store = call.positionals[1]
  func restore(_ credential: Credential?) throws -> RestoreSummary {
    try withProgress("restoring", saying: [.alreadyExists: .notEmpty(store)], into: store) {
      try Store.restore(
        from: archive, to: store, at: moment, branch: branch, unlocking: credential, progress: $0)
    }
  }
  let given = try SecretSource.given(call)
  let done: RestoreSummary
  do { done = try restore(given) } catch {
    // Which of several keyrings is the store's, the password tells.
    guard ToolError(any: error).code == .locked, given == nil else { throw error }
    Console.say("note", ToolError(any: error).message)
    done = try restore(try SecretSource.ask())
  }
  let time = done.time?.shown(isUTC: call.has(.utc)).map { "as of \($0), " } ?? ""
  try call.print(
    "restored \(time)revision \(done.revision), branch \(done.branch)",
    or: [
      "revision": done.revision, "time": done.time?.shown, "branch": done.branch, "findings": done.findings,
    ])
  return sayFindings(done.findings)
}

extension ArchivedBranch {
  fileprivate func line(_ call: Invocation) -> String {
    let times = [moments.compactMap(\.time).min(), time].map { $0?.shown(isUTC: call.has(.utc)) ?? "?" }
    return "\(name)  \(revisions.lowerBound) to \(revisions.upperBound)  \(times[0]) to \(times[1])"
  }

  fileprivate var json: JSONValue {
    let moments = moments.map { ["revision": $0.revision, "time": $0.time?.shown] as JSONValue }
    return [
      "branch": name, "firstRevision": revisions.lowerBound, "lastRevision": revisions.upperBound,
      "time": time?.shown, "moments": moments,
    ]
  }
}

private func listExpired(_ call: Invocation) throws -> ExitCode {
  let way = try call.only(of: [Command.delete, Command.needed])
  let archive = try call.archive(at: call.store)
  let (expired, findings) = try Store.expired(
    in: archive, before: call.firstKept(), unlocking: SecretSource.given(call))
  var names = expired
  if way == Command.needed, findings.isEmpty {
    names = try Set(archive.objects().keys).subtracting(expired).sorted()
  }
  if way == Command.delete, findings.isEmpty { try archive.delete(expired) }
  try call.print(names, or: ["objects": names, "findings": findings])
  for finding in findings { Console.say("error", finding.words) }
  return findings.isEmpty ? .done : .damage
}

/// Says what does not check, and what that means for the exit code.
func sayFindings(_ findings: [Finding]) -> ExitCode {
  for finding in findings { Console.say(finding.isDamage ? "error" : "note", finding.words) }
  return findings.contains(where: \.isDamage) ? .damage : .done
}
