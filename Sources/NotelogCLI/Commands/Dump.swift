// `notelog dump STORE`: every record, opened as far as the given key opens it.
import Notelog

extension Command {
  static let dump: Command = Command(
    words: ["dump"], summary: "print all records",
    discussion: [
      """
      Without a key, sealed fields are shown as sealed, with their size and the number of their key. With --json \
      each record is one line: {"id":…,"collection":…,"revision":…,"fields":{…}}. Dates are RFC 3339; bytes are \
      {"base64":…}, JSON documents {"json":…}, a field not opened {"sealed":…,"key":…}, one that failed {"error":…}.
      """,
      "All that is sound is printed; if something was not, it exits 3.",
    ],
    positionals: [.store], options: [.json],
    examples: [
      .init(line: "notelog dump --json my.notelog >notes.jsonl", does: "one record a line, fields sealed")
    ],
    run: dumpRecords)
}

@Sendable
private func dumpRecords(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  try invocation.withStore(.ifGiven, readOnly: true) { store in
    var answer = ExitCode.done
    for collection in store.collections {
      try collection.forEach { entry in
        let shown = RecordShown(entry, opening: store.isUnlocked)
        try shown.print(to: console, asJSON: invocation.has(.json))
        if try shown.exitCode(console) == .damage { answer = .damage }
        return true
      } damaged: { id, error in
        console.say("error", "record \(id.shown) cannot be read: \(ToolError(error).message)")
        answer = .damage
        return true
      }
    }
    return answer
  }
}
