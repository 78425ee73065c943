// `notelog history STORE ID` and `notelog undo STORE`: older versions of records, while the store has them.
import Foundation
import Notelog

extension Command {
  static let history: Command = Command(
    words: ["history"], summary: "list the versions of a record that the store still has",
    discussion: """
      The newest comes first: its revision, the time, and whether the record was written or removed then;
      'get STORE ID@REVISION' shows a version. No key is needed. There are times in stores made with --commit-times.

      On a terminal it is a table, and times are local. Without one --tsv is what it prints: the three values with a tab between them, no header,
      times UTC, and nothing where there is none.

      An older version stays until it is compacted away, which may be at any time, and a version that compaction has moved has no time. In a store
      made with --keep-versions TIME it stays for TIME after it was changed or removed, with its time; 'compact --purge' removes it before.
      """,
    positionals: [.store, Positional(name: "ID", help: .idHelp)],
    options: [.utc, .tsv, .json], run: done(listVersions))

  static let undo: Command = Command(
    words: ["undo"], summary: "take the last change back",
    discussion: """
      What was committed last is taken back as a whole, whoever committed it: records that were changed or removed are what they were before, and
      records that were added are removed. It prints which. That is a change too: 'undo' once more takes it back.
      'import' commits many times; the last of them is taken back.

      What was before has to be there, as it is in a store made with --keep-versions. Elsewhere 'set', 'edit', 'remove' and 'undo' leave it there: its space
      is given back by the next 'set', 'remove' or other command that writes. After a compaction, or a crash, it is not certain. What comes back has to fit one change, of 64 MiB. Otherwise nothing is changed, and it exits 2. Keys and schemas are never taken back. The password is needed, as what comes back is
      opened first, to check it.
      """,
    positionals: [.store], options: [.json], run: done(undoLast))
}

private func listVersions(_ call: Invocation) throws {
  let form = try call.rowForm()
  try call.withStore(.ifGiven, readOnly: true) { store in
    let id = try call.recordID(call.positionals[1], in: store)
    let versions = try store.versions(of: id)
    guard !versions.isEmpty else { throw ToolError(.no, "there is no trace of a record \(id.shown)") }
    var table = Table([
      .init(title: "revision", isNumber: true), .init(title: "time"), .init(title: "change"),
    ])
    for version in versions {
      let (revision, time) = ("\(version.revision)", version.time?.shown)
      let change = version.isDeletion ? "removed" : "written"
      switch form {
      case .table:
        try table.add([
          (revision, nil), (version.time?.shown(isUTC: call.has(.utc)) ?? "-", nil), (change, nil),
        ])
      case .json:
        try Console.print(["revision": version.revision, "time": time?.json ?? .null, "change": change.json])
      case .tsv, .null: try Console.out.write("\(revision)\t\(time ?? "")\t\(change)\n")
      }
    }
    if form == .table { try table.finish() }
  }
}

private func undoLast(_ call: Invocation) throws {
  let undone = try call.withStore(.required) { store in try store.undoLast() }
  let (restored, removed) = (undone.restored.map(\.shown), undone.removed.map(\.shown))
  try call.print(
    restored.map { "\(undone.revision)  restored  \($0)" }
      + removed.map { "\(undone.revision)  removed  \($0)" },
    or: ["revision": undone.revision, "restored": restored.json, "removed": removed.json])
}

extension Invocation {
  /// The record that the command line means, and the revision behind its id, where one is asked for.
  func version(_ argument: String, in store: Store) throws -> (id: RecordID, revision: UInt64?) {
    guard let at = argument.lastIndex(of: "@") else { return (try recordID(argument, in: store), nil) }
    let text = argument[argument.index(after: at)...]
    guard let revision = UInt64(text) else { throw ToolError.usage("'\(text)' is not a revision") }
    // What was removed is listed no more: its id has to be whole.
    return (try recordID(String(argument[..<at]), in: store), revision)
  }
}

extension Store {
  /// A version of a record, in whichever collection it was.
  func entry(_ id: RecordID, revision: UInt64) throws -> DynamicEntry {
    let version = try versions(of: id).first { $0.revision == revision }
    let collection = collections.first { $0.number == version?.collection }
    if let entry = try collection?.get(id, revision: revision) { return entry }
    throw ToolError(
      .no, "the store has no revision \(revision) of record \(id.shown)",
      hint: "'notelog history STORE \(id.shown)' lists those that it has")
  }
}
