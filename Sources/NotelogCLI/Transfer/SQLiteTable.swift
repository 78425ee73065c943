// A table of an SQLite database, read by the `sqlite3` program: nothing is linked, and the file is opened for
// reading only.
import Foundation
import Notelog

extension SourceTable {
  /// What Core Data keeps beside an entity's attributes.
  private static let bookkeeping: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]

  /// The table of a name in the database at a path.
  init(sqlite path: String, table: String) throws {
    guard FileManager.default.isReadableFile(atPath: path) else {
      throw ToolError(.failed, "cannot read '\(path)'")
    }
    let kind = try Self.lines(
      path, "SELECT type, wr FROM pragma_table_list WHERE schema = 'main' AND name = \(Self.text(table))")
    guard let kind = kind.first?.split(separator: "|"), kind.count == 2, kind[0] == "table" else {
      if kind.first?.hasPrefix("view|") ?? false {
        throw ToolError(
          .failed, "'\(table)' is a view, whose rows have no numbers of their own",
          hint: "make a table of it in a copy of the database: CREATE TABLE … AS SELECT * FROM …")
      }
      throw ToolError(.failed, "there is no table '\(table)' in '\(path)'")
    }
    let found = try Self.lines(
      path,
      "SELECT hex(name), hex(type), pk, hidden FROM pragma_table_xinfo(\(Self.text(table))) ORDER BY cid"
    ).map { line in try Self.declaration(line) }
    let isCoreData = found.contains { $0.name == "Z_PK" }
    let taken = found.filter { !$0.isComputed && (!isCoreData || !Self.bookkeeping.contains($0.name)) }
    let dropped = found.map(\.name).filter { name in !taken.contains { $0.name == name } }
    let encoding = try Self.lines(path, "PRAGMA encoding").first ?? ""
    guard encoding == "UTF-8" else {
      throw ToolError(
        .failed, "'\(path)' has text in \(encoding)",
        hint: "'.dump' into a new database, with PRAGMA encoding = 'UTF-8'")
    }
    // The rows, each a line: its number, and its values as `valueExpression` has them.
    let query = Self.rows(table, taken.map(\.name), found, isWithoutRowID: kind[1] == "1")
    try self.init(
      name: isCoreData && table.hasPrefix("Z") ? table.dropFirst().lowercased() : table,
      identity: "sqlite \(table)", columns: taken.map(\.name), dropped: dropped
    ) { body in
      try Self.forEachLine(path, query) { line in
        let parts = line.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false)
        guard parts.count == taken.count + 1, let number = Int64(String(decoding: parts[0], as: UTF8.self))
        else { throw Self.unexpected }
        try body(number, try zip(parts.dropFirst(), taken).map { try Self.cell($0, $1.name, number) })
      }
    } column: { index, column in
      let name = column.source
      if column.bytes > 0, column.integers + column.doubles + column.texts > 0 {
        throw try Self.mixedBytes(path, table, name)
      }
      column.found = try Self.type(column, taken[index], isCoreData)
      if isCoreData, name.hasPrefix("Z") { column.name = name.dropFirst().lowercased() }
    }
  }

  /// That a column holds bytes and other values, and where the first of these is.
  private static func mixedBytes(_ path: String, _ table: String, _ column: String) throws
    -> ToolError
  {
    let (name, from) = (quoted(column), quoted(table))
    let other = "typeof(\(name)) NOT IN ('blob', 'null')"
    let row = try lines(
      path,
      "SELECT n, typeof(\(name)) FROM (SELECT row_number() OVER () AS n, * FROM \(from)) WHERE \(other) LIMIT 1"
    ).first?.split(separator: "|")
    let place = row.map { ": \($0.last ?? "another") in row \($0[0])" } ?? ""
    return ToolError(
      .failed, "the column '\(column)' holds bytes and other values\(place)",
      hint: "in a copy of the database: UPDATE \(from) SET \(name) = CAST(\(name) AS BLOB) WHERE \(other)")
  }

  private struct Declaration {
    let name: String, type: String, keyPlace: Int
    /// Whether its values follow from those of others.
    let isComputed: Bool

    /// What the column was declared to hold, by parts of words as SQLite has it.
    var declared: FieldType {
      if type.contains("BOOL") { return .boolean }
      if type.contains("INT") { return .integer }
      if type.contains("BLOB") { return .bytes }
      return ["REAL", "FLOA", "DOUB", "DEC", "NUM"].contains(where: type.contains) ? .double : .text
    }
  }

  private static func declaration(_ line: String) throws -> Declaration {
    let parts = line.split(separator: "|", omittingEmptySubsequences: false)
    guard parts.count == 4, let name = bytes(hex: parts[0].utf8), let type = bytes(hex: parts[1].utf8),
      let place = Int(parts[2])
    else { throw unexpected }
    return Declaration(
      name: String(decoding: name, as: UTF8.self), type: String(decoding: type, as: UTF8.self).uppercased(),
      keyPlace: place, isComputed: parts[3] != "0")
  }

  private static func type(
    _ column: SourceColumn, _ declaration: Declaration, _ isCoreData: Bool
  ) throws -> FieldType {
    let type = try column.typeOfValues()
    let isEmpty = column.integers + column.doubles + column.texts + column.bytes == 0
    guard isEmpty || type == .integer || type == .double else { return type }
    // Core Data's times are seconds since 2001, as ours.
    if isCoreData, declaration.type == "TIMESTAMP" { return .date }
    if isEmpty { return declaration.declared }
    if declaration.type.contains("DEC"), column.longIntegers == 0 { return .double }
    return declaration.declared == .boolean && column.zerosAndOnes == column.integers && type == .integer
      ? .boolean : type
  }

  private static func rows(_ table: String, _ columns: [String], _ found: [Declaration], isWithoutRowID: Bool)
    -> String
  {
    let key = found.filter { $0.keyPlace > 0 }.sorted { $0.keyPlace < $1.keyPlace }.map { quoted($0.name) }
    let known = Set(found.map { $0.name.lowercased() })
    let row = ["rowid", "_rowid_", "oid"].first { !known.contains($0) } ?? "rowid"
    let number = isWithoutRowID ? "row_number() OVER (ORDER BY \(key.joined(separator: ", ")))" : row
    let order = isWithoutRowID ? key.joined(separator: ", ") : row
    let values = columns.map { valueExpression(quoted($0)) }
    return "SELECT \(([number] + values).joined(separator: ", ")) FROM \(quoted(table)) ORDER BY \(order)"
  }

  /// A letter for the kind, then digits: nothing in a value is taken for the end of it.
  private static func valueExpression(_ column: String) -> String {
    """
    CASE typeof(\(column)) WHEN 'null' THEN 'N' WHEN 'integer' THEN 'I' || \(column) \
    WHEN 'real' THEN 'R' || printf('%!.17g', \(column)) WHEN 'text' THEN 'T' || hex(\(column)) ELSE 'B' || hex(\(column)) END
    """
  }

  private static func cell(_ part: ArraySlice<UInt8>, _ column: String, _ row: Int64) throws -> SourceCell {
    let rest = part.dropFirst()
    let text = String(decoding: rest, as: UTF8.self)
    switch part.first {
    case UInt8(ascii: "N"): return .json(.null)
    case UInt8(ascii: "I"): return .json(.number(text))
    case UInt8(ascii: "R"):
      guard let double = Double(text) else {
        throw ToolError(.failed, "row \(row), column '\(column)': '\(text)' is not a double value")
      }
      // Seventeen digits are more than a text of it needs.
      return .json(.number(double.description))
    case UInt8(ascii: "T"):
      guard let bytes = bytes(hex: rest), let text = String(validating: bytes, as: UTF8.self) else {
        throw ToolError(.failed, "row \(row), column '\(column)': the text is not UTF-8")
      }
      return .json(.string(text))
    case UInt8(ascii: "B"):
      if let bytes = bytes(hex: rest) { return .bytes(bytes) }
    default: break
    }
    throw unexpected
  }

  // MARK: The program

  private static let unexpected = ToolError(.failed, "sqlite3 answers otherwise than expected")

  /// A name as SQL has it.
  static func quoted(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }
  private static func text(_ text: String) -> String { "'" + text.replacing("'", with: "''") + "'" }

  private static func lines(_ path: String, _ sql: String) throws -> [String] {
    var lines: [String] = []
    try forEachLine(path, sql) { lines.append(String(decoding: $0, as: UTF8.self)) }
    return lines
  }

  private static func forEachLine(
    _ path: String, _ sql: String, _ body: (ArraySlice<UInt8>) throws -> Void
  ) throws {
    // A path is never taken for an option, nor for a URI.
    let file = path.hasPrefix("/") ? path : "./" + path
    let program: Program
    do {
      program = try Program.start([
        "sqlite3", "-init", "/dev/null", "-safe", "-readonly", "-batch", "-noheader", "-list", file, sql,
      ])
    } catch {
      throw ToolError(.failed, "cannot run 'sqlite3'", hint: "install it: apt-get install sqlite3")
    }
    var reader = LineReader(Input(borrowing: program.output.number, name: "sqlite3's answer"))
    while let line = try reader.next() { try body(line[...]) }
    guard program.wait() == 0 else { throw ToolError(.failed, "sqlite3 could not read '\(path)'") }
  }

  private static func bytes(hex: some Sequence<UInt8>) -> [UInt8]? {
    var digits: [UInt8] = []
    for digit in hex {
      switch digit {
      case 0x30...0x39: digits.append(digit - 0x30)
      case 0x41...0x46: digits.append(digit - 0x37)
      default: return nil
      }
    }
    guard digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
