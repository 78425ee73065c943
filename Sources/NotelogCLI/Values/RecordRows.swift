// Records as `list` and `search` print them: a table for people, or one of three forms for scripts.
import Foundation
import Notelog

/// Prints records, each with the values of the same fields.
struct RecordRows {
  enum Form: String, CaseIterable {
    case table, tsv, null, json
  }

  let form: Form
  private let fields: [FieldInfo]
  private let shownID: @Sendable (RecordID) -> String
  private let isUTC: Bool
  private var table: Table
  private var staleCount = 0

  init(
    _ form: Form, _ fields: [FieldInfo], isUTC: Bool, id shownID: @escaping @Sendable (RecordID) -> String
  ) {
    (self.form, self.fields, self.isUTC, self.shownID) = (form, fields, isUTC, shownID)
    table = Table(
      [Table.Column(title: "id")]
        + fields.map { field in
          let isText = field.type == .text || field.type == .json || field.type == .url
          let isNumber = [.integer, .unsigned, .double, .bytes].contains(field.type)
          return Table.Column(title: Escaping.line(field.name), isNumber: isNumber, isText: isText)
        })
  }

  /// Prints a record, and notes what is wrong with it.
  mutating func add(_ record: RecordShown, noting outcome: ReadingOutcome) throws {
    try add(record)
    var said = record
    // A table has sizes only.
    if form == .table { said.fields.removeAll { if case .long = $0.content { true } else { false } } }
    outcome.note(said)
    if record.entry.isPossiblyStale { staleCount += 1 }
  }

  private mutating func add(_ record: RecordShown) throws {
    if form == .json { return try Console.print(record.json(fields.map(\.name))) }
    let contents = Dictionary(record.fields.map { ($0.name, $0.content) }) { first, _ in first }
    if form == .table {
      let id: Table.Cell = (shownID(record.entry.id), .dim)
      return try table.add([id] + fields.map { cell(contents[$0.name] ?? .value(.missing), of: $0) })
    }
    // Nothing where there is no value, or it can't be opened.
    let values =
      [record.entry.id.shown]
      + fields.map { if case .value(let value)? = contents[$0.name] { value.shown } else { "" } }
    if form == .tsv {
      return try Console.out.write(values.map(Escaping.cell).joined(separator: "\t") + "\n")
    }
    if values.contains(where: { $0.utf8.contains(0) }) {
      throw ToolError(
        .failed, "record \(record.entry.id.shown) has a text with a zero byte in it, which --null can't tell",
        hint: "--tsv and --json can")
    }
    let shown = Console.outIsTerminal ? values.map(Escaping.line) : values
    try Console.out.write(shown.map { $0 + "\0" }.joined())
  }

  /// Prints what is held; the header, if nothing came below it.
  mutating func finish() throws {
    if form == .table { try table.finish() }
    if !table.hidden.isEmpty {
      try Console.out.flush()
      Console.say("note", "not shown, for want of room: \(table.hidden.joined(separator: ", "))")
    }
    guard staleCount > 0, form != .json else { return }
    Console.say(
      "warning", "\(counted(staleCount, "record")) may have changed in what is lost: 'get' says of each")
  }

  /// A value in a table.
  private func cell(_ content: RecordShown.Content, of field: FieldInfo) -> Table.Cell {
    switch content {
    case .value(.missing): ("-", .dim)
    case .value(.date(let date)):
      (Moment.minute(date.timeIntervalSinceReferenceDate, isUTC: isUTC) ?? DynamicValue.date(date).shown, nil)
    case .value(.bytes(let bytes)): (byteCountShown(bytes.count), nil)
    case .value(.uuid(let uuid)) where field.target != nil:
      (shownID(RecordID(uuid)), nil)
    case .value(let value):
      (Escaping.line(String(value.shown.unicodeScalars.prefix(Table.scalarLimit))), nil)
    case .long(let byteCount): (byteCountShown(byteCount), .dim)
    case .sealed: ("sealed", .dim)
    case .unknown: ("?", .dim)
    case .failed: ("damaged", .red)
    }
  }
}

/// `512 B`, `1.5 KiB`, `230 MiB`.
func byteCountShown(_ count: Int) -> String {
  var (value, unit) = (Double(count), "B")
  for next in ["KiB", "MiB", "GiB", "TiB"] where value >= 1023.5 { (value, unit) = (value / 1024, next) }
  return (value < 9.95 && unit != "B" ? "\((value * 10).rounded() / 10)" : "\(Int(value.rounded()))") + " "
    + unit
}

extension Command {
  /// What help says of rows of records.
  static let rowsHelp = """
    On a terminal it is a table: times are local, bytes are shown by their size, texts are cut and the last
    fields left out where its width does not suffice, and of an id the first eight digits are shown, or as
    many as no other has.

    For scripts nothing is ever cut, ids are whole and times UTC, whatever --utc says. Without a terminal
    --tsv is what it prints: the id, then the fields' values, in the order of --field, with a tab between
    them and no header. A tab in a value is \\t, a line end \\n, a backslash \\\\, other control characters
    are \\u{1B} for instance; what has no value, or can't be opened, is empty. --null prints the same values
    with a zero byte behind each and nothing escaped, for xargs -0; --json an object a line, as dump does.
    """
}

extension Invocation {
  /// How rows of records are to be printed.
  func rowForm() throws -> RecordRows.Form {
    let form = try only(of: [.tsv, .null, .json]).flatMap { RecordRows.Form(rawValue: $0.long) }
    return form ?? (Console.outIsTerminal ? .table : .tsv)
  }

  /// What --field names: several where commas are between them, unless a field's name has them.
  func fieldNames(among fields: [FieldInfo]) -> [String]? {
    if !has(.field) { return nil }
    return values(of: .field).flatMap { word in
      fields.contains { $0.name == word }
        ? [word] : word.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
  }

  /// What prints records of a collection.
  func rows(
    _ form: RecordRows.Form, of collection: DynamicCollection, in store: Store, _ names: [String]
  ) throws -> RecordRows {
    RecordRows(
      form, try names.map(collection.field), isUTC: has(.utc),
      id: form == .table ? shownIDs(in: store) : \.shown)
  }
}

extension DynamicValue {
  /// The value for a person: on a terminal, a date is local time to the second unless `isUTC`.
  func shown(isUTC: Bool) -> String {
    guard case .date(let date) = self, !isUTC, Console.outIsTerminal else { return shown }
    return date.shown(isUTC: false) ?? shown
  }
}
