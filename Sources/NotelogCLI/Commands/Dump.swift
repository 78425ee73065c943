// `notelog dump STORE`: every record, opened as far as the given key opens it; or every frame, as it lies on
// the disk.
import Notelog

extension Command {
  static let dump: Command = Command(
    words: ["dump"], summary: "print all records",
    discussion: """
      Without a key, sealed fields are shown as sealed, with their size and the number of their key, also where an agent keeps the store
      unlocked: --unlock opens them. With --json
      each record is one line: {"id":…,"collection":…,"revision":…,"fields":{…}}. A field without a value is null. Dates are RFC 3339; bytes are
      {"base64":…}, JSON documents {"json":…}, a field not opened {"sealed":…,"key":…}, one that is not in the schema
      {"unknown":…}, one that failed {"error":…}; the sizes are in bytes, as stored.

      All that is sound is printed; if something was not, it exits 3.

      With --frames it shows the files themselves, frame by frame with offsets and lengths, old versions and removed
      records among them. It opens nothing, recovers nothing and needs no key.
      """,
    positionals: [.store], options: [frames, .unlock, .json],
    examples: [
      "notelog dump --json my.notelog >notes.jsonl": "one record a line, fields sealed",
      "notelog dump --frames my.notelog": "what lies on the disk, frame by frame",
    ],
    run: dumpStore)

  fileprivate static let frames = Option(
    long: "frames", help: "show every frame of every file instead, with its offset")
}

private func dumpStore(_ call: Invocation) throws -> ExitCode {
  if call.has(Command.frames) {
    if call.has(.unlock) {
      throw ToolError.usage("--frames opens nothing, and --unlock is for records")
    }
    return try dumpFrames(call)
  }
  return try call.withStore(.ifGiven, readOnly: true) { store in
    let outcome = try ReadingOutcome(
      of: store, store.hasAllSchemas() ? .done : .damage, total: store.info().recordCount)
    // What was given may open some keys only.
    let isOpening = try store.isUnlocked || SecretSource.option(of: call) != nil
    for collection in store.collections {
      let names = collection.fieldsInUse.map(\.name)
      try collection.query().onDamage(outcome.noteUnreadable).forEach { entry in
        let shown = RecordShown(entry, opening: isOpening)
        try call.print(shown.lines(), or: shown.json(names))
        outcome.note(shown)
        return true
      }
    }
    return outcome.end()
  }
}

private func dumpFrames(_ call: Invocation) throws -> ExitCode {
  try call.checkPath()
  var isSound = true
  try saying([.notFound: call.noStore]) {
    try Store.forEachPiece(at: call.store) { piece in
      if !piece.isSound { isSound = false }
      try call.print(Escaping.line(piece.line), or: piece.json)
    }
  }
  return isSound ? .done : .damage
}

extension StoredPiece {
  /// A file's line stands out, and its pieces below it begin with offset and length.
  fileprivate var line: String {
    if kind == .file { return "\(file)  \(byteCount) bytes, \(note)" }
    let damage = isSound || kind == .unknown ? "" : "  DOES NOT CHECK"
    let revision = revision.map { "  revision \($0)" } ?? ""
    let record = record.map { "  \($0.shown)" } ?? ""
    let collection = collection.map { "  collection \($0)" } ?? ""
    let note = note.isEmpty ? "" : "  " + note
    let place = [offset, byteCount].map { "".padded(to: 10 - "\($0)".count) + "\($0)" }.joined()
    return "\(place)  \(kind.rawValue)\(revision)\(record)\(collection)\(note)\(damage)"
  }

  fileprivate var json: JSONValue {
    [
      "file": file, "segment": segment, "offset": offset, "bytes": byteCount, "kind": kind.rawValue,
      "sound": isSound, "revision": revision, "record": record?.shown, "collection": collection,
      "note": note.isEmpty ? nil : note,
    ]
  }
}
