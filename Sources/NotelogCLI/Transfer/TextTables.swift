// Tables that are text: comma-separated values (RFC 4180) with names in the first line, and JSON lines.
import Foundation
import Notelog

extension SourceTable {
  /// A table of comma-separated values.
  init(csv path: String) throws {
    var reader = try CSVReader(path: path)
    guard let header = try reader.next() else { throw ToolError(.failed, "'\(path)' has no line with names") }
    let names = header.map(\.text)
    // In quotation marks, it would be a name.
    if header.count == 1, !header[0].isQuoted, names[0].contains(where: { ";\t".contains($0) }) {
      throw ToolError(
        .failed,
        "the names in the first line are separated by \(names[0].contains(";") ? "semicolons" : "tabs")",
        hint: "values are separated by commas: export them so, or put the one name in quotation marks")
    }
    guard Set(names).count == names.count, !names.contains("") else {
      throw ToolError(.failed, "the names in the first line are not all there, or not all different")
    }
    var kinds = Array(repeating: ColumnKinds(), count: names.count)
    var count = 0
    while let row = try reader.next() {
      guard row.count == names.count else {
        throw ToolError(
          .failed, "line \(reader.lineNumber): \(row.count) values, where there are \(names.count) names")
      }
      for (index, cell) in row.enumerated() { kinds[index].count(cell) }
      count += 1
    }
    let columns = try zip(names, kinds).map { name, kinds in
      SourceColumn(name: name, type: try kinds.type(of: name), kinds)
    }
    self.init(textFile: path, "csv", columns, count) { columns, body in
      var reader = try CSVReader(path: path)
      _ = try reader.next()
      var number: Int64 = 0
      while let row = try reader.next() {
        if Interrupt.isRequested { throw ToolError.interrupted }
        number += 1
        guard row.count == columns.count else {
          throw ToolError(.failed, "'\(path)' changes while it is read")
        }
        try body(number, try zip(row, columns).map { try $0.value(as: $1, row: number) })
      }
    }
  }

  /// What a table in a text file is called: as the file, without its folder and its ending.
  private init(
    textFile path: String, _ kind: String, _ columns: [SourceColumn], _ count: Int, rows: @escaping Rows
  ) {
    let name = URL(filePath: path).deletingPathExtension().lastPathComponent
    self.init(name: name, identity: "\(kind) \(name)", columns: columns, rowCount: count, rows: rows)
  }
}

extension ColumnKinds {
  /// A number is one only where printing it gives the cell's characters: 007, +5, 1E5 and 1.50 are text.
  fileprivate mutating func count(_ cell: CSVReader.Cell) {
    if cell.isNothing {
      nothing += 1
    } else if let integer = Int64(cell.text), String(integer) == cell.text {
      count(integer)
    } else if let double = Double(cell.text), double.isFinite, double.description == cell.text {
      doubles += 1
    } else if cell.text == "true" || cell.text == "false" {
      booleans += 1
    } else {
      texts += 1
    }
  }
}

extension CSVReader.Cell {
  fileprivate func value(as column: SourceColumn, row: Int64) throws -> DynamicValue {
    if !isNothing {
      if let value = column.value(text) { return value }
      throw column.refusal(text, row: row)
    }
    if column.isOptional { return .missing }
    // A text that is not optional can be nothing else.
    if column.type == .text { return .text("") }
    throw column.refusal(nil, row: row)
  }
}

/// Reads rows of comma-separated values.
struct CSVReader {
  struct Cell: Equatable {
    var text: String
    /// Whether it stood between quotation marks: then an empty one is an empty text, not nothing.
    var isQuoted: Bool

    var isNothing: Bool { text.isEmpty && !isQuoted }
  }

  /// The most bytes of one value.
  static let cellBytesMax = 16 << 20

  private var lines: LineReader
  private var isFirst = true
  /// The line that was read last.
  var lineNumber: Int { lines.lineNumber }

  init(path: String) throws { lines = try LineReader(path: path) }

  /// The next row; nil at the end. Lines without anything are passed over.
  mutating func next() throws -> [Cell]? {
    while var line = try lines.next() {
      if isFirst, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
      isFirst = false
      if !line.isEmpty, line != [13] { return try row(line) }
    }
    return nil
  }

  private mutating func row(_ first: [UInt8]) throws -> [Cell] {
    var line = first
    var (cells, at): ([Cell], Int) = ([], 0)
    while true {
      var bytes: [UInt8] = []
      let isQuoted = at < line.count && line[at] == UInt8(ascii: "\"")
      if isQuoted {
        at += 1
        while true {
          if at == line.count {
            // The value goes on in the next line.
            guard bytes.count <= Self.cellBytesMax, let more = try lines.next() else {
              throw failure("a value in quotation marks has no end")
            }
            bytes.append(10)
            (line, at) = (more, 0)
          } else if line[at] != UInt8(ascii: "\"") {
            bytes.append(line[at])
            at += 1
          } else if at + 1 < line.count, line[at + 1] == UInt8(ascii: "\"") {
            bytes.append(line[at])
            at += 2
          } else {
            at += 1
            break
          }
        }
        if at < line.count, line[at] == 13, at + 1 == line.count { at += 1 }
      } else {
        // A line's end is LF or CR LF, but between quotation marks: there both are the value's.
        let end = line[at...].firstIndex(of: UInt8(ascii: ","))
        bytes = Array(line[at..<(end ?? (line.last == 13 ? line.count - 1 : line.count))])
        at = end ?? line.count
      }
      guard bytes.count <= Self.cellBytesMax else {
        throw failure("a value is longer than \(Self.cellBytesMax >> 20) MiB")
      }
      guard let text = String(validating: bytes, as: UTF8.self) else { throw failure("a value is not UTF-8") }
      cells.append(Cell(text: text, isQuoted: isQuoted))
      if at >= line.count { return cells }
      guard line[at] == UInt8(ascii: ",") else {
        throw failure("something follows a value in quotation marks")
      }
      at += 1
    }
  }

  private func failure(_ words: String) -> ToolError { ToolError(.failed, "line \(lineNumber): \(words)") }
}

extension SourceTable {
  /// A table of lines of JSON, each an object.
  init(jsonLines path: String) throws {
    var names: [String] = []
    var kinds: [String: ColumnKinds] = [:]
    var count = 0
    try Self.forEachObject(path) { _, members in
      count += 1
      for member in members {
        if kinds[member.name] == nil {
          names.append(member.name)
          guard names.count <= 4096 else {
            throw ToolError(.failed, "there are more than 4096 different members")
          }
        }
        kinds[member.name, default: ColumnKinds()].count(member.value)
      }
    }
    let columns = try names.map { name in
      var kinds = kinds[name] ?? ColumnKinds()
      kinds.nothing = count - kinds.integers - kinds.doubles - kinds.booleans - kinds.texts - kinds.documents
      return SourceColumn(name: name, type: try kinds.type(of: name), kinds)
    }
    self.init(textFile: path, "jsonl", columns, count) { columns, body in
      try Self.forEachObject(path) { number, members in
        let known = Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
        try body(number, try columns.map { try Self.value(known[$0.name] ?? .null, $0, row: number) })
      }
    }
  }

  private static func value(
    _ json: JSONValue, _ column: SourceColumn, row: Int64
  ) throws -> DynamicValue {
    let value: DynamicValue? =
      switch (json, column.type) {
      case (.null, _): column.isOptional ? .missing : nil
      case (.string(let text), _): column.value(text)
      case (.number(let text), .text): .text(text)
      case (.boolean(let value), .text): .text(value ? "true" : "false")
      case (.array, .json), (.object, .json): .json(json.text)
      case (.number(let text), .boolean): DynamicValue(number: text, as: .boolean)
      // A number says of no moment since when it counts.
      default: DynamicValue(json: json, as: column.type)
      }
    guard let value else {
      throw column.refusal(json == .null ? nil : String(decoding: json.text, as: UTF8.self), row: row)
    }
    return value
  }

  private static func forEachObject(
    _ path: String, _ body: (Int64, [JSONValue.Member]) throws -> Void
  ) throws {
    var reader = try LineReader(path: path)
    while let line = try reader.next() {
      if Interrupt.isRequested { throw ToolError.interrupted }
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
      let place = "line \(reader.lineNumber): "
      guard case .object(let members) = try JSONReader.read(line, errorPrefix: place) else {
        throw ToolError(.failed, place + "it is no object")
      }
      try body(Int64(reader.lineNumber), members)
    }
  }
}

extension ColumnKinds {
  fileprivate mutating func count(_ json: JSONValue) {
    switch json {
    case .null: nothing += 1
    case .boolean: booleans += 1
    case .number(let text): count(number: text)
    case .string: texts += 1
    case .array, .object: documents += 1
    }
  }

  /// A number of JSON is one however it is written, but for what has more digits than any number keeps.
  private mutating func count(number text: String) {
    if let integer = Int64(text) {
      count(integer)
    } else if text.utf8.contains(where: { ".eE".utf8.contains($0) }), Double(text)?.isFinite ?? false {
      doubles += 1
    } else {
      texts += 1
      longNumbers += 1
    }
  }
}

extension DynamicValue {
  /// A number as a value of a type; nil where it is none.
  init?(number text: String, as type: FieldType) {
    switch type {
    case .date:
      guard let seconds = Double(text) else { return nil }
      self = .date(Date(timeIntervalSinceReferenceDate: seconds))
    case .boolean:
      guard text == "0" || text == "1" else { return nil }
      self = .boolean(text == "1")
    case .text: self = .text(text)
    default: self.init(json: .number(text), as: type)
    }
  }
}
