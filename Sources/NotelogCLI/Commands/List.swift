// `notelog list STORE [COLLECTION]`: one line a record, with only those fields opened that are shown.
import Notelog

extension Command {
  static let list: Command = Command(
    words: ["list"], summary: "list the records of a collection",
    discussion: """
      It shows the plain fields and the first sealed text; other sealed fields stay sealed. --field chooses others. A
      password is needed only where a sealed field is shown, sorted by or asked about.

      In a condition, a date is RFC 3339, as 2026-11-26T10:00:00Z, a day alone, which is its midnight in UTC, or 'now'.

      Text is compared and sorted by its bytes, which is the same everywhere, and no language's order.

      Without --sort, records come in order of their field 'time' or, where there is none, of their first plain date, newest first.

      A record that cannot be read is said on stderr, the others are listed, and it exits 3. With --where or --limit,
      records that an index rules out are not read.
      """,
    positionals: [
      .store,
      Positional(
        name: "COLLECTION", isOptional: true, help: "the collection; may be left out if there is one"),
    ],
    options: [.field, whereOption, sort, .limit, .json],
    examples: [
      "notelog list my.notelog --where 'time>=2026-11-01' --sort title --limit 10":
        "the first ten titles, of this month's notes"
    ], run: listRecords)

  fileprivate static let whereOption = Option(
    long: "where", short: "w", value: "CONDITION", repeats: true,
    help: "only records of which this holds: NAME=VALUE, or with != < <= > >=")
  fileprivate static let sort = Option(
    long: "sort", short: "s", value: "FIELD[:desc]", repeats: true,
    help: "in order of this field, or the opposite order; given again, within what is equal so far")
}

private func listRecords(_ call: Invocation) throws -> ExitCode {
  let limit = try call.number(of: .limit, in: 0...Int.max)
  let name = call.positionals.dropFirst().first
  return try call.withStore(.ifGiven, readOnly: true) { store in
    let known = store.collections
    let isThere = name.map { name in known.contains { $0.name == name } } ?? !known.isEmpty
    // Who asks for the first few has nothing else gone through.
    let isWhole = try limit != nil && isThere || store.hasAllSchemas()
    // The one that is meant may be the one that is lost.
    if !isWhole, !isThere { return .damage }
    let collection = try store.collection(given: name)
    let conditions = try (call.values[Command.whereOption.long] ?? []).map(collection.condition)
    for warning in conditions.compactMap(\.warning) { Console.say("warning", warning) }
    let named = call.values[Option.field.long]
    for name in named ?? [] { _ = try collection.field(name) }
    let fields = named ?? collection.fieldsToList
    let only = Set(fields)
    let order = try order(call, collection)
    try call.unlock(
      store, toRead: fields + conditions.map(\.name) + order.map(\.field), of: collection)
    let outcome = ReadingOutcome(of: store, isWhole ? .done : .damage)
    var query = collection.query().onDamage(outcome.noteUnreadable)
    for condition in conditions { query = query.where(condition.condition) }
    for (field, direction) in order { query = query.sorted(by: field, direction) }
    if let limit { query = query.limit(limit) }
    try query.forEach { entry in
      let shown = RecordShown(entry, opening: true, only: only)
      try shown.list(fields, asJSON: call.has(.json))
      outcome.note(shown)
      return true
    }
    return outcome.end()
  }
}

private func order(
  _ call: Invocation, _ collection: DynamicCollection
) throws -> [(field: String, direction: SortDirection)] {
  guard let sorts = call.values[Command.sort.long] else {
    let dates = collection.fieldsInUse.filter { $0.type == .date && !$0.isSealed }
    let date = dates.first { $0.name == "time" } ?? dates.first
    return date.map { [($0.name, .descending)] } ?? []
  }
  return try sorts.map { sort in
    let isDescending = sort.hasSuffix(":desc")
    let name = isDescending ? String(sort.dropLast(5)) : sort
    let field = try collection.field(name)
    guard field.type.isSortable else {
      throw ToolError.usage("\(field.type.name) values like '\(name)' have no order")
    }
    return (name, isDescending ? .descending : .ascending)
  }
}
