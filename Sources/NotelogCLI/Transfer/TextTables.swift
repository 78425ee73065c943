// Tables that are text: comma-separated values (RFC 4180) with names in the first line, and JSON lines.

/// Opens what is imported anew, for each going through it.
typealias Opening = () throws -> LineReader

extension SourceTable {
  /// A table of comma-separated values.
  init(csv file: @escaping Opening, name: String, _ wishes: ImportWishes) throws {
    var reader = try file()
    guard let header = try reader.nextRow() else {
      throw ToolError(.failed, "the file has no line with names")
    }
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
    let (name, digest) = (wishes.name ?? name, try Self.digest(file))
    try self.init(name: name, identity: digest + name, columns: names.map(SourceColumn.init), wishes) {
      body in
      var reader = try file()
      _ = try reader.nextRow()
      var number: Int64 = 0
      while let row = try reader.nextRow() {
        number += 1
        guard row.count == names.count else {
          throw ToolError(
            .failed, "line \(reader.lineNumber): \(row.count) values, where there are \(names.count) names")
        }
        try body(number, row.map { $0.text.isEmpty && !$0.isQuoted ? .empty : .word($0.text) })
      }
    }
  }
}

extension SourceTable {
  /// What tells a file from all others, whatever it is called: its content.
  private static func digest(_ file: Opening) throws -> String {
    var reader = try file()
    var hash = Self.hash("text\n".utf8)
    while let line = try reader.next() { hash = Self.hash([10], Self.hash(line, hash)) }
    return "\(hash) "
  }
}

extension LineReader {
  /// Values, and whether each stood between quotation marks: then an empty one is an empty text, not nothing.
  typealias Row = [(text: String, isQuoted: Bool)]

  /// The most bytes of one value: of 16 MiB in base64, and some.
  private static let cellBytesMax = 24 << 20

  /// The next row of comma-separated values; nil at the end. Lines without anything are passed over.
  mutating func nextRow() throws -> Row? {
    while var line = try next() {
      if lineNumber == 1, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
      if !line.isEmpty, line != [13] { return try row(line) }
    }
    return nil
  }

  private mutating func row(_ first: [UInt8]) throws -> Row {
    var line = first
    var (cells, at): (Row, Int) = ([], 0)
    while true {
      var bytes: [UInt8] = []
      let isQuoted = at < line.count && line[at] == UInt8(ascii: "\"")
      if isQuoted {
        at += 1
        while true {
          if let mark = line[at...].firstIndex(of: UInt8(ascii: "\"")) {
            bytes += line[at..<mark]
            at = mark + 1
            guard at < line.count, line[at] == UInt8(ascii: "\"") else { break }
            // Two of them are one of the value's.
            bytes.append(line[at])
            at += 1
          } else {
            // The value goes on in the next line.
            bytes += line[at...]
            guard bytes.count <= Self.cellBytesMax, let more = try next() else {
              throw failure("a value in quotation marks has no end")
            }
            bytes.append(10)
            (line, at) = (more, 0)
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
      cells.append((text, isQuoted))
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
  init(jsonLines file: @escaping Opening, name: String, _ wishes: ImportWishes) throws {
    var names: [String] = []
    var known: Set<String> = []
    try Self.forEachObject(file) { _, members in
      names += members.map(\.name).filter { known.insert($0).inserted }
      guard names.count <= 4096 else {
        throw ToolError(.failed, "there are more than 4096 different members")
      }
    }
    let (columns, name, digest) = (names, wishes.name ?? name, try Self.digest(file))
    try self.init(name: name, identity: digest + name, columns: names.map(SourceColumn.init), wishes) {
      body in
      try Self.forEachObject(file) { number, members in
        let values = Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
        try body(number, columns.map { .json(values[$0] ?? .null) })
      }
    }
  }

  private static func forEachObject(
    _ file: Opening, _ body: (Int64, [JSONValue.Member]) throws -> Void
  ) throws {
    var reader = try file()
    while let line = try reader.next() {
      if line.isBlank { continue }
      let place = "line \(reader.lineNumber): "
      guard case .object(let members) = try JSONReader.read(line, errorPrefix: place) else {
        throw ToolError(.failed, place + "it is no object")
      }
      try body(Int64(reader.lineNumber), members)
    }
  }
}

extension [UInt8] {
  /// Whether a line holds nothing.
  var isBlank: Bool { allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D } }
}
