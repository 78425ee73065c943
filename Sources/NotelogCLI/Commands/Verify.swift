// `notelog verify STORE`: is all well? It never writes.
import Notelog

extension Command {
  static let verify: Command = Command(
    words: ["verify"], summary: "check structure and checksums, and with a key every sealed value",
    discussion: """
      Structure, index, keyring and records are checked without a key; the tags of sealed values with one. Each is
      reported by itself.

      It never writes. A torn tail, as a crash leaves it and nothing says it was durable, is reported and exits 0; so is an intact
      but older copy of the keyring, and so are values under a key that was shredded. Any damage exits 1.

      Records that are lost are named, the first of them; with --json all. Of some only the index knows that they were there: they are
      counted, and get says of their ids that they can't be read.

      With a key, a store that keeps evidence is audited: all records, the keyring and the schemas are compared with what somebody with the key wrote down that
      they are. Whether the store as a whole is an earlier moment, only a head tells: the one that --head gives, or that the tool remembers of this path.

      An archive's folder is verified as the store that it would be restored to: its newest moment, or the one that --at, --revision and --branch name.
      """,
    positionals: [.store], options: [.unlock, givenHead] + Option.moment + [.json],
    examples: ["notelog verify my.notelog": "checks what can be checked without a key"],
    run: verifyStore)

  fileprivate static let givenHead = Option(
    long: "head", value: "HEAD",
    help: "compare with what 'notelog head' printed, in the place of what is remembered")
}

private func verifyStore(_ call: Invocation) throws -> ExitCode {
  try call.checkPath()
  var credential = try SecretSource.given(call)
  let isArchive = FolderArchive.isArchive(at: call.store)
  let id = isArchive || credential == nil && !call.has(.unlock) ? nil : call.readID()
  if credential == nil, call.has(.unlock) {
    credential = try id.flatMap(RootKeeper.find).map { .root($0) } ?? SecretSource.ask()
  }
  let head =
    try call.value(of: Command.givenHead).map { try StoreHead(text: $0) }
    ?? id.flatMap { KnownHeads(of: $0, at: call.store).head }
  if !isArchive, let option = Option.moment.first(where: call.has) {
    throw ToolError.usage("--\(option.long) is for archives, and '\(call.store)' is none")
  }
  let found: Verification
  do {
    found = try withProgress(
      "verifying", saying: isArchive ? [:] : [.notFound: call.noStore], onlyReading: true
    ) { progress in
      try isArchive
        ? Store.verify(
          FolderArchive(path: call.store), at: call.moment(), branch: call.value(of: .branch),
          unlocking: credential, head: head, progress: progress)
        : Store.verify(at: call.store, unlocking: credential, head: head, progress: progress)
    }
  } catch {
    let error = ToolError(any: error)
    guard error.code == .damage else { throw error }
    // Nothing more could be looked at; the answer is the same.
    throw ToolError(.no, error.message, hint: call.remedy)
  }
  var report = found.report
  if found.audit != nil {
    report.row(
      "head",
      head == nil
        ? "no head known: whether all of it is an earlier moment, nothing tells"
        : "compared with the one \(call.has(Command.givenHead) ? "given" : "remembered of this path")",
      ["headKnown": head != nil])
  }
  report.row(
    "verdict",
    found.verdict.isDamaged ? Console.styled("damaged", .red) : Console.styled("sound", .green))
  try call.print(report)
  guard found.verdict.isDamaged else { return .done }
  if !isArchive, !found.isSound(.evidence) { Console.say("hint", DamageHeard.waysOut(call.store)) }
  // What is wrong with an index or a keyring says by itself what can be done.
  let parts: [Finding.Part] = [.structure, .records, .tags]
  if !parts.allSatisfy(found.isSound) {
    let again = "'notelog backup STORE \(call.store) --check' puts again what the store still has"
    Console.say("hint", isArchive ? again : call.remedy)
  }
  return .no
}

extension Invocation {
  /// The store's id; nil where it can't be opened.
  fileprivate func readID() -> RecordID? {
    var options = Store.Options()
    (options.isReadOnly, options.acceptsUnprovenDamage) = (true, true)
    guard let opened = try? Store.open(at: store, options: options) else { return nil }
    defer { try? opened.close() }
    return opened.id
  }

  /// What can be done with a damaged store.
  fileprivate var remedy: String {
    "'notelog salvage \(store) --to NEW' saves what is left, and 'notelog restore' brings a backup back"
  }
}

extension Verification {
  /// Part by part what was checked, then what was found.
  var report: Report {
    var report = Report(width: 11)
    let objects = archivedObjectCount.map { counted($0, "object") }
    report.row("archive", objects.map { "\($0), as of revision \(archivedRevision ?? 0)" })
    let parts = Finding.Part.allCases.filter { $0 != .evidence || keepsEvidence }.map { part in
      let isUnchecked = part == .tags && !wasUnlocked || part == .evidence && audit == nil
      let word = isUnchecked ? "unchecked" : isSound(part) ? "sound" : "damaged"
      return JSONValue.Member(name: part.rawValue, value: .string(word))
    }
    report.add([
      "condition": verdict.condition, "archivedObjects": archivedObjectCount,
      "parts": JSONValue.object(parts),
    ])
    report.row(
      "structure",
      "\(words(.structure)): \(counted(segmentCount, "segment")), \(counted(frameCount, "frame")), \(byteCount) bytes read",
      ["segments": segmentCount, "frames": frameCount, "bytes": byteCount])
    report.row("index", words(.index))
    report.row("keyring", words(.keyring))
    report.row(
      "records", "\(words(.records)): \(counted(recordCount, "record")) read", ["records": recordCount])
    let locked = lockedCount > 0 ? ", \(lockedCount) under keys that are locked" : ""
    report.row(
      "tags",
      wasUnlocked
        ? "\(words(.tags)): \(counted(openedCount, "value")) opened\(locked)"
        : "not checked: \(counted(lockedCount, "sealed value")), no key was given",
      ["opened": openedCount, "locked": lockedCount])
    if keepsEvidence {
      let said =
        isSound(.evidence)
        ? "nothing added, changed, dropped or put back" : "not what somebody with the key left"
      report.row(
        "evidence",
        audit.map { "\(words(.evidence)): \(said)\($0.asOf)" } ?? "not checked: no key was given",
        [
          "evidenceRevision": audit?.revision, "evidenceTime": audit?.time?.shown,
          "evidenceRestored": audit?.isRestored,
        ])
    }
    let shredded = counted(shreddedCount, "value")
    report.row(
      "shredded",
      shreddedCount > 0
        ? "\(shredded) under keys that were shredded, or whose effaceable file is not here" : nil,
      ["shredded": shreddedCount])
    report.row(
      "torn",
      tornByteCount > 0
        ? "\(tornByteCount) bytes behind what is known to be durable, as a crash leaves them" : nil,
      ["tornBytes": tornByteCount])
    report.rows("finding", findings.map { Escaping.line($0.words) })
    let nameless = lostRecordCount - lostRecords.count
    report.rows(
      "lost", lostWords(nameless),
      ["lostRecords": lostRecordCount, "lostWithoutID": nameless, "lost": lostRecords])
    report.add(["findings": findings])
    return report
  }

  private static let shownLostCount = 20

  /// The records that are lost: the first of them by name, the others by their number.
  private func lostWords(_ nameless: Int) -> [String] {
    var words = lostRecords.prefix(Self.shownLostCount).map { record in
      let collection = record.collection.map { " of \(Escaping.line($0))" } ?? ""
      return "record \(record.id.shown)\(collection), revision \(record.revision)"
    }
    let more = lostRecords.count - words.count
    if more > 0 { words.append("and \(more) more, which --json names") }
    if nameless > 0 {
      words.append(
        "\(counted(nameless, "record")) whose ids are not known: the index has only fingerprints of ids")
    }
    return words
  }

  private func words(_ part: Finding.Part) -> String {
    isSound(part) ? "sound" : Console.styled("damaged", .red)
  }
}

extension Audit {
  /// Of when it is, as far as that is known.
  var asOf: String {
    guard let shown = time?.shown(isUTC: false) else { return "" }
    return ", as of revision \(revision), \(shown)\(isRestored ? "; restored since" : "")"
  }
}

extension Verification.LostRecord: JSONRepresentable {
  var json: JSONValue { ["record": id.shown, "collection": collection, "revision": revision] }
}

extension Finding: JSONRepresentable {
  var json: JSONValue {
    [
      "part": part.rawValue, "damage": isDamage, "kind": kind.rawValue, "message": message, "file": file,
      "segment": segment, "offset": offset, "bytes": byteCount, "record": record?.shown,
    ]
  }

  /// Place and message in one line.
  var words: String {
    // What is all of a segment begins nowhere.
    let start = offset.flatMap { $0 > 0 || byteCount > 0 ? "offset \($0)" : nil }
    let place = [segment.map { "segment \($0)" } ?? file, start, record.map { "record \($0.shown)" }]
      .compactMap { $0 }.joined(separator: ", ")
    return place.isEmpty ? message : "\(place): \(message)"
  }
}
