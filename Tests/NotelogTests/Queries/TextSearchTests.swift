// Texts that are looked for without regard to case and accents.

import Foundation
import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog

private struct Page: Record {
  var id = RecordID()
  var title = ""
  var body: String?
  var number = 0
  static let schema = Schema<Page>("page") {
    Plain("title", \.title, indexed: true)
    Sealed("body", \.body)
    Plain("number", \.number)
  }
}

@Suite struct TextSearchTests {
  /// Whether a text holds another, and begins with it.
  private func isIn(_ pattern: String, _ text: String) throws -> (anywhere: Bool, atStart: Bool) {
    let pattern = TextPattern(pattern, ignoringCaseAndAccents: true)
    let bytes = Array(text.utf8)
    return (try pattern.isIn(bytes.rawSpan), try pattern.isIn(bytes.rawSpan, atStart: true))
  }

  @Test(arguments: [
    ("cafe", "Café au lait"), ("CAFÉ", "cafe au lait"), ("cafe\u{301}", "CAF\u{C9}"), ("", ""), ("", "日記"),
    ("Ångström", "ANGSTROM"), ("ангел", "АНГЕЛ"), ("ΚΑΦΕ", "καφέ"), ("straße", "STRASSE"), ("k", "\u{212A}"),
    ("日記", "日記です"), ("한", "\u{1112}\u{1161}\u{11AB}글"), ("\u{1112}\u{1161}\u{11AB}", "한글"),
    ("ǆ", "Ǆ"), ("a@[`{z", "A@[`{Z"), ("istanbul", "\u{130}stanbul"),
  ])
  func `case, accents and how a letter is composed make no difference`(_ pattern: String, _ text: String)
    throws
  {
    #expect(try isIn(pattern, text) == (true, true))
    #expect(try isIn(pattern, "訳 " + text) == (true, pattern.isEmpty))
    #expect(try isIn(pattern, "in a page: \(text)") == (true, pattern.isEmpty))
  }

  @Test(arguments: [
    ("cafe", "caf"), ("cafes", "café s"), ("日記", "diary"), ("日記", "日"), ("[", "{"), ("@", "`"), ("k", ""),
    ("\u{0}", " "), ("か", "が") as (String, String),
  ])
  func `other letters do`(_ pattern: String, _ text: String) throws {
    #expect(try isIn(pattern, text) == (false, false))
  }

  @Test func `a text in ASCII is compared as the same text is that has other letters too`() throws {
    var random = SeededGenerator(seed: 3)
    func text(_ count: Int) -> String {
      String(
        decoding: (0..<count).map { _ in [UInt8](" aAbBzZ@[`{0".utf8)[random.pick(0..<12)] }, as: UTF8.self)
    }
    var found = 0
    for _ in 0..<3_000 {
      let (pattern, value) = (text(random.pick(0..<4)), text(random.pick(0..<30)))
      let expected = value.lowercased().utf8.map(\.self)
      let wanted = pattern.lowercased().utf8.map(\.self)
      let places = (0...expected.count).filter { expected[$0...].starts(with: wanted) }
      let answer = (!places.isEmpty, places.first == 0)
      #expect(try isIn(pattern, value) == answer, "\(pattern) in \(value)")
      #expect(try isIn(pattern, value + "日") == answer, "\(pattern) in \(value)日")
      found += places.isEmpty ? 0 : 1
    }
    #expect(found > 500 && found < 2_900)
  }

  @Test func `bytes that are no text are damage, and never a trap`() {
    for bytes: [UInt8] in [[0xFF], [0x61, 0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80]] {
      #expect(throws: NotelogError(.damaged, "")) {
        try TextPattern("a", ignoringCaseAndAccents: true).isIn(bytes.rawSpan)
      }
    }
  }

  @Test func `plain and sealed fields are searched, by key paths and by names`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll([
      Page(title: "Café", body: "Crème brûlée", number: 1), Page(title: "CAFETERIA", body: nil, number: 2),
      Page(title: "tea", body: "no CREME", number: 3),
    ])
    let pages = store.query(Page.self)
    func numbers(_ query: Query<Page>) throws -> [Int] {
      try query.entries().map { try $0.number }.sorted()
    }
    #expect(try numbers(pages.where(\.title, hasPrefix: "cafe", ignoringCaseAndAccents: true)) == [1, 2])
    #expect(try numbers(pages.where(\.title, contains: "fé", ignoringCaseAndAccents: true)) == [1, 2])
    #expect(try numbers(pages.where(\.body, contains: "creme", ignoringCaseAndAccents: true)) == [1, 3])
    #expect(try numbers(pages.where(\.body, hasPrefix: "CREME", ignoringCaseAndAccents: true)) == [1])
    #expect(try numbers(pages.where(!.field(\.body, contains: "", ignoringCaseAndAccents: true))) == [2])
    // Byte by byte, as without a word of it.
    #expect(try numbers(pages.where(\.title, contains: "af", ignoringCaseAndAccents: false)) == [1])
    #expect(try numbers(pages.where(\.title, contains: "fe")) == [])
    #expect(try numbers(pages.where(\.title, hasPrefix: "Cafe")) == [])
    let named = try store.collection("page").query()
    func count(_ name: String, _ text: String, _ isIgnoring: Bool = false) throws -> Int {
      try named.where(.field(name, contains: text, ignoringCaseAndAccents: isIgnoring)).count()
    }
    #expect(try count("body", "creme", true) == 2 && count("body", "CREME") == 1 && count("body", "") == 2)
    #expect(throws: NotelogError(.notFound, "")) { try count("bdoy", "") }
    #expect(throws: NotelogError(.typeMismatch, "")) { try count("number", "1") }
    store.lock()
    #expect(throws: NotelogError(.locked, "")) { try count("body", "creme", true) }
    #expect(try count("title", "cafe", true) == 2)
  }
}
