// The tables of an SQLite database, read by the `sqlite3` program: nothing is linked, and the file is opened for
// reading only.
import Foundation
import Notelog

/// A part of a table of SQLite that goes into a collection: all of it, or the rows of an entity of Core Data.
private struct TablePart {
  let table: String
  var name: String
  /// The entity's number; nil where it is all of the table.
  var entity: String?
  var isOnly = true
}

/// A column as a database declares it.
private struct Declaration {
  let name: String, type: String, keyPlace: Int
  /// Whether its values follow from those of others.
  let isComputed: Bool
}

/// An SQLite database, as the program says what is in it.
struct SQLiteFile {
  private let path: String
  private let wishes: ImportWishes
  /// What Core Data keeps beside an entity's attributes.
  private static let bookkeeping: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]
  /// The tables: their names, kinds, and whether their rows have no numbers.
  private let list: [[String]]
  private let columns: [String: [Declaration]]
  /// Of each table's keys that refer to others: which it is, the part's place, the table, the column, the
  /// other's column, and what becomes of a row whose other row is deleted.
  private let keys: [String: [[String]]]
  /// Core Data's entities: number, name, and the parent's number.
  private let entities: [[String]]

  init(_ path: String, _ wishes: ImportWishes) throws {
    guard FileManager.default.isReadableFile(atPath: path) else {
      throw ToolError(.failed, "cannot read '\(path)'")
    }
    (self.path, self.wishes) = (path, wishes)
    var encoding = ""
    try Self.forEachLine(path, "PRAGMA encoding") { encoding = String(decoding: $0, as: UTF8.self) }
    guard encoding == "UTF-8" else {
      throw ToolError(
        .failed, "'\(path)' has text in \(encoding)",
        hint: "'.dump' into a new database, with PRAGMA encoding = 'UTF-8'")
    }
    let from = "FROM pragma_table_list t"
    list = try Self.strings(
      path, 3, "SELECT hex(name), hex(type), hex(wr) \(from) WHERE schema = 'main' ORDER BY name")
    let only = "WHERE t.schema = 'main' AND t.type = 'table'"
    let found = try Self.strings(
      path, 5,
      """
      SELECT hex(t.name), hex(c.name), hex(c.type), hex(c.pk), hex(c.hidden) \(from), pragma_table_xinfo(t.name) c \
      \(only) ORDER BY t.name, c.cid
      """)
    columns = Dictionary(grouping: found) { $0[0] }.mapValues { rows in
      rows.map {
        Declaration(
          name: $0[1], type: $0[2].uppercased(), keyPlace: Int($0[3]) ?? 0, isComputed: $0[4] != "0")
      }
    }
    let keys = try Self.strings(
      path, 7,
      """
      SELECT hex(t.name), hex(k.id), hex(k.seq), hex(k."table"), hex(k."from"), hex(k."to"), hex(k.on_delete) \
      \(from), pragma_foreign_key_list(t.name) k \(only)
      """)
    self.keys = Dictionary(grouping: keys) { $0[0] }
    entities =
      list.contains { $0[0] == "Z_PRIMARYKEY" }
      ? try Self.strings(path, 3, "SELECT hex(Z_ENT), hex(Z_NAME), hex(Z_SUPER) FROM Z_PRIMARYKEY LIMIT 4096")
        .filter { Int64($0[0])?.description == $0[0] && !$0[1].isEmpty } : []
  }

  /// The tables of some names, which may be those of entities; all where there are none.
  func tables(_ names: [String]) throws -> [SourceTable] {
    var parts: [TablePart] = []
    for row in list where row[1] == "table" && !row[0].hasPrefix("sqlite_") {
      // Beside its entities, Core Data has tables of its own.
      let isEntity = entities.isEmpty || row[0].hasPrefix("Z") && !row[0].hasPrefix("Z_") || joins(row[0])
      if isEntity || names.contains(row[0]) { parts += try self.parts(of: row[0]) }
      guard parts.count <= 1000 else { throw ToolError(.failed, "'\(path)' has more than 1000 tables") }
    }
    for name in names where !parts.contains(where: { $0.table == name || $0.name == name }) {
      if list.contains(where: { $0[0] == name && $0[1] == "view" }) {
        throw ToolError(
          .failed, "'\(name)' is a view, whose rows have no numbers of their own",
          hint: "make a table of it in a copy of the database: CREATE TABLE … AS SELECT * FROM …")
      }
      let known = Set(parts.flatMap { [$0.table, $0.name] }).sorted()
      throw ToolError(
        .failed, "there is no table '\(name)' in '\(path)'",
        hint: known.hint(for: name) ?? (known.isEmpty ? nil : "there are \(known.joined(separator: ", "))"))
    }
    if !names.isEmpty { parts.removeAll { !names.contains($0.table) && !names.contains($0.name) } }
    return try parts.map(table)
  }

  /// The entity that rows of a table are of, or those, where it has parents and children.
  private func parts(of table: String) throws -> [TablePart] {
    let isCoreData = columns[table]?.contains { $0.name == "Z_PK" } ?? false
    guard isCoreData, !entities.isEmpty, columns[table]?.contains(where: { $0.name == "Z_ENT" }) ?? false
    else {
      var part = TablePart(
        table: table, name: isCoreData && table.hasPrefix("Z") ? table.dropFirst().lowercased() : table)
      // A table between two entities is called by the first, and by what it calls the other.
      if let (number, rest) = Self.numbered(table), let entity = entities.first(where: { $0[0] == number }) {
        part.name = "\(entity[1])_\(rest.lowercased())"
      }
      return [part]
    }
    let found = try Self.strings(
      path, 1, "SELECT DISTINCT hex(Z_ENT) FROM \(SourceTable.quoted(table)) ORDER BY Z_ENT LIMIT 65536")
    if found.isEmpty {
      let entity = entities.first { "Z" + $0[1].uppercased() == table }
      return [TablePart(table: table, name: entity?[1] ?? table.dropFirst().lowercased())]
    }
    return try found.map { row in
      guard let entity = entities.first(where: { $0[0] == row[0] }) else {
        throw ToolError(
          .failed, "'\(table)' has rows of an entity that Z_PRIMARYKEY does not name: Z_ENT is '\(row[0])'")
      }
      return TablePart(table: table, name: entity[1], entity: entity[0], isOnly: found.count == 1)
    }
  }

  /// The number and the rest of `Z_12TAGS`.
  private static func numbered(_ name: String) -> (number: String, rest: Substring)? {
    let rest = name.hasPrefix("Z_") ? name.dropFirst(2) : ""
    let number = rest.prefix { ("0"..."9").contains($0) }
    return number.isEmpty || number.count == rest.count ? nil : (String(number), rest.dropFirst(number.count))
  }

  /// Whether a table of Core Data says which rows of two entities belong together.
  private func joins(_ table: String) -> Bool { !entities.isEmpty && Self.numbered(table) != nil }

  private func table(_ part: TablePart) throws -> SourceTable {
    let (table, found) = (part.table, columns[part.table] ?? [])
    let isCoreData = found.contains { $0.name == "Z_PK" }
    let taken = found.filter { !$0.isComputed && (!isCoreData || !Self.bookkeeping.contains($0.name)) }
    let references = try references(of: table, taken)
    let columns = taken.map { declaration in
      let name = declaration.name
      var column = SourceColumn(name)
      if isCoreData, name.hasPrefix("Z") { column.name = name.dropFirst().lowercased() }
      if joins(table) { column.name = Self.numbered(name)?.rest.lowercased() ?? name }
      (column.declared, column.isCoreData) = (declaration.type, isCoreData)
      column.reference = references[name]
      let (quoted, other) = (SourceTable.quoted(name), "NOT IN ('blob', 'null')")
      column.mixedHint =
        "in a copy of the database: UPDATE \(SourceTable.quoted(table)) SET \(quoted) = CAST(\(quoted) AS BLOB) WHERE typeof(\(quoted)) \(other)"
      return column
    }
    let isWithoutRowID = list.contains { $0[0] == table && $0[2] == "1" }
    // The rows, each a line: its number, and its values as `rows` has them.
    let query = Self.rows(table, taken.map(\.name), found, isWithoutRowID: isWithoutRowID, part.entity)
    let key = found.filter { $0.keyPlace > 0 }
    let path = path
    return try SourceTable(
      name: part.name, identity: "sqlite \(table)", columns: columns,
      dropped: found.map(\.name).filter { name in !taken.contains { $0.name == name } },
      numberColumn: key.count == 1 && key[0].type == "INTEGER" && !isWithoutRowID ? key[0].name : nil,
      isPart: !part.isOnly, wishes
    ) { body in
      try Self.forEachLine(path, query) { line in
        let parts = line.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false)
        guard parts.count == taken.count + 1, let number = Int64(String(decoding: parts[0], as: UTF8.self))
        else { throw Self.unexpected }
        try body(number, try zip(parts.dropFirst(), taken).map { try Self.cell($0, $1.name, number) })
      }
    }
  }

  // MARK: What columns refer to

  /// The references of a table by its columns: its keys of one column; and in Core Data a number whose column
  /// is called as an entity is, or names its number.
  private func references(of table: String, _ taken: [Declaration]) throws -> [String: SourceReference] {
    var references: [String: SourceReference] = [:]
    for (_, parts) in Dictionary(grouping: keys[table] ?? [], by: { $0[1] }) where parts.count == 1 {
      let (target, column) = (parts[0][3], parts[0][5].lowercased())
      references[parts[0][4]] = SourceReference(
        identity: "sqlite \(target)", column: column.isEmpty ? nil : column, collection: target,
        rule: ExportFormat.rules.first { $0.words == parts[0][6] }?.rule ?? .refuse)
    }
    for column in taken where column.type.contains("INT") {
      let number = joins(table) ? Self.numbered(column.name)?.number : nil
      let entity = entities.first {
        number == nil ? "Z" + $0[1].uppercased() == column.name : $0[0] == number
      }
      guard let entity else { continue }
      references[column.name] = try reference(from: table, column.name, to: entity)
    }
    return references
  }

  /// The reference of a column of Core Data to an entity, whose table may be a parent's; nil where less than half
  /// of its values are rows there: it is a number then, and has its name by chance.
  private func reference(from table: String, _ column: String, to entity: [String]) throws -> SourceReference?
  {
    var root = entity
    for _ in 0..<32 { root = entities.first { $0[0] == root[2] } ?? root }
    let target = "Z" + root[1].uppercased()
    guard columns[target]?.contains(where: { $0.name == "Z_PK" }) ?? false else { return nil }
    let counts = try Self.strings(
      path, 2,
      """
      SELECT hex(count(t.Z_PK) * 2 >= count(*)), hex(total(t.Z_ENT <> \(entity[0])) > 0) FROM \(SourceTable.quoted(table)) s \
      LEFT JOIN \(SourceTable.quoted(target)) t ON t.Z_PK = s.\(SourceTable.quoted(column)) \
      WHERE s.\(SourceTable.quoted(column)) IS NOT NULL
      """)
    guard let counts = counts.first, counts[0] == "1" || joins(table) else { return nil }
    return SourceReference(
      identity: "sqlite \(target)", collection: counts[1] == "0" ? entity[1] : nil, rule: .nullify)
  }

  // MARK: Rows

  private static func rows(
    _ table: String, _ columns: [String], _ found: [Declaration], isWithoutRowID: Bool, _ entity: String?
  ) -> String {
    let key = found.filter { $0.keyPlace > 0 }.sorted { $0.keyPlace < $1.keyPlace }.map {
      SourceTable.quoted($0.name)
    }
    let known = Set(found.map { $0.name.lowercased() })
    let row = ["rowid", "_rowid_", "oid"].first { !known.contains($0) } ?? "rowid"
    let number = isWithoutRowID ? "row_number() OVER (ORDER BY \(key.joined(separator: ", ")))" : row
    let order = isWithoutRowID ? key.joined(separator: ", ") : row
    // A letter for the kind, then digits: nothing in a value is taken for the end of it.
    let values = columns.map(SourceTable.quoted).map { column in
      """
      CASE typeof(\(column)) WHEN 'null' THEN 'N' WHEN 'integer' THEN 'I' || \(column) \
      WHEN 'real' THEN 'R' || printf('%!.26g', \(column)) WHEN 'text' THEN 'T' || hex(\(column)) ELSE 'B' || hex(\(column)) END
      """
    }
    let condition = entity.map { " WHERE CAST(Z_ENT AS TEXT) = '\($0)'" } ?? ""
    return
      "SELECT \(([number] + values).joined(separator: ", ")) FROM \(SourceTable.quoted(table))\(condition) ORDER BY \(order)"
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
      // JSON has no infinity. Seventeen digits are more than a text of a number needs.
      return double.isFinite ? .json(.number(double.description)) : .value(.double(double))
    case UInt8(ascii: "T"):
      guard let bytes = SourceTable.bytes(hex: rest), let text = String(validating: bytes, as: UTF8.self)
      else {
        throw ToolError(.failed, "row \(row), column '\(column)': the text is not UTF-8")
      }
      return .json(.string(text))
    case UInt8(ascii: "B"):
      if let bytes = SourceTable.bytes(hex: rest) { return .value(.bytes(bytes)) }
    default: break
    }
    throw unexpected
  }

  // MARK: The program

  private static let unexpected = ToolError(.failed, "sqlite3 answers otherwise than expected")

  /// The rows of an answer that has so many columns, all in hexadecimal digits.
  private static func strings(_ path: String, _ width: Int, _ sql: String) throws -> [[String]] {
    var rows: [[String]] = []
    try forEachLine(path, sql) { line in
      let parts = line.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false)
      let texts = parts.compactMap { part in
        SourceTable.bytes(hex: part).map { String(decoding: $0, as: UTF8.self) }
      }
      guard texts.count == width, rows.count < 1 << 20 else { throw unexpected }
      rows.append(texts)
    }
    return rows
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

}

extension SourceTable {
  /// A name as SQL has it.
  static func quoted(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }

  static func bytes(hex: some Sequence<UInt8>) -> [UInt8]? {
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
