// SecureNote on a terminal: typed into, and its screen read.

import Foundation
import Testing

@Suite struct SecureNoteTests {
  let bench: Bench
  init() throws { bench = try Bench() }

  private func start(_ options: String..., columns: Int = 80, rows: Int = 24, hasAlternate: Bool = true)
    throws
    -> PseudoTerminal
  {
    try PseudoTerminal(
      "SecureNote", ["my.notelog"] + options, in: bench.folder, columns: columns, rows: rows,
      hasAlternate: hasAlternate)
  }

  /// A new notebook with three notes, open at the list.
  private func begin(_ options: String..., hasAlternate: Bool = true) throws -> PseudoTerminal {
    let app = try PseudoTerminal(
      "SecureNote", ["my.notelog"] + options, in: bench.folder, hasAlternate: hasAlternate)
    try app.expect("a password for your notes:")
    app.type("open sesame\r")
    try app.expect("the same once more:")
    app.type("open sesame\r")
    try app.expect("0 notes")
    try write("Shopping", "rye bread, tea", on: app)
    try write("Lisbon trip", "the night train leaves at nine", on: app)
    try write("漢字 e\u{301}tudes ☕️", "two columns each", on: app)
    return app
  }

  private func write(_ title: String, _ body: String, on app: PseudoTerminal) throws {
    app.type("\u{0E}")
    try app.expect("the first line is the title")
    app.type("\(title)\r\(body)\u{13}")
    try app.expect("'\(title)' on top") { $0.rows[3].hasSuffix(title) && $0.rows.last == "saved" }
  }

  /// Ends it, and sees that it left nothing behind.
  private func leave(_ app: PseudoTerminal, _ location: SourceLocation = #_sourceLocation) throws {
    app.type("\u{11}")
    #expect(app.finish() == 0, sourceLocation: location)
    #expect(app.screen.isEmpty, sourceLocation: location)
    #expect(app.screen.scrollback == [], sourceLocation: location)
    #expect(app.screen.isCursorShown && app.screen.mainCells == nil, sourceLocation: location)
    #expect(app.screen.unknown == [], sourceLocation: location)
  }

  @Test func `the first password is the password, and a wrong one costs twice the time of the one before`()
    throws
  {
    try leave(try begin())
    let app = try start()
    // How many, and of when, is in the clear.
    try app.expect("3 notes, locked")
    #expect(app.screen.rows.filter { $0.hasSuffix("••••••••") }.count == 3)
    for seconds in [1, 2] {
      app.type("open says me\r")
      try app.expect("The password is not right. Wait \(seconds) s.")
      // What is typed meanwhile is not heard.
      app.type("open sesame\r")
      try app.expect("the end of the pause") { $0.rows.last == "Enter: go on   ^Q leave" }
      #expect(app.screen.text.contains("3 notes, locked"))
    }
    app.type("open sesame\r")
    try app.expect("Lisbon trip")
    try leave(app)
  }

  @Test func `a search finds titles and texts as it is typed, whatever the letters' size`() throws {
    let app = try begin()
    app.type("LIS")
    try app.expect("one found") { $0.rows[0].hasSuffix("1 found") && $0.rows[3].hasSuffix("Lisbon trip") }
    #expect(app.screen.rows[1] == "search: LIS" && app.screen.rows[4] == "")
    app.type("\u{7F}\u{7F}\u{7F}tea")
    try app.expect("a text found") { $0.rows[3].hasSuffix("Shopping") }
    app.type("cup")
    try app.expect("0 found")
    app.type("\u{1B}")
    try app.expect("3 notes")
    try leave(app)
  }

  @Test func `a note is read, changed, deleted and brought back`() throws {
    let app = try begin()
    app.type("train\r")
    try app.expect("the night train leaves at nine")
    app.type("e")
    try app.expect("the first line is the title")
    // The next line, its end, two words back; a mark joins its letter.
    app.type("\u{1B}[B\u{1B}[F\u{7F}\u{7F}\u{7F}\u{7F}ten, cafe\u{301}\r\u{1B}[A\u{1B}[H» ")
    try app.expect("» the night train leaves at ten, cafe\u{301}")
    app.type("\u{13}")
    try app.expect("the changed note") { $0.rows[0].hasSuffix("1 found") && $0.rows.last == "saved" }
    app.type("\r")
    try app.expect("» the night train leaves at ten, cafe\u{301}")
    app.type("\u{1B}\u{1B}")
    try app.expect("3 notes")
    app.type("\u{1B}[B\u{04}")
    try app.expect("2 notes")
    #expect(!app.screen.text.contains("漢字"))
    app.type("\u{1A}")
    try app.expect("'漢字 e\u{301}tudes ☕️' is back")
    try app.expect("3 notes")
    try leave(app)
  }

  @Test func `it is drawn anew in a new size, and wide characters keep their columns`() throws {
    let app = try begin()
    app.type("\u{1B}")
    app.resize(columns: 31, rows: 8)
    try app.expect("the rows of a small screen") { $0.rows.last == "Enter read   ^N new   ^D delete" }
    #expect(app.screen.rows[3].hasSuffix("  漢字 e\u{301}tudes"))
    let row = app.screen.cells[3].map(\.text)
    #expect(Array(row[18..<24]) == ["漢", "", "字", "", " ", "e\u{301}"])
    #expect(app.screen.inverseRow == app.screen.rows[3])
    app.resize(columns: 31, rows: 9)
    try app.expect("one row more") {
      $0.rows.last == "Enter read   ^N new   ^D delete" && $0.rows[0] == "SecureNote   3 notes"
    }
    app.resize(columns: 100, rows: 30)
    try app.expect("the rows of a large screen") {
      $0.rows[29].hasSuffix("^Q leave") && $0.rows[5].hasSuffix("Shopping")
    }
    #expect(app.screen.rows[3].hasSuffix("漢字 e\u{301}tudes ☕️"))
    try leave(app)
  }

  @Test func `idle, it seals what is being written, locks, and shows nothing of it any more`() throws {
    let app = try begin("--idle", "5")
    app.type("\u{0E}Half a thought\rabout glaciers")
    try app.expect("about glaciers")
    let shownCount = app.sent.count
    try app.expect("locked, as nobody typed anything")
    try app.expect("4 notes, locked")
    for text in ["Half", "glaciers", "Lisbon", "漢字"] {
      #expect(!app.screen.text.contains(text))
    }
    // Typed blindly it does nothing.
    app.type("e\u{13}\u{04}\r")
    try app.expect("The password is not right.")
    try app.expect("the end of the pause") { $0.rows.last == "Enter: go on   ^Q leave" }
    let sent = String(decoding: app.sent[shownCount...], as: UTF8.self)
    for text in ["Half", "glaciers", "Lisbon", "漢字"] { #expect(!sent.contains(text)) }
    // It goes on where it was.
    app.type("open sesame\r")
    try app.expect("Half a thought\n")
    #expect(app.screen.text.contains("about glaciers"))
    try leave(app)
  }

  @Test func `locked by a key, nothing stays on a terminal that has no other screen`() throws {
    let app = try begin(hasAlternate: false)
    app.type("\u{0C}")
    try app.expect("3 notes, locked")
    for text in ["Shopping", "Lisbon", "漢字"] { #expect(!app.screen.text.contains(text)) }
    try leave(app)
  }

  @Test func `ended from outside, it seals what is being written`() throws {
    let app = try begin()
    app.type("\u{0E}Kept")
    try app.expect("Kept")
    app.send(15)
    #expect(app.finish() == 0)
    #expect(app.screen.isEmpty)
    let again = try start()
    try again.expect("4 notes, locked")
    try leave(again)
  }

  @Test func `what was typed twice and is not the same is asked for again, from the beginning`() throws {
    let new = try start()
    try new.expect("a password for your notes:")
    new.type("open sesame\ropen says me\r")
    try new.expect("these were two passwords: once more")
    #expect(new.screen.text.contains("a password for your notes:"))
    new.type("open sesame\ropen sesame\r")
    try new.expect("0 notes")
    new.type("\u{10}open sesame\rfriend\rfiend\r")
    try new.expect("these were two passwords: once more")
    #expect(new.screen.text.contains("the password so far:"))
    // A wrong one is said when all was typed, and costs a pause.
    new.type("open says me\rfriend\rfriend\r")
    try new.expect("The password is not right. Wait 1 s.")
    try new.expect("the end of the pause") { $0.rows.last == "Enter: go on   ^Q leave" }
    new.type("\u{1B}")
    try new.expect("0 notes")
    try leave(new)
    let again = try start()
    try again.expect("0 notes, locked")
    again.type("open sesame\r")
    try again.expect("search:")
    try leave(again)
  }

  @Test func `a changed password is the only one`() throws {
    let app = try begin()
    app.type("\u{10}")
    try app.expect("the password so far:")
    app.type("open sesame\r")
    try app.expect("the new password:")
    app.type("friend\r")
    try app.expect("the same once more:")
    app.type("friend\r")
    try app.expect("the password is changed")
    app.type("\u{0C}")
    try app.expect("locked")
    app.type("open sesame\r")
    try app.expect("The password is not right.")
    try app.expect("the end of the pause") { $0.rows.last == "Enter: go on   ^Q leave" }
    app.type("friend\r")
    try app.expect("Lisbon trip")
    try leave(app)
  }

  @Test func `the files hold no title, no text and no password`() throws {
    try leave(try begin())
    for file in try bench.bytes(below: ".") {
      for text in ["Lisbon", "lisbon", "night train", "漢字", "open sesame"] {
        #expect(file.bytes.range(of: Data(text.utf8)) == nil, "\(text) in \(file.name)")
      }
    }
  }

  @Test func `a long list is scrolled and searched from end to end`() throws {
    #expect(try bench.run("SecureNote", ["my.notelog", "--fill", "5000"], input: "open sesame\n").code == 0)
    let app = try start(rows: 14)
    try app.expect("5000 notes, locked")
    app.type("open sesame\r")
    try app.expect("the newest") { $0.rows[3].hasSuffix(" 4999") && $0.rows[12].hasSuffix(" 4990") }
    let (up, down) = ("\u{1B}[A", "\u{1B}[B")
    app.type(String(repeating: down, count: 12))
    try app.expect("three rows more") {
      $0.rows[3].hasSuffix(" 4996") && $0.rows[12].hasSuffix(" 4987") && $0.inverseRow == $0.rows[12]
    }
    app.type(String(repeating: up, count: 12))
    try app.expect("the newest") { $0.rows[3].hasSuffix(" 4999") && $0.inverseRow == $0.rows[3] }
    app.type("\u{1B}[6~")
    try app.expect("the second page") { $0.rows[12].hasSuffix(" 4980") }
    app.type("\u{1B}[F")
    try app.expect("the oldest") { $0.rows[12].hasSuffix(" 0") && $0.inverseRow == $0.rows[12] }
    app.type("\u{1B}[5~\u{1B}[5~\u{1B}[A")
    try app.expect("two pages up") { $0.rows[3].hasSuffix(" 29") && $0.inverseRow == $0.rows[11] }
    app.type("e")
    try app.expect("more than 2000 found")
    app.type("\u{7F} 49")
    // 49, 490 to 499, 4900 to 4999.
    try app.expect("111 found")
    app.type("\u{1B}[F")
    try app.expect("the last found") { $0.rows[12].hasSuffix(" 49") }
    try leave(app)
  }
}
