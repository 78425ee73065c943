// `notelog search STORE TEXT`: the records that hold a text, sealed or not.
import Notelog

extension Command {
  static let search: Command = Command(
    words: ["search"], summary: "list the records that hold a text",
    discussion: """
      It looks into all text fields, or those named by --field, and shows what list shows. If nothing is found, it exits 1.

      \(rowsHelp)
      """,
    positionals: [.store, Positional(name: "TEXT", help: "what to look for")],
    options: [.field, ignoreCase, .limit] + Option.rows,
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
  let form = try call.rowForm()
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
      let only = form == .json ? nil : Set(shown)
      try call.unlock(store, toRead: fields.map(\.name) + shown, of: collection)
      let conditions = fields.map { field in
        QueryCondition<DynamicEntry>.field(
          field.name, contains: text, ignoringCaseAndAccents: call.has(Command.ignoreCase))
      }
      guard let first = conditions.first, left > 0 else { continue }
      let query = collection.query().where(conditions.dropFirst().reduce(first) { $0 || $1 }).limit(left)
      var rows: RecordRows?
      try query.onDamage(outcome.noteUnreadable).forEach { entry in
        left -= 1
        let record = RecordShown(entry, opening: true, only: only)
        if rows == nil { rows = try call.rows(form, of: collection, in: store, shown) }
        try rows?.add(record, noting: outcome)
        return true
      }
      try rows?.finish()
    }
    return outcome.end()
  }
}
