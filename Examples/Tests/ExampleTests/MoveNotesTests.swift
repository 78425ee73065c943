// Notes out of a database of the ancestors', by the program that moves them.

import Foundation
import Testing

@Suite struct MoveNotesTests {
  let bench: Bench
  init() throws { bench = try Bench() }

  private func move(_ words: String..., password: String = "old secret", code: Int32 = 0) throws -> [String] {
    let answer = try bench.run("MoveNotes", ["notes.sqlite"] + words, input: password + "\n")
    #expect(answer.code == code, "\(answer.out)")
    return answer.out.split(separator: "\n").map(String.init)
  }

  @Test func `all rows arrive, their digests are equal, and SecureNote opens them`() throws {
    _ = try move("--make", "1500")
    let answer = try move("moved.notelog")
    #expect(answer[0] == "1500 rows moved, 1500 rows there, 1500 records here")
    #expect(answer[1].suffix(64) == answer[2].suffix(64))
    let app = try PseudoTerminal("SecureNote", ["moved.notelog"], in: bench.folder)
    try app.expect("1500 notes, locked")
    app.type("old secret\r")
    try app.expect("the newest") { $0.rows[3] == "2010-07-06 06:57  Note 1500 漢字" }
    app.type("note 77.\r")
    try app.expect("The text of note 77. More of it.")
  }

  @Test func `stopped half-way, it goes on with what is missing, and notices what is not the same`() throws {
    _ = try move("--make", "300")
    _ = try move("moved.notelog")
    // As if it had been stopped: a row has come since.
    let copy = "INSERT INTO ZNOTE SELECT 301, 1, 1, ZTIMESTAMP, ZTITLE, ZBODY FROM ZNOTE WHERE Z_PK = 7;"
    #expect(try bench.run("/bin/sh", ["-c", "sqlite3 notes.sqlite '\(copy)'"]).code == 0)
    #expect(try move("moved.notelog")[0] == "1 rows moved, 301 rows there, 301 records here")
    // The old scheme can't tell a value that was put elsewhere; the comparison does.
    let swap = "UPDATE ZNOTE SET ZBODY = (SELECT ZBODY FROM ZNOTE WHERE Z_PK = 8) WHERE Z_PK = 9;"
    #expect(try bench.run("/bin/sh", ["-c", "sqlite3 notes.sqlite '\(swap)'"]).code == 0)
    #expect(try move("moved.notelog", code: 1).contains("They are not the same."))
  }

  @Test func `a wrong password moves nothing`() throws {
    _ = try move("--make", "10")
    #expect(try move("moved.notelog", password: "new secret", code: 1)[0].hasPrefix("Row 1 does not open"))
  }
}
