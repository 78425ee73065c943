// Records as others read them: SQL text, comma-separated values, JSON lines.
import Foundation
import Notelog

enum ExportFormat: String, CaseIterable {
  case sql, csv, jsonl

  /// What comes before a collection's records.
  func beginning(_ name: String, _ fields: [FieldInfo]) -> String {
    switch self {
    case .jsonl: ""
    case .csv: ([Self.idColumn(fields)] + fields.map(\.name)).map(Self.cell).joined(separator: ",") + "\r\n"
    case .sql:
      "BEGIN;\nCREATE TABLE \(Self.identifier(name)) (\(Self.idColumn(fields)) TEXT PRIMARY KEY"
        + fields.map { ", \(Self.identifier($0.name)) \(Self.sqlType($0.type))" }.joined() + ");\n"
    }
  }

  /// A record, of which everything could be opened.
  func line(_ record: RecordShown, _ fields: [FieldInfo]) -> String {
    if self == .jsonl { return String(decoding: record.json.text, as: UTF8.self) + "\n" }
    var values: [String: DynamicValue] = [:]
    for (name, content) in record.fields { if case .value(let value) = content { values[name] = value } }
    let row = fields.map { values[$0.name] ?? .missing }
    if self == .csv {
      return ([record.id.shown] + row.map { $0 == .missing ? "" : Self.cell($0.shown) }).joined(
        separator: ",") + "\r\n"
    }
    let cells = [Self.text(record.id.shown)] + row.map(Self.sql)
    return "INSERT INTO \(Self.identifier(record.collection)) VALUES (\(cells.joined(separator: ", ")));\n"
  }

  /// What comes behind them.
  var end: String { self == .sql ? "COMMIT;\n" : "" }

  /// What the ids' column is called, so that no field has the same name.
  private static func idColumn(_ fields: [FieldInfo]) -> String {
    let taken = Set(fields.map { $0.name.lowercased() })
    var name = "id"
    while taken.contains(name) { name = "record_" + name }
    return name
  }

  /// Between quotation marks where it has to be, or would be taken for nothing.
  private static func cell(_ text: String) -> String {
    let isBare = !text.isEmpty && !text.utf8.contains { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }
    return isBare ? text : "\"" + text.replacing("\"", with: "\"\"") + "\""
  }

  private static func identifier(_ name: String) -> String {
    "\"" + name.replacing("\"", with: "\"\"") + "\""
  }

  private static func text(_ text: String) -> String {
    // A text of SQL ends at a zero byte.
    if text.utf8.contains(0) { return "CAST(\(hex(Array(text.utf8))) AS TEXT)" }
    return "'" + text.replacing("'", with: "''") + "'"
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    return "X'"
      + String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self) + "'"
  }

  private static func sqlType(_ type: FieldType) -> String {
    switch type {
    case .boolean: "BOOLEAN"
    case .integer, .unsigned: "INTEGER"
    case .double: "REAL"
    case .bytes: "BLOB"
    default: "TEXT"
    }
  }

  private static func sql(_ value: DynamicValue) -> String {
    switch value {
    case .missing: "NULL"
    case .boolean(let value): value ? "1" : "0"
    case .integer(let value): value == .min ? "(-9223372036854775807 - 1)" : String(value)
    case .unsigned(let value): value > UInt64(Int64.max) ? "'\(value)'" : String(value)
    case .double(let value):
      value.isNaN ? "NULL" : value.isInfinite ? (value < 0 ? "-9e999" : "9e999") : value.description
    case .bytes(let bytes): hex(bytes)
    case .json(let bytes): text(String(decoding: bytes, as: UTF8.self))
    default: text(value.shown)
    }
  }
}
