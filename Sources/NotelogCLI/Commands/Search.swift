// `notelog search STORE TEXT`: the records that hold a text, sealed or not.
import Notelog

extension Command {
  static let search: Command = Command(
    words: ["search"], summary: "list the records that hold a text",
    discussion: "It looks into all text fields, or those named by --field. If nothing is found, it exits 1.",
    positionals: [.store, Positional(name: "TEXT", help: "what to look for")],
    options: [.field, ignoreCase, .limit, .json],
    examples: [
      "notelog search my.notelog -i bread": "notes with bread, Bread or BRÉAD in them"
    ],
    run: searchRecords)

  fileprivate static let ignoreCase = Option(
    long: "ignore-case", short: "i", help: "take letters for the same that differ in case or accents")
}

private func searchRecords(_ call: Invocation) throws -> ExitCode {
  let text = call.positionals[1]
  let names = call.values[Option.field.long]
  let limit = try call.number(of: .limit, in: 0...Int.max) ?? .max
  return try call.withStore(.ifGiven, readOnly: true) { store in
    var left = limit
    let outcome = try ReadingOutcome(of: store, store.hasAllSchemas() ? .no : .damage)
    for name in names ?? []
    where !store.collections.contains(where: { $0.fieldsInUse.contains { $0.name == name } }) {
      // Says which name may have been meant.
      for collection in store.collections { _ = try collection.field(name) }
    }
    for collection in store.collections {
      let fields = collection.fieldsInUse.filter { $0.type == .text && names?.contains($0.name) ?? true }
      let shown = collection.fieldsToList
      let only = call.has(.json) ? nil : Set(shown)
      try call.unlock(store, toRead: fields.map(\.name) + shown, of: collection)
      let conditions = fields.map { field in
        QueryCondition<DynamicEntry>.field(
          field.name, contains: text, ignoringCaseAndAccents: call.has(Command.ignoreCase))
      }
      guard let first = conditions.first, left > 0 else { continue }
      let query = collection.query().where(conditions.dropFirst().reduce(first) { $0 || $1 }).limit(left)
      try query.onDamage(outcome.noteUnreadable).forEach { entry in
        left -= 1
        let record = RecordShown(entry, opening: true, only: only)
        try record.list(shown, asJSON: call.has(.json))
        outcome.note(record)
        return true
      }
    }
    return outcome.end()
  }
}
