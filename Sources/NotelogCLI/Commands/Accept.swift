// `notelog accept STORE` and `notelog head STORE`.
import Notelog

extension Command {
  static let accept: Command = Command(
    words: ["accept"], summary: "take what is there for all there is",
    discussion: """
      The keyring counts the schemas, so that nobody who can write the files takes one away and has its collection made anew, with
      plain fields. Where some are missing, because an earlier moment was restored or a disk lost them, no schema is stored any more, and
      verify says so. This shows the collections that are there and asks.

      A store that keeps evidence is not written to where it is not what somebody with the key left, or older than the tool last saw it at this path. This
      shows what an audit finds, and asks: yes is the answer after you put a backup back. What is there then counts as what the store holds, and a new head is
      remembered. Records that somebody changed stay named by verify until they are written anew.
      """,
    positionals: [.store], options: [.yes], run: done(acceptStore))

  static let head: Command = Command(
    words: ["head"], summary: "print what shows later whether a store was put back",
    discussion: """
      Of a store that keeps evidence it prints a line that begins with H1, and has no secret in it. Keep it where whoever can write the files can't: on paper, in
      git, on another device. 'verify --head' says later whether the store is older than that, or another copy.

      The tool remembers such a head by itself, in $XDG_STATE_HOME/notelog/heads, whenever it wrote to the store, and compares it whenever it opens the store with the key.
      """,
    positionals: [.store], options: [.json],
    examples: ["notelog head my.notelog >>heads.txt": "keeps it in a file, to be carried elsewhere"],
    run: done { call in
      try call.withStore(.required) { store in
        let head = try store.head().description
        try call.print(head, or: ["head": head])
      }
    })
}

private func acceptStore(_ call: Invocation) throws {
  try call.withStore(
    .required,
    asking: { store in
      let findings = try store.auditFindings()
      guard store.missingSchemaRevisions > 0 || !findings.isEmpty else {
        throw ToolError(.no, "no schema is missing, and nothing is other than it was left")
      }
      for finding in findings { Console.say("note", finding.message) }
      for collection in store.collections {
        Console.say("note", "collection \(collection.name): \(collection.words)")
      }
      if !call.has(.yes) { try Console.confirm("take what is there for all there is?") }
    }
  ) { store, _, _ in
    if try !store.auditFindings().isEmpty { try store.acceptEvidence() }
    try store.acceptSchemas()
  }
}
