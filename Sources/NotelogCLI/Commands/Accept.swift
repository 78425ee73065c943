// `notelog accept STORE`.
import Notelog

extension Command {
  static let accept: Command = Command(
    words: ["accept"], summary: "take the schemas that are there as all there are",
    discussion: """
      The keyring counts the schemas, so that nobody who can write the files takes one away and has its collection made anew, with
      plain fields. Where some are missing, because an earlier moment was restored or a disk lost them, no schema is stored any more, and
      verify says so. This shows the collections that are there and asks.
      """,
    positionals: [.store], options: [.yes], run: done(acceptSchemas))
}

private func acceptSchemas(_ call: Invocation) throws {
  try call.withStore(
    .required,
    asking: { store in
      guard store.missingSchemaRevisions > 0 else { throw ToolError(.no, "no schema is missing") }
      for collection in store.collections {
        Console.say("note", "collection \(collection.name): \(collection.words)")
      }
      if !call.has(.yes) { try Console.confirm("take these collections as all there are?") }
    }
  ) { store, _, _ in
    try store.acceptSchemas()
  }
}
