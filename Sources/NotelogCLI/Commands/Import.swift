// `notelog import STORE [FILE]`: records from the lines that `dump --json` prints, or of something else's
// table.
import Foundation
import Notelog

extension Command {
  static let importRecords: Command = Command(
    words: ["import"],
    summary: "add or replace records, from the lines of dump --json or from other programs",
    discussion: """
      What FILE is, its beginning says: lines of dump --json; or tables, as an SQLite database (read by the sqlite3 program, of Core Data too), CSV with names in
      the first line, or JSON lines of any objects. --from says it where it is taken for something else. But for SQLite
      a pipe does as well: tables from a pipe are held in memory, 256 MiB at most.

      A line of dump --json is {"id":…,"collection":…,"fields":{…}}; the id may be left out, and the collection where there is
      only one. Of a record whose id exists, fields that the line does not name stay as they are, and one that is null is cleared. A new record needs what is
      not optional, as for 'add'. Fields that a dump left sealed are refused. Lines are committed in batches. If a line is wrong,
      those before it are imported and it says which line it was. All that was imported is on the disk before it exits.

      For tables, collections are proposed and shown, with a value of each column, and taken after a yes or with --yes. All tables of a file are
      taken, unless --table says which. Fields are called as the columns are; Core Data's lose their Z, and options take either name.
      New columns that are named like secrets (password, pin, token) are proposed sealed, unless --plain says which columns stay in the clear. A
      first column called id, with a UUID in each row, is the records' ids.

      CSV has commas between values, and quotation marks around what holds a comma, a quotation mark or a line's end. A column is integer, double,
      boolean, date or uuid where each value is written as such a value is printed: 12, 2.5, true, 2026-11-26T10:00:00Z; with both 12 and 2.5 it is double. All else is text, as it stands:
      007, +5, 1E5, 1.50, and what has more digits than a number keeps. What becomes another kind of value, and which columns are left out, is said. An empty cell is no value, and makes its field optional; "" is an empty text.
      In JSON lines, and in SQLite, a number is a number however it is written, and text where a digit would be lost.

      With --type, and into a collection that is there already, values are read as the types say: a date is RFC 3339, as 2026-11-26T10:00:00Z, or a day alone,
      which is its local midnight, as for 'add', or with --utc that of UTC; boolean is true, false, 1 or 0; bytes are base64; an empty cell is an empty text where the field is a text that is not optional.
      Where a value does not fit, nothing is imported, and it says which.

      Entities of Core Data become collections of their names, also where several are in one table. A column that refers to rows of another table, by
      a foreign key, by an entity's name or by --type COLUMN=COLLECTION, gets their records' ids. From the import's end on the store holds that these are there: one that is
      referred to can't be removed, but as the foreign key says; where it is Core Data's, those that refer to it then refer to none.
      What refers to a row that is not there is named, and nothing is imported; --clear-dangling imports it as no value. A column of Core Data that is called as an entity is taken for a number
      where less than half of its values are rows of the entity.

      What is interrupted goes on when the same is run again, as the same row has the same id: in CSV and JSON lines by what is in the whole file, so that another file's
      rows are always new; in SQLite by the table's name and the row's number. Rows that were imported before are compared with their records first: where one
      differs, or is gone, nothing is imported; --replace has rows that bring their ids replace what is there. At the end all rows are compared with all records.
      """,
    positionals: [
      .store,
      Positional(
        name: "FILE", completion: .files, isOptional: true,
        help: "the lines; standard input without it, or with -"),
    ],
    options: [
      batch, durable, ack, .segmentSize, from, tableName, seal, plain, types, into, replace, clearDangling,
      .utc,
      yes,
      propose,
    ],
    examples: [
      "notelog import my.notelog notes.db --table note --seal title,body --type day=date":
        "takes a table over, and seals two of its columns",
      "notelog dump old.notelog --json --password-file p | notelog import new.notelog --password-file p":
        "copies all records into another store",
    ], run: done(importFile))

  fileprivate static let batch = Option(
    long: "batch", value: "N", help: "commit N records at a time; 1000 unless given")
  fileprivate static let durable = Option(
    long: "durable", help: "make each commit durable before the next one begins")
  fileprivate static let from = Option(
    long: "from", value: "KIND", completion: TableKind.allCases.map(\.rawValue),
    help: "take it for tables of this kind: sqlite, csv or jsonl")
  fileprivate static let tableName = Option(
    long: "table", value: "NAME", repeats: true,
    help: "a table of an SQLite database, or an entity of Core Data; may be repeated, all without it")
  fileprivate static let seal = Option(
    long: "seal", value: "A,B", help: "the columns that are sealed; the others are in the clear")
  fileprivate static let plain = Option(
    long: "plain", value: "A,B", help: "the columns that are in the clear; all others are sealed")
  fileprivate static let types = Option(
    long: "type", value: "A=TYPE,B=TYPE",
    help:
      "what columns are: \(FieldType.allCases.map(\.name).joined(separator: ", ")), or a collection that they refer to"
  )
  fileprivate static let into = Option(
    long: "into", value: "COLLECTION", completion: .collections,
    help: "the collection's name; the table's or file's unless given")
  fileprivate static let replace = Option(
    long: "replace", help: "rows with ids of their own replace what the records with these ids have")
  fileprivate static let clearDangling = Option(
    long: "clear-dangling", help: "import what refers to a row or record that is not there as no value")
  fileprivate static let yes = Option(
    long: "yes", help: "take the collection as it is proposed; a new one only with --seal or --plain")
  fileprivate static let propose = Option(long: "propose", help: "show what would be made, and make nothing")
  fileprivate static let ack = Option(
    long: "ack", help: "print each id on a line of its own, once its commit has reached its durability")
}

/// What is imported: lines of a dump, or tables.
private func importFile(_ call: Invocation) throws {
  let path = call.positionals.dropFirst().first ?? "-"
  let kind = try call.choice(of: Command.from, among: TableKind.self)
  var reader = try LineReader(path: path)
  // Who types, types lines; and a password is read before what comes behind it.
  let isPasswordFirst = path == "-" && call.value(of: .passwordDescriptor) == "0"
  if isPasswordFirst, kind != nil {
    throw ToolError.usage("a password and tables can't both come from standard input")
  }
  let isLines = isPasswordFirst || kind == nil && path == "-" && isatty(STDIN_FILENO) == 1
  if !isLines, let kind = try kind ?? TableKind(firstLine: try reader.peek()) {
    return try importTables(kind, path, &reader, call)
  }
  let forTables = [
    Command.tableName, Command.seal, Command.plain, Command.types, Command.into, Command.replace,
    Command.clearDangling, Command.propose,
  ]
  if let option = forTables.first(where: call.has) {
    throw ToolError.usage("--\(option.long) is for tables, and these are lines of dump --json")
  }
  return try importLines(&reader, call)
}

private func importLines(_ reader: inout LineReader, _ call: Invocation) throws {
  let batchCount = try call.number(of: Command.batch, in: 1...100_000) ?? 1000
  try call.withStore(.required) { store in
    var batch = ImportBatch(store: store, call: call)
    // Acknowledgements on a terminal show how far it is.
    let progress = Progress("importing", besideOutput: call.has(Command.ack))
    defer { progress.finish() }
    try Interrupt.deferred {
      do {
        while !Interrupt.isRequested, let line = try reader.next() {
          if line.isBlank { continue }
          try batch.add(line, number: reader.lineNumber)
          guard batch.pending.isFull(batchCount) else { continue }
          try batch.commit(upTo: reader.lineNumber)
          reader.tell(progress)
        }
        try batch.commit(upTo: reader.lineNumber)
      } catch {
        let error = ToolError(any: error)
        // The lines before the wrong one are good, and are kept.
        if !batch.hasFailed { try batch.commit(upTo: reader.lineNumber - 1) }
        if error.code == .interrupted { throw error }
        let place =
          batch.hasFailed
          ? (error.isOutcomeUnknown ? "of the lines after" : "nothing is imported after")
            + " line \(batch.committedLine)"
          : "line \(reader.lineNumber)"
        let code = error.code == .usage ? .failed : error.code
        throw ToolError(code, "\(place): \(error.message)", hint: error.hint)
      }
      try store.finishImport()
      if Interrupt.isRequested { throw ToolError.interrupted }
    }
    progress.finish(isDone: true)
  }
}

extension Store {
  /// Makes durable what was imported, and has ordered indexes made, which closing leaves to whoever opens the
  /// store next.
  fileprivate func finishImport() throws {
    try write { _ in }
    for collection in collections {
      for field in collection.fieldsInUse where field.isIndexed {
        _ = try collection.query().onDamage { _ in }.sorted(by: field.name).first()
      }
    }
  }
}

private func importTables(
  _ kind: TableKind, _ path: String, _ reader: inout LineReader, _ call: Invocation
) throws {
  let wishes = try call.wishes
  var tables = try sourceTables(kind, path, &reader, wishes, call)
  try tables.propose(wishes) { name in try knownFields(of: name, call) }
  // What was a collection with sealed fields may have been taken away by somebody without a key.
  if call.has(Command.yes), wishes.plain == nil, wishes.sealed.isEmpty,
    let new = tables.first(where: { !$0.isKnown })
  {
    throw ToolError.usage(
      "there is no collection '\(new.collectionName)', and --yes does not say what may be in the clear in a new one",
      hint: "--plain A,B leaves these columns in the clear and seals the others; --seal A,B seals these only")
  }
  let isAsking = !call.has(Command.yes) && !call.has(Command.propose)
  if isAsking, isatty(STDIN_FILENO) != 1 || !Console.outIsTerminal {
    throw ToolError.usage("without a terminal to ask, --yes takes it")
  }
  for table in tables {
    let samples = isAsking || call.has(Command.propose) ? try table.samples() : nil
    try Console.out.write(table.proposal(samples: samples))
  }
  let secrets = tables.flatMap(\.secrets)
  if !isAsking, !secrets.isEmpty {
    let names = secrets.joined(separator: ", ")
    Console.say("note", "sealed, as named like secrets: \(names); --plain A,B says what stays in the clear")
  }
  if call.has(Command.propose) { return }
  if isAsking, try !Console.ask("take \(tables.count == 1 ? "it" : "them")?", on: Console.out) {
    throw ToolError(.no, "nothing was imported")
  }
  try call.withStore(.required) { store in
    // What does not fit is said before anything is written.
    try tables.findDangling(in: store)
    let knownCounts = try tables.map { try $0.compare(with: store, isBefore: true) }
    try store.createCollections(tables.compactMap(\.description))
    func name(_ table: SourceTable) -> String {
      tables.count == 1 ? "" : " of " + Escaping.line(table.collectionName)
    }
    for (table, knownCount) in zip(tables, knownCounts) {
      var count = knownCount
      do {
        try withProgress("importing", unit: "rows") { progress in
          try table.write(into: store, &count, progress)
        }
      } catch {
        Console.say(
          "note",
          "\(count) of \(counted(table.rowCount, "row"))\(name(table)) are in the store: the same command goes on with the rest"
        )
        throw error
      }
      let replaced = count - table.rowCount
      let known = knownCount > 0 ? ", \(knownCount) were there" : ""
      let replacing = replaced > 0 ? ", \(replaced) of them replaced" : ""
      try Console.out.write(
        "imported   \(counted(table.rowCount - knownCount, "record"))\(name(table))\(known)\(replacing)\n")
    }
    try Interrupt.deferred {
      try tables.hold(in: store)
      try store.finishImport()
    }
    for table in tables {
      try Console.out.write(table.outcome(try table.compare(with: store), name(table)))
    }
  }
}

private enum TableKind: String, CaseIterable {
  case sqlite, csv, jsonl

  /// What a file is by its first line; nil where it is one of a dump, or nothing.
  init?(firstLine line: ArraySlice<UInt8>) throws {
    let text = String(decoding: line.prefix(64), as: UTF8.self).trimmingCharacters(in: .whitespaces)
    if text.hasPrefix("SQLite format 3\0") {
      self = .sqlite
    } else if text.hasPrefix("{") {
      // What can't be read is a line of a dump, which says what is wrong with it.
      guard let json = try? JSONReader.read(Array(line)) else { return nil }
      if case .object? = json["fields"] { return nil }
      self = .jsonl
    } else if text.hasPrefix("[") {
      throw ToolError(.failed, "it is a list of JSON, not lines", hint: "'jq -c .[]' makes lines of it")
    } else if text.hasSuffix(";"), ["BEGIN", "PRAGMA", "CREATE"].contains(where: text.hasPrefix) {
      throw ToolError(
        .failed, "it is SQL, which sqlite3 reads",
        hint: "'sqlite3 -safe NEW.db <FILE' makes a database of it, which import takes")
    } else {
      if text.isEmpty { return nil }
      self = .csv
    }
  }
}

private func sourceTables(
  _ kind: TableKind, _ path: String, _ reader: inout LineReader, _ wishes: ImportWishes, _ call: Invocation
) throws -> [SourceTable] {
  let names = call.values(of: Command.tableName)
  let isPipe = reader.isPipe(path)
  if kind == .sqlite {
    if isPipe {
      throw ToolError.usage("an SQLite database comes from a file, which sqlite3 opens, not from a pipe")
    }
    return try SQLiteFile(path, wishes).tables(names)
  }
  if !names.isEmpty { throw ToolError.usage("--table is for SQLite databases, and this is \(kind.rawValue)") }
  guard let name = isPipe ? wishes.name : URL(filePath: path).deletingPathExtension().lastPathComponent else {
    throw ToolError.usage("what comes from a pipe has no name: --into names the collection")
  }
  let file = try reader.reopening(path)
  return [
    try kind == .csv
      ? SourceTable(csv: file, name: name, wishes) : SourceTable(jsonLines: file, name: name, wishes)
  ]
}

extension Invocation {
  /// What the command line says of tables.
  fileprivate var wishes: ImportWishes {
    get throws {
      func words(_ option: Option) -> [String]? { value(of: option)?.split(separator: ",").map(String.init) }
      let types = try (words(Command.types) ?? []).map { word in
        let parts = word.split(separator: "=").map(String.init)
        guard parts.count == 2 else { throw ToolError.usage("--type takes COLUMN=TYPE, not '\(word)'") }
        return (parts[0], parts[1])
      }
      return ImportWishes(
        name: value(of: Command.into), sealed: words(Command.seal) ?? [], plain: words(Command.plain),
        types: Dictionary(types) { $1 }, isUTC: has(.utc), replaces: has(Command.replace),
        clearsDangling: has(Command.clearDangling))
    }
  }
}

/// The fields in use of a collection, where it is there. Something can be proposed without a store.
private func knownFields(of name: String, _ call: Invocation) throws -> [FieldInfo]? {
  do {
    return try call.withStore(.never, readOnly: true) { store in
      store.collections.first { $0.name == name }?.fieldsInUse
    }
  } catch {
    if ToolError(any: error).code == .noStore, call.has(Command.propose) { return nil }
    throw error
  }
}

/// Records read and not yet committed.
private struct ImportBatch {
  let store: Store
  let call: Invocation
  var pending = RecordBatch()
  /// The collections met so far, by the name that lines give them.
  var known: [String?: (collection: DynamicCollection, fields: [String: FieldInfo])] = [:]
  /// Whether a commit has failed: what is wrong is not a line then, and trying again would not help.
  var hasFailed = false
  /// The number of the last line that was committed.
  var committedLine = 0

  mutating func add(_ line: [UInt8], number: Int) throws {
    let json = try JSONReader.read(line)
    guard case .object(let members) = json else { throw ToolError(.failed, "a record is an object") }
    for member in members
    where !["id", "collection", "revision", "possiblyStale", "fields"].contains(member.name) {
      throw ToolError(.failed, "a record has no member '\(member.name)'")
    }
    guard let id = json["id"].map({ $0.string.flatMap { RecordID($0) } }) ?? RecordID() else {
      throw ToolError(.failed, "the id is none")
    }
    let name = json["collection"]?.string
    if name == nil, json["collection"] != nil { throw ToolError(.failed, "the collection is no text") }
    guard case .object(let fields)? = json["fields"] else {
      throw ToolError(.failed, "the fields are missing")
    }
    let (collection, known) = try collection(given: name)
    var values: [String: DynamicValue] = [:]
    for field in fields {
      // Where there is none, it says which name may have been meant.
      values[field.name] = try value(field, known[field.name] ?? collection.field(field.name))
    }
    // In one transaction, versions of a record take the space of all of them until they are compacted.
    if pending.ids.contains(id) { try commit(upTo: number - 1) }
    // A dump has null for what the record lacks, though it is not optional: so it stays.
    let lacking = known.values.filter { !$0.isOptional && values[$0.name] == .missing }
    for field in lacking { values[field.name] = nil }
    // A line with all values replaces what is there unread, as that may be damaged.
    let old = values.count == known.count ? nil : try collection.get(id)
    if let old {
      for field in lacking where old.fields.contains(where: { $0.name == field.name }) {
        _ = try field.checked(nil)
      }
    } else {
      let named = Set(fields.map(\.name))
      for field in known.values.sorted(by: { $0.number < $1.number })
      where field.needsValue && !named.contains(field.name) { values[field.name] = try field.initialValue }
    }
    pending.add(id, values, to: collection, byteCount: line.count, isUpdate: old != nil)
  }

  private mutating func collection(given name: String?) throws -> (DynamicCollection, [String: FieldInfo]) {
    if let found = known[name] { return found }
    let collection = try store.collection(given: name)
    let fields = Dictionary(uniqueKeysWithValues: collection.fieldsInUse.map { ($0.name, $0) })
    known[name] = (collection, fields)
    return (collection, fields)
  }

  private func value(_ member: JSONValue.Member, _ field: FieldInfo) throws -> DynamicValue {
    if let value = field.type.value(json: member.value, isUTC: call.has(.utc)) { return value }
    let left = "leave the field out of the line, and bring it over with 'notelog get' and 'notelog set'"
    let reasons = [
      ("sealed", "is sealed in this dump", "dump again with the password"),
      ("error", "could not be read when it was dumped", nil), ("long", "was too long for this dump", left),
    ]
    let (_, reason, hint) =
      reasons.first { member.value[$0.0] != nil } ?? ("", "takes \(field.type.named) value", nil)
    throw ToolError(.failed, "\(field.name) \(reason)", hint: hint)
  }

  mutating func commit(upTo line: Int) throws {
    let records = pending.records
    guard !records.isEmpty else { return }
    hasFailed = true
    try pending.commit(to: store, call.has(Command.durable) ? .durable : .flushed)
    hasFailed = false
    committedLine = line
    guard call.has(Command.ack) else { return }
    do {
      for record in records { try Console.out.write(record.id.shown + "\n") }
      try Console.out.flush()
    } catch {
      // Not a quiet end, as of a listing that was read far enough: what is left would not be imported.
      throw ToolError(any: error) == .closedPipe
        ? ToolError(.failed, "the reader of the acknowledgements went away") : error
    }
  }
}
