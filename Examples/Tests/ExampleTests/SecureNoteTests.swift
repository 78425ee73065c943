// SecureNote on a terminal: typed into, and its screen read.

import Foundation
import Testing

@Suite(.serialized) struct SecureNoteTests {
  private let folder: Folder
  private var store: String { folder.path + "/notes.notelog" }

  init() throws { folder = try Folder() }

  /// A notebook with a few notes, open.
  private func begin(_ options: [String] = []) throws -> TerminalSession {
    let session = try TerminalSession("SecureNote", [store] + options)
    try session.expect("a password for your notes")
    session.type("correct horse\r")
    try session.expect("the same once more")
    session.type("correct horse\r")
    try session.expect("Welcome")
    try write("Tea with Ada", "the café at four", in: session)
    try write("漢字 list", "two columns each ☕️", in: session)
    return session
  }

  private func write(_ title: String, _ body: String, in session: TerminalSession) throws {
    session.type("\u{0E}")
    try session.expect("title, then text")
    session.type(title + "\r" + body)
    try session.expect(body)
    session.type("\u{13}")
    try session.expect("saved")
    try session.expect("the list", { $0.lines[2].contains(title) })
  }

  @Test func `the first password is the password, and a wrong one is answered later each time`() throws {
    let session = try begin()
    session.type("\u{11}")
    #expect(try session.finish() == 0)
    let again = try TerminalSession("SecureNote", [store])
    // Dates and their count show while it is locked, titles don't.
    try again.expect("••••••••")
    #expect(!again.screen.text.contains("Tea"))
    #expect(again.screen.lines.filter { $0.contains("••••") }.count == 3)
    var pauses: [TimeInterval] = []
    for _ in 0..<3 {
      let begin = Date()
      again.type("wrong\r")
      try again.expect("the password is not right: wait")
      try again.expect("the end of the pause", { !$0.text.contains(": wait") })
      pauses.append(Date().timeIntervalSince(begin))
    }
    #expect(pauses[2] > 1 && pauses[0] < pauses[2])
    again.type("correct horse\r")
    try again.expect("Tea with Ada")
    again.type("\u{11}")
    #expect(try again.finish() == 0)
  }

  @Test func `search as you type, read, edit, delete and undo`() throws {
    let session = try begin()
    session.type("café")
    try session.expect("one note found", { $0.text.contains("1 notes") && $0.text.contains("Tea with Ada") })
    session.type("\r")
    try session.expect("the café at four")
    session.type("e")
    try session.expect("title, then text")
    session.type("\u{1B}[B\u{1B}[F o'clock\u{13}")
    try session.expect("saved")
    session.type("\u{1B}")
    try session.expect("3 notes")
    session.type("o'clock\r")
    try session.expect("the café at four o'clock")
    session.type("\u{1B}")
    try session.expect("search: o'clock")
    session.type("\u{04}")
    try session.expect("deleted")
    try session.expect("   0 notes")
    session.type("\u{1A}")
    try session.expect("it is back")
    try session.expect("1 notes")
    session.type("\u{11}")
    #expect(try session.finish() == 0)
    #expect(session.screen.unknownCount == 0)
  }

  @Test func `a new size is drawn anew, and wide characters stay in their columns`() throws {
    let session = try begin()
    session.resize(columns: 40, lines: 10)
    try session.expect("漢字 list")
    #expect(session.screen.lines.allSatisfy { $0.count <= 40 })
    let line = try #require(session.screen.rows.first { $0.contains("漢") })
    let at = try #require(line.firstIndex(of: "漢"))
    #expect(line[at + 1] == "" && line[at + 2] == "字" && line[at + 4] == " " && line[at + 5] == "l")
    session.resize(columns: 100, lines: 30)
    try session.expect("the last line", { $0.lines[29] == "saved" && $0.text.contains("漢字 list") })
    session.type("\u{11}")
    #expect(try session.finish() == 0)
  }

  @Test func `after an idle while it locks, and nothing stays on the screen or in the scrollback`() throws {
    let session = try begin(["--idle", "1"])
    try session.expect("locked, as nobody typed anything")
    try session.expect("password:")
    #expect(!session.screen.text.contains("Tea"))
    let sentWhenLocked = session.sent.count
    session.type("\u{11}")
    #expect(try session.finish() == 0)
    let last = String(decoding: session.sent[sentWhenLocked...], as: UTF8.self)
    #expect(!last.contains("Tea") && !last.contains("漢字"))
    #expect(last.contains("\u{1B}[3J") && last.hasSuffix("\u{1B}[?1049l"))
    #expect(!session.screen.isAlternate && session.screen.text.allSatisfy { $0.isWhitespace })
    let bytes = try folder.bytes()
    for word in ["Tea", "café", "漢字", "correct horse"] { #expect(bytes.range(of: Data(word.utf8)) == nil) }
  }

  @Test func `a changed password is the only one`() throws {
    let session = try begin()
    session.type("\u{10}")
    try session.expect("the password so far")
    session.type("correct horse\r")
    try session.expect("the new password")
    session.type("battery staple\r")
    try session.expect("the password is changed")
    session.type("\u{0C}")
    try session.expect("locked")
    session.type("correct horse\r")
    try session.expect("the password is not right")
    try session.expect("the end of the pause", { !$0.text.contains(": wait") })
    session.type("battery staple\r")
    try session.expect("Tea with Ada")
    session.type("\u{11}")
    #expect(try session.finish() == 0)
  }

  @Test func `a hundred thousand notes scroll and are searched without a wait that is seen`() throws {
    #expect(try Program.run("SecureNote", [store, "--fill", "100000"], input: "pw\n").code == 0)
    let session = try TerminalSession("SecureNote", [store])
    try session.expect("password:")
    session.type("pw\r")
    try session.expect("100001 notes")
    var waits: [String: TimeInterval] = [:]
    func time(_ what: String, _ keys: String, until holds: (Screen) -> Bool) throws {
      let begin = Date()
      session.type(keys)
      try session.expect(what, holds)
      waits[what] = Date().timeIntervalSince(begin)
    }
    let before = session.screen.text
    try time("a page down", "\u{1B}[6~", until: { $0.text != before && $0.text.contains("100001 notes") })
    try time("the end", "\u{1B}[F", until: { $0.text.contains("2023") })
    try time("a letter", "g", until: { $0.text.contains("search: g▏") })
    try time("three more", "lac", until: { $0.text.contains("search: glac▏") })
    try time("what is nowhere", "qqq", until: { $0.text.contains("   0 notes") })
    print(
      "SecureNote, 100,000 notes:",
      waits.map { "\($0.key) \(Int($0.value * 1000)) ms" }.sorted().joined(separator: ", "))
    // What a quiet machine shows is printed; this is for one that does much else.
    #expect(waits.values.allSatisfy { $0 < 2 })
    session.type("\u{11}")
    #expect(try session.finish() == 0)
  }
}
