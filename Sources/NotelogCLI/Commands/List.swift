// `notelog list STORE [COLLECTION]`: a row a record, with only those fields opened that are shown.
import Notelog

extension Command {
  static let list: Command = Command(
    words: ["list"], summary: "list the records of a collection",
    discussion: """
      It shows the plain fields and the first sealed text; other sealed fields stay sealed. --field chooses
      others. A password is needed only where a sealed field is shown, sorted by or asked about.

      \(rowsHelp)

      A condition is NAME=VALUE, or with != < <= > >= between them, NAME in FROM..TO, of which one may be
      left out, NAME contains TEXT, whatever its case and accents, NAME is none or NAME is not none. Given again, all have to hold; --or gives another that may
      hold in place of the one before it. Numbers compare as numbers, and texts that are numbers do so too.
      Other text is compared and sorted by its bytes, which is the same everywhere, and no language's order.

      A date may be a year, a month, a day, a minute or a second, as 2026, 2026-11, 2026-11-26, '2026-11-26
      10:00': all of it is equal, or in a range. It is local, unless --utc is given, or it has an offset as
      2026-11-26T10:00:00Z; that one, and 'now', is a moment.

      Without --sort, records come in order of their field 'time' or, where there is none, of their first
      plain date, newest first.

      A record that cannot be read is said on stderr, the others are listed, and it exits 3. With --where or
      --limit, records that an index rules out are not read.
      """,
    positionals: [.store, .collection("the collection; may be left out if there is one", isOptional: true)],
    options: [.field, whereOption, or, .sort, .limit] + Option.rows,
    examples: [
      "notelog list my.notelog --where 'time in 2026-11' --sort title --limit 10":
        "the first ten notes of a month, by their titles",
      "notelog list my.notelog --where 'title=Bread' --or 'title=Cake' --tsv -f body | cut -f2":
        "the texts of two notes, for a script",
    ], run: listRecords)

  fileprivate static let whereOption = Option(
    long: "where", short: "w", value: "CONDITION", repeats: true,
    help: "only records of which this holds, 'stars>=4' or 'time in 2026-11' for instance")
  fileprivate static let or = Option(
    long: "or", value: "CONDITION", repeats: true,
    help: "or of which this holds, in place of the --where before")
}

private func listRecords(_ call: Invocation) throws -> ExitCode {
  let (limit, form) = (try call.number(of: .limit, in: 0...Int.max), try call.rowForm())
  let name = call.positionals.dropFirst().first
  return try call.withStore(.ifGiven, readOnly: true) { store in
    let known = store.collections
    let isThere = name.map { name in known.contains { $0.name == name } } ?? !known.isEmpty
    // Who asks for the first few has nothing else gone through.
    let isWhole = try limit != nil && isThere || store.hasAllSchemas()
    // The one that is meant may be the one that is lost.
    if !isWhole, !isThere { return .damage }
    let collection = try store.collection(given: name)
    let (conditions, asked) = try conditions(call, collection)
    let fields = call.fieldNames(among: collection.fieldsInUse) ?? collection.fieldsToList
    var rows = try call.rows(form, of: collection, in: store, fields)
    let order = try call.has(.sort) ? order(call, collection) : collection.newestFirst
    try call.unlock(store, toRead: fields + asked + order.map(\.field), of: collection)
    let only = Set(fields)
    let outcome = ReadingOutcome(of: store, isWhole ? .done : .damage)
    var query = collection.query().onDamage(outcome.noteUnreadable)
    for condition in conditions { query = query.where(condition) }
    for (field, direction) in order { query = query.sorted(by: field, direction) }
    if let limit { query = query.limit(limit) }
    try query.forEach { entry in
      try rows.add(RecordShown(entry, opening: true, only: only), noting: outcome)
      return true
    }
    try rows.finish()
    return outcome.end()
  }
}

/// What has to hold, each of one --where and what may hold in its place; and the fields that they ask about.
private func conditions(
  _ call: Invocation, _ collection: DynamicCollection
) throws -> (all: [DynamicCollection.Condition], names: [String]) {
  var all: [DynamicCollection.Condition] = []
  var names: [String] = []
  for (option, text) in call.given where [Command.whereOption.long, Command.or.long].contains(option) {
    let (name, condition) = try collection.condition(text, isUTC: call.has(.utc))
    names.append(name)
    if option == Command.whereOption.long {
      all.append(condition)
    } else if let before = all.popLast() {
      all.append(before || condition)
    } else {
      throw ToolError.usage("--or stands behind the --where that it is another choice for")
    }
  }
  return (all, names)
}

extension DynamicCollection {
  /// The order of a list where none is asked for.
  fileprivate var newestFirst: [(field: String, direction: SortDirection)] {
    let dates = fieldsInUse.filter { $0.type == .date && !$0.isSealed }
    return (dates.first { $0.name == "time" } ?? dates.first).map { [($0.name, .descending)] } ?? []
  }
}

/// The order that --sort asks for; none without it.
func order(
  _ call: Invocation, _ collection: DynamicCollection
) throws -> [(field: String, direction: SortDirection)] {
  try call.values(of: .sort).map { sort in
    let isDescending = sort.hasSuffix(":desc")
    let isAscending = sort.hasSuffix(":asc")
    let name = String(sort.dropLast(isDescending ? 5 : isAscending ? 4 : 0))
    let field = try collection.field(name)
    guard field.type.isSortable else {
      throw ToolError.usage("\(field.type.name) values like '\(name)' have no order")
    }
    return (name, isDescending ? .descending : .ascending)
  }
}
