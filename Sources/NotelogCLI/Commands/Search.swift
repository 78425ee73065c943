// `notelog search STORE TEXT`: the records that hold a text, sealed or not.
import Notelog

extension Command {
  static let search: Command = Command(
    words: ["search"], summary: "list the records that hold a text",
    discussion: """
      It looks into all text fields, or those named by --field, and shows what list shows, collection by collection. If nothing is found, it exits 1.

      \(rowsHelp)
      """,
    positionals: [.store, Positional(name: "TEXT", help: "what to look for")],
    options: [.field, within, ignoreCase, .sort, .limit] + Option.rows,
    examples: [
      "notelog search my.notelog -i bread --in note --sort title":
        "notes with bread, Bread or BRÉAD in them, by their titles"
    ],
    run: searchRecords)

  fileprivate static let within = Option(
    long: "in", value: "COLLECTION", completion: .collections, help: "only in this collection")
  fileprivate static let ignoreCase = Option(
    long: "ignore-case", short: "i", help: "take letters for the same that differ in case or accents")
}

private func searchRecords(_ call: Invocation) throws -> ExitCode {
  let text = call.positionals[1]
  let limit = try call.number(of: .limit, in: 0...Int.max) ?? .max
  let form = try call.rowForm()
  return try call.withStore(.ifGiven, readOnly: true) { store in
    var left = limit
    let isWhole = try store.hasAllSchemas()
    let outcome = ReadingOutcome(of: store, isWhole ? .no : .damage)
    var collections = store.collections
    if let name = call.value(of: Command.within) {
      // The one that is meant may be the one that is lost.
      if isWhole { _ = try store.collection(given: name) }
      collections.removeAll { $0.name != name }
    }
    let all = collections.flatMap(\.fieldsInUse)
    let names = call.fieldNames(among: all)
    for name in names ?? [] where !all.contains(where: { $0.name == name }) {
      // Says which name may have been meant.
      for collection in collections { _ = try collection.field(name) }
    }
    for collection in collections {
      let fields = collection.fieldsInUse.filter { $0.type == .text && names?.contains($0.name) ?? true }
      let shown = collection.fieldsToList
      let only = form == .json ? nil : Set(shown)
      let order = try order(call, collection)
      try call.unlock(store, toRead: fields.map(\.name) + shown + order.map(\.field), of: collection)
      let conditions = fields.map { field in
        QueryCondition<DynamicEntry>.field(
          field.name, contains: text, ignoringCaseAndAccents: call.has(Command.ignoreCase))
      }
      guard let first = conditions.first, left > 0 else { continue }
      var query = collection.query().where(conditions.dropFirst().reduce(first) { $0 || $1 }).limit(left)
      for (field, direction) in order { query = query.sorted(by: field, direction) }
      var rows: RecordRows?
      try query.onDamage(outcome.noteUnreadable).forEach { entry in
        left -= 1
        if rows == nil { rows = try call.rows(form, of: collection, in: store, shown) }
        try rows?.add(RecordShown(entry, opening: true, only: only), noting: outcome)
        return true
      }
      try rows?.finish()
    }
    return outcome.end()
  }
}
