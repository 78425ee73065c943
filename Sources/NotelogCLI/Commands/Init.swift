// `notelog init STORE`: makes a store.
import Foundation
import Notelog

extension Command {
  static let initialize: Command = Command(
    words: ["init"], summary: "make a store",
    discussion: """
      The password is asked for twice, unless --password-file or --key-file gives what opens the store.

      Without --schema the store has one collection, 'note', with a time (plain, indexed), a title and a body
      (both sealed). A schema is JSON: {"collections": [{"name": "note", "fields": [{"name": "time", "type":
      "date", "indexed": true}, {"name": "title", "type": "text", "sealed": true}]}]}. Types are boolean,
      integer, unsigned, double, text, bytes, date, uuid, url and json. A field may be "optional" too, and a
      sealed one "padded", "compressed", or under a "key" of its own; or under one of some "keys", which each record
      names in the plain text field that "keyFrom" names. One that "revealsEquality", and perhaps "ignoresCase", is
      found by its value without opening others; whoever has the files sees which values are equal.

      With --empty it has no collection: for an app, which makes its own, or for 'import --from', which makes one of a table.
      """,
    positionals: [.store],
    options: [schemaFile, empty, .scryptLogN, .segmentSize, commitTimes, keepVersions, evidence],
    examples: ["notelog init my.notelog": "asks for a password, and makes the store"],
    run: done(makeStore))

  /// What a store is made with when no schema is given.
  static let standardCollections: [(name: String, fields: [FieldDescription])] = [
    ("note", [.plain("time", .date, indexed: true), .sealed("title", .text), .sealed("body", .text)])
  ]

  fileprivate static let commitTimes = Option(
    long: "commit-times", help: "keep the time of each commit; whoever sees the files sees them")

  fileprivate static let keepVersions = Option(
    long: "keep-versions", value: "TIME",
    help:
      "keep each version for TIME after it was changed or removed, like 12h or 30d, and the times of commits; the store takes the space of all that is written in TIME"
  )

  fileprivate static let evidence = Option(
    long: "evidence",
    help:
      "keep evidence: what somebody without the key does to the files is noticed; records are written with a key only"
  )

  fileprivate static let empty = Option(long: "empty", help: "make no collection")
  fileprivate static let schemaFile = Option(
    long: "schema", value: "FILE", completion: .files, help: "take the collections and fields from FILE")
}

/// The collections of a schema's file.
private func collections(_ path: String) throws -> [(name: String, fields: [FieldDescription])] {
  let bytes = try Input(path: path, what: "schema").readAll(
    upTo: 1 << 20, orThrow: ToolError(.failed, "the schema '\(path)' is too large"))
  return try JSONReader.read(bytes, errorPrefix: "the schema '\(path)' is not JSON: ").schemaCollections()
}

private func makeStore(_ call: Invocation) throws {
  _ = try call.only(of: [Command.schemaFile, Command.empty])
  let file = call.value(of: Command.schemaFile)
  let collections =
    try file.map(collections) ?? (call.has(Command.empty) ? [] : Command.standardCollections)
  var options = Store.Options()
  options.passwordWork = try call.passwordWork()
  options.segmentByteCount = try call.segmentByteCount()
  options.keepsCommitTimes = call.has(Command.commitTimes)
  options.keepsVersions = try call.seconds(of: Command.keepVersions).map { .seconds(Int64($0)) }
  options.keepsEvidence = call.has(Command.evidence)
  if let path = call.value(of: .deviceSecret) { options.deviceSecret = .file(path) }
  // What stands in the way is said before a password is asked for.
  if try SecretSource.option(of: call) == nil,
    let held = try? FileManager.default.contentsOfDirectory(atPath: call.store),
    !held.contains("creating"), held.contains(where: { $0 != "lock" })
  {
    throw ToolError.notEmpty(call.store)
  }
  let given = try SecretSource.given(call)
  let credential = try given ?? SecretSource.askNew(.passwordFile)
  let store = try Store.create(at: call.store, unlocking: credential, options: options) { store in
    try store.createCollections(collections)
  }
  KnownHeads(of: store.id, at: call.store).remember(store)
  try store.close()
  if given == nil {
    Console.say("note", "whoever loses the password loses what is sealed: nobody can bring it back")
    Console.say(
      "hint",
      "'notelog key recovery \(call.store)' makes a recovery key, to be written down and kept elsewhere")
  }
}
