// Records as others read them: SQL text, comma-separated values, JSON lines.
import Notelog

enum ExportFormat: String, CaseIterable {
  case sql, csv, jsonl

  /// What collections, or the fields of one, are called for the program that reads this.
  ///
  /// - Throws: Where it would not take one for a name: SQLite's shell ends a line at a zero byte, and what
  ///   follows may be a command to it.
  func names(_ names: [String], areTables: Bool = false) throws -> [String] {
    if self == .jsonl { return names }
    for name in names
    where Escaping.hasControls(name) || self == .sql && areTables && name.lowercased().hasPrefix("sqlite_") {
      throw ToolError(
        .failed, "the name '\(name)' can't be written as \(rawValue)", hint: "--as jsonl writes it")
    }
    if self == .csv { return names }
    // It takes capital and small letters for the same.
    var taken: Set<String> = []
    let all = Set(names.map { $0.lowercased() })
    return names.map { name in
      if taken.insert(name.lowercased()).inserted { return name }
      let new = (2...).lazy.map { "\(name)_\($0)" }.first {
        !all.contains($0.lowercased()) && taken.insert($0.lowercased()).inserted
      }
      Console.say(
        "note", "'\(name)' is '\(new ?? name)': SQLite takes capital and small letters for the same")
      return new ?? name
    }
  }

  /// What comes before a collection's records; `tables` are those of all collections that are printed.
  func beginning(
    _ table: String, _ columns: [String], _ fields: [FieldInfo], among tables: [String: String]
  ) -> String {
    switch self {
    case .jsonl: ""
    case .csv: ([Self.idColumn(columns)] + columns).map(Self.cell).joined(separator: ",") + "\r\n"
    case .sql:
      "BEGIN;\nCREATE TABLE \(SourceTable.quoted(table)) (\(Self.idColumn(columns)) TEXT PRIMARY KEY"
        + zip(columns, fields).map { ", \(SourceTable.quoted($0)) \(Self.declaration($1, among: tables))" }
        .joined()
        + ");\n"
    }
  }

  /// A record, of which everything could be opened.
  func line(_ record: RecordShown, _ fields: [FieldInfo], of table: String) -> String {
    if self == .jsonl { return record.json(fields.map(\.name)).text + "\n" }
    var values: [String: DynamicValue] = [:]
    for (name, content) in record.fields { if case .value(let value) = content { values[name] = value } }
    let row = fields.map { values[$0.name] ?? .missing }
    if self == .csv {
      return ([record.entry.id.shown] + row.map { $0 == .missing ? "" : Self.cell($0.shown) }).joined(
        separator: ",") + "\r\n"
    }
    let cells = [Self.text(record.entry.id.shown)] + row.map(Self.sql)
    return "INSERT INTO \(SourceTable.quoted(table)) VALUES (\(cells.joined(separator: ", ")));\n"
  }

  /// What comes behind them.
  var end: String { self == .sql ? "COMMIT;\n" : "" }

  /// What the ids' column is called, so that no field has the same name.
  static func idColumn(_ columns: [String]) -> String {
    let taken = Set(columns.map { $0.lowercased() })
    var name = "id"
    while taken.contains(name) { name = "record_" + name }
    return name
  }

  /// Between quotation marks where it has to be, or would be taken for nothing.
  private static func cell(_ text: String) -> String {
    let isBare = !text.isEmpty && !text.utf8.contains { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }
    return isBare ? text : "\"" + text.replacing("\"", with: "\"\"") + "\""
  }

  private static func text(_ text: String) -> String {
    // A text of SQL ends at a zero byte, and of CR LF the shell of SQLite leaves LF.
    if text.utf8.contains(where: { $0 == 0 || $0 == 13 }) { return "CAST(\(hex(Array(text.utf8))) AS TEXT)" }
    return "'" + text.replacing("'", with: "''") + "'"
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    return "X'"
      + String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self) + "'"
  }

  /// What a column of a type is declared to hold: SQLite converts no value of it, and an import knows the type.
  static func sqlType(_ type: FieldType) -> String {
    switch type {
    case .boolean: "BOOLEAN"
    case .integer: "INTEGER"
    case .unsigned: "UNSIGNED BLOB"
    case .double: "REAL"
    case .bytes: "BLOB"
    case .text: "TEXT"
    case .date, .uuid, .url, .json: type.name.uppercased() + " TEXT"
    }
  }

  /// What becomes of a record whose other record is deleted, in SQL.
  static let rules: [(words: String, rule: DeleteRule)] = [
    ("CASCADE", .cascade), ("SET NULL", .nullify), ("RESTRICT", .refuse),
  ]

  private static func declaration(_ field: FieldInfo, among tables: [String: String]) -> String {
    guard let target = field.target.flatMap({ tables[$0] }) else { return sqlType(field.type) }
    let rule = rules.first { $0.rule == field.deleteRule }.map { " ON DELETE " + $0.words } ?? ""
    return "\(sqlType(field.type)) REFERENCES \(SourceTable.quoted(target))\(rule)"
  }

  private static func sql(_ value: DynamicValue) -> String {
    switch value {
    case .missing: "NULL"
    case .boolean(let value): value ? "1" : "0"
    case .integer(let value): value == .min ? "(-9223372036854775807 - 1)" : String(value)
    case .unsigned(let value): value > UInt64(Int64.max) ? "'\(value)'" : String(value)
    case .double(let value):
      value.isNaN ? "'nan'" : value.isInfinite ? (value < 0 ? "-9e999" : "9e999") : value.description
    case .bytes(let bytes): hex(bytes)
    default: text(value.shown)
    }
  }
}
