// A Core Data store's table of notes, read and made by the sqlite3 command.

import Foundation

/// A row as it lies there: the time in the clear, title and body sealed the old way.
struct OldRow: Sendable {
  /// Z_PK, by which Core Data tells rows apart.
  var number: Int
  /// Seconds since 2001.
  var time: Double
  var title: [UInt8]
  var body: [UInt8]
}

struct Database {
  let path: String

  /// The rows behind one, in order of their numbers.
  func rows(after number: Int, limit: Int) throws -> [OldRow] {
    let answer = try sqlite(
      """
      SELECT Z_PK, printf('%!.17g', ZTIMESTAMP), hex(ZTITLE), hex(ZBODY) FROM ZNOTE
      WHERE Z_PK > \(number) ORDER BY Z_PK LIMIT \(limit);
      """)
    return try answer.split(separator: "\n").map { line in
      let parts = line.split(separator: "|", omittingEmptySubsequences: false)
      guard parts.count == 4, let number = Int(parts[0]), let time = Double(parts[1]),
        let title = Self.bytes(parts[2]), let body = Self.bytes(parts[3])
      else { throw MoveError(message: "A row is not as expected: \(line.prefix(60))") }
      return OldRow(number: number, time: time, title: title, body: body)
    }
  }

  func count() throws -> Int {
    Int(try sqlite("SELECT count(*) FROM ZNOTE;").trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
  }

  /// Makes the table with some rows.
  func make(_ rows: [OldRow]) throws {
    let values = rows.map { row in
      "INSERT INTO ZNOTE VALUES(\(row.number), 1, 1, \(row.time), X'\(Self.hex(row.title))', X'\(Self.hex(row.body))');"
    }
    _ = try sqlite(
      """
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTIMESTAMP TIMESTAMP, ZTITLE BLOB, ZBODY BLOB);
      BEGIN;
      \(values.joined(separator: "\n"))
      COMMIT;
      """)
  }

  private func sqlite(_ statements: String) throws -> String {
    let script = FileManager.default.temporaryDirectory.appending(path: "move-\(UUID().uuidString).sql")
    try Data(statements.utf8).write(to: script)
    defer { try? FileManager.default.removeItem(at: script) }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["sqlite3", "-bail", "-batch", path]
    let output = Pipe()
    process.standardInput = try FileHandle(forReadingFrom: script)
    process.standardOutput = output
    try process.run()
    let answer = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw MoveError(message: "sqlite3 failed on \(path).") }
    return String(decoding: answer, as: UTF8.self)
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  private static func bytes(_ hex: Substring) -> [UInt8]? {
    let digits = hex.utf8.compactMap { UInt8(Character(UnicodeScalar($0)).hexDigitValue ?? 16) }
    guard digits.count % 2 == 0, !digits.contains(16) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}

struct MoveError: LocalizedError {
  var message: String
  var errorDescription: String? { message }
}
