// `notelog export STORE [COLLECTION]`: the way out.
import Notelog

extension Command {
  static let export: Command = Command(
    words: ["export"], summary: "print records for other programs: SQL, CSV or JSON lines",
    discussion: """
      Everything is opened, and stands in the clear in what is printed. --as sql makes a table for each collection, which sqlite3 reads;
      csv has the names in its first line, and takes one collection; jsonl is what dump --json prints. In CSV and SQL bytes
      are base64 and X'…', dates are RFC 3339. Records come in the order of their ids, collection by collection.

      'notelog import' brings the same records back, with their ids: from CSV, from JSON lines, and from the database that sqlite3 makes of the SQL. SQLite has no
      -0.0, which is 0.0 there, and no NaN, which is the text nan; some of its versions read doubles beyond 1e290 with another last digit.

      What can't be read is left out and said, and it exits 3: a record whole, where one of its values is damaged; and from a record what is sealed
      under a key that was not granted, was shredded or is elsewhere. What the other program would not take for a name is refused; of two names that are one
      to SQLite, which knows no capital letters, the second gets a number.

      A value of more than 16 MiB is left out of its record, which is said, and it exits 4: 'notelog get STORE ID FIELD' writes it to a file. JSON lines leave the
      whole field out, so that an import into the same store keeps the value; what has none is null.
      """,
    positionals: [.store, .collection("the collection; all without it", isOptional: true)],
    options: [format],
    examples: [
      "notelog export my.notelog --as sql | sqlite3 notes.db": "makes an SQLite database of it"
    ], run: exportRecords)

  fileprivate static let format = Option(
    long: "as", value: "FORMAT", completion: ExportFormat.allCases.map(\.rawValue),
    help: "sql, csv or jsonl; sql unless given")
}

private func exportRecords(_ call: Invocation) throws -> ExitCode {
  let format = try call.choice(of: Command.format, among: ExportFormat.self) ?? .sql
  return try call.withStore(.required, readOnly: true) { store in
    var collections = store.collections
    if let name = call.positionals.dropFirst().first {
      collections = [try store.collection(given: name)]
    }
    if format == .csv, collections.isEmpty { _ = try store.collection(given: nil) }
    if format == .csv, collections.count != 1 {
      throw ToolError(
        .failed, "CSV holds one collection",
        hint: "name one of \(collections.map(\.name).joined(separator: ", "))")
    }
    let outcome = try ReadingOutcome(of: store, store.hasAllSchemas() ? .done : .damage, isExport: true)
    // All names are looked at before anything is printed.
    let tables = try format.names(collections.map(\.name), areTables: true)
    let fieldsOfAll = collections.map(\.fieldsInUse)
    let columns = try fieldsOfAll.map { try format.names($0.map(\.name)) }
    let tableOf = Dictionary(zip(collections.map(\.name), tables)) { first, _ in first }
    for (index, collection) in collections.enumerated() {
      let (table, fields) = (tables[index], fieldsOfAll[index])
      try Console.out.write(format.beginning(table, columns[index], fields, among: tableOf))
      try collection.query().onDamage(outcome.noteUnreadable).forEach { entry in
        let shown = RecordShown(entry, opening: true)
        if outcome.note(shown) != .damage {
          try Console.out.write(format.line(shown.exported, fields, of: table))
        }
        return true
      }
      try Console.out.write(format.end)
    }
    return outcome.end()
  }
}
