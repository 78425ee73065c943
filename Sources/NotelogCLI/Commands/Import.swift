// `notelog import STORE [FILE]`: records from the lines that `dump --json` prints, or of something else's
// table.
import Foundation
import Notelog

extension Command {
  static let importRecords: Command = Command(
    words: ["import"],
    summary: "add or replace records, from the lines of dump --json or from other programs",
    discussion: """
      Each line is {"id":…,"collection":…,"fields":{…}}; the id may be left out, and the collection where there is
      only one. A record whose id exists is replaced. Fields that a dump left sealed are refused.

      Lines are committed in batches. If a line is wrong, those before it are imported and it says which line it
      was. All that was imported is on the disk before it exits.

      With --from a table of something else is taken over: sqlite (read by the sqlite3 program, of Core Data too), csv with names in the
      first line, or jsonl, any objects. A collection is proposed and shown, with a value of each column, and taken after a yes or with --yes.

      CSV has commas between values, and quotation marks around what holds a comma, a quotation mark or a line's end. A column is integer, double or
      boolean where each value is written as such a value is printed: 12, 2.5, true; with both 12 and 2.5 it is double. All else is text, as it stands:
      007, +5, 1E5, 1.50, and what has more digits than a number keeps. What becomes another kind of value, and which columns are left out, is said. An empty cell is no value, and makes its field optional; "" is an empty text.
      In JSON lines, and in SQLite, a number is a number however it is written, and text where a digit would be lost.

      Into a collection that is there already, values are read as its fields' types: a date is RFC 3339, as 2026-11-26T10:00:00Z, or a day alone,
      which is its midnight in UTC; boolean is true, false, 1 or 0; bytes are base64; an empty cell is an empty text where the field is a text that is not optional.
      Where a value does not fit, nothing is imported, and it says which.

      What is interrupted goes on when the same is run again. Rows that were imported before are compared with their records first: where one
      differs, or is gone, nothing is imported. At the end all rows are compared with all records.
      """,
    positionals: [
      .store,
      Positional(
        name: "FILE", completion: .files, isOptional: true,
        help: "the lines; standard input without it, or with -"),
    ],
    options: [batch, durable, ack, .segmentSize, from, tableName, seal, plain, into, yes, propose],
    examples: [
      "notelog import my.notelog notes.db --from sqlite --table note --seal title,body":
        "takes a table over, and seals two of its columns",
      "notelog dump old.notelog --json --password-file p | notelog import new.notelog --password-file p":
        "copies all records into another store",
    ], run: importLines)

  fileprivate static let batch = Option(
    long: "batch", value: "N", help: "commit N records at a time; 1000 unless given")
  fileprivate static let durable = Option(
    long: "durable", help: "make each commit durable before the next one begins")
  fileprivate static let from = Option(
    long: "from", value: "KIND", completion: TableKind.allCases.map(\.rawValue),
    help: "take a table over: sqlite, csv or jsonl")
  fileprivate static let tableName = Option(
    long: "table", value: "NAME", help: "the table of an SQLite database")
  fileprivate static let seal = Option(
    long: "seal", value: "A,B", help: "the columns that are sealed; the others are in the clear")
  fileprivate static let plain = Option(
    long: "plain", value: "A,B", help: "the columns that are in the clear; all others are sealed")
  fileprivate static let into = Option(
    long: "into", value: "COLLECTION", help: "the collection's name; the table's or file's unless given")
  fileprivate static let yes = Option(
    long: "yes", help: "take the collection as it is proposed; a new one only with --seal or --plain")
  fileprivate static let propose = Option(long: "propose", help: "show what would be made, and make nothing")
  fileprivate static let ack = Option(
    long: "ack", help: "print each id on a line of its own, once its commit has reached its durability")
}

private func importLines(_ call: Invocation) throws -> ExitCode {
  if let kind = try call.choice(of: Command.from, among: TableKind.self) {
    return try importTable(kind, call)
  }
  let batchCount = try call.number(of: Command.batch, in: 1...100_000) ?? 1000
  var reader = try LineReader(path: call.positionals.dropFirst().first ?? "-")
  return try call.withStore(.required) { store in
    var batch = ImportBatch(
      store: store, durability: call.has(Command.durable) ? .durable : .flushed,
      isAcknowledging: call.has(Command.ack))
    // Acknowledgements on a terminal show how far it is.
    let progress = Progress("importing", besideOutput: call.has(Command.ack))
    defer { progress.finish() }
    try Interrupt.deferred {
      do {
        while !Interrupt.isRequested, let line = try reader.next() {
          if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
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
        let hint = reader.lineNumber > 1 ? nil : "--from takes something else than the lines of dump --json"
        let place =
          batch.hasFailed
          ? (error.isOutcomeUnknown ? "of the lines after" : "nothing is imported after")
            + " line \(batch.committedLine)"
          : "line \(reader.lineNumber)"
        throw ToolError(error.code, "\(place): \(error.message)", hint: error.hint ?? hint)
      }
      try store.finishImport()
      if Interrupt.isRequested { throw ToolError.interrupted }
    }
    return .done
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

private func importTable(_ kind: TableKind, _ call: Invocation) throws -> ExitCode {
  guard let path = call.positionals.dropFirst().first, path != "-" else {
    throw ToolError.usage("--from takes a file, which is read more than once")
  }
  var table = try sourceTable(kind, path, call)
  let sealed = call.value(of: Command.seal)?.split(separator: ",").map(String.init) ?? []
  let plain = call.value(of: Command.plain)?.split(separator: ",").map(String.init)
  try table.propose(as: call.value(of: Command.into), sealing: sealed, plain: plain) { name in
    try knownFields(of: name, call)
  }
  // What was a collection with sealed fields may have been taken away by somebody without a key.
  if call.has(Command.yes), !table.isKnown, plain == nil, sealed.isEmpty {
    throw ToolError.usage(
      "there is no collection '\(table.collectionName)', and --yes does not say what may be in the clear in a new one",
      hint: "--plain A,B leaves these columns in the clear and seals the others; --seal A,B seals these only")
  }
  let isAsking = !call.has(Command.yes) && !call.has(Command.propose)
  if isAsking, isatty(STDIN_FILENO) != 1 || !Console.outIsTerminal {
    throw ToolError.usage("without a terminal to ask, --yes takes it")
  }
  let samples = isAsking || call.has(Command.propose) ? try table.samples() : nil
  try Console.out.write(table.proposal(samples: samples))
  if call.has(Command.propose) { return .done }
  if isAsking {
    try Console.out.write("take it? [y/N] ")
    try Console.out.flush()
    guard ["y", "yes"].contains(readLine()?.lowercased()) else {
      throw ToolError(.no, "nothing was imported")
    }
  }
  return try call.withStore(.required) { store in
    let collection = try table.collection(in: store)
    let progress = Progress("importing")
    defer { progress.finish() }
    let (newCount, knownCount) = try Interrupt.deferred {
      let counts = try table.write(into: collection, of: store, progress)
      try store.finishImport()
      return counts
    }
    try Console.out.write(
      "imported   \(newCount) records\(knownCount > 0 ? ", \(knownCount) were there" : "")\n")
    let count = try table.compare(with: collection)
    try Console.out.write(table.outcome(count))
    return .done
  }
}

private enum TableKind: String, CaseIterable {
  case sqlite, csv, jsonl
}

private func sourceTable(_ kind: TableKind, _ path: String, _ call: Invocation) throws -> SourceTable {
  switch kind {
  case .sqlite:
    guard let name = call.value(of: Command.tableName) else {
      throw ToolError.usage("--from sqlite needs --table")
    }
    return try SourceTable(sqlite: path, table: name)
  case .csv: return try SourceTable(csv: path)
  case .jsonl: return try SourceTable(jsonLines: path)
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
  let durability: Durability
  /// Whether ids are printed.
  let isAcknowledging: Bool
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
    for member in members where !["id", "collection", "revision", "fields"].contains(member.name) {
      throw ToolError(.failed, "a record has no member '\(member.name)'")
    }
    var id = RecordID()
    if let given = json["id"] {
      guard case .string(let text) = given, let read = RecordID(text) else {
        throw ToolError(.failed, "the id is none")
      }
      id = read
    }
    var name: String?
    if let given = json["collection"] {
      guard case .string(let text) = given else { throw ToolError(.failed, "the collection is no text") }
      name = text
    }
    guard case .object(let fields)? = json["fields"] else {
      throw ToolError(.failed, "the fields are missing")
    }
    let (collection, known) = try collection(given: name)
    var values: [String: DynamicValue] = [:]
    for field in fields {
      // Where there is none, it says which name may have been meant.
      let found = try known[field.name] ?? collection.field(field.name)
      values[field.name] = try Self.value(field, found)
    }
    // In one transaction, versions of a record take the space of all of them until they are compacted.
    if pending.ids.contains(id) { try commit(upTo: number - 1) }
    pending.add(id, values, to: collection, byteCount: line.count)
  }

  private mutating func collection(
    given name: String?
  ) throws -> (DynamicCollection, [String: FieldInfo]) {
    if let found = known[name] { return found }
    let collection = try store.collection(given: name)
    let fields = Dictionary(
      collection.fieldsInUse.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let found = (collection, fields)
    known[name] = found
    return found
  }

  private static func value(_ member: JSONValue.Member, _ field: FieldInfo) throws -> DynamicValue {
    if let value = field.type.value(json: member.value) { return value }
    if member.value["sealed"] != nil {
      throw ToolError(.failed, "\(field.name) is sealed in this dump", hint: "dump again with the password")
    }
    if member.value["error"] != nil {
      throw ToolError(.failed, "\(field.name) could not be read when it was dumped")
    }
    if member.value["long"] != nil {
      throw ToolError(
        .failed, "\(field.name) was too long for this dump",
        hint: "leave the field out of the line, and bring it over with 'notelog get' and 'notelog set'")
    }
    throw ToolError(.failed, "\(field.name) takes \(field.type.named) value")
  }

  mutating func commit(upTo line: Int) throws {
    let records = pending.records
    guard !records.isEmpty else { return }
    hasFailed = true
    try pending.commit(to: store, durability)
    hasFailed = false
    committedLine = line
    guard isAcknowledging else { return }
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
