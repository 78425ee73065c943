// What is a value of its type, and what is refused, on the way in as on the way out: FORMAT.md 7.3.

import Foundation
import NotelogBase
import Testing

@testable import Notelog

/// Bytes that claim to be a value of a type: what somebody else's writer may have stored.
private protocol Claim: StoredValue {
  var bytes: [UInt8] { get }
  init(bytes: [UInt8])
}

extension Claim {
  var _storedByteCount: Int { bytes.count }
  func _store(into target: inout MutableRawSpan) { target.copy(bytes.rawSpan) }
  init(_loading bytes: RawSpan) throws { self.init(bytes: bytes.array()) }
  init(_ text: String) { self.init(bytes: Array(text.utf8)) }
}

private struct ClaimedText: Claim {
  static let fieldType = FieldType.text
  var bytes: [UInt8]
}
private struct ClaimedURL: Claim {
  static let fieldType = FieldType.url
  var bytes: [UInt8]
}
private struct ClaimedJSON: Claim {
  static let fieldType = FieldType.json
  var bytes: [UInt8]
}

/// What another program wrote.
private struct Written: Record {
  var id = RecordID()
  var text = ClaimedText("text")
  var link = ClaimedURL("https://example.org/")
  var plain = ClaimedJSON("{}")
  var sealed = ClaimedJSON("{}")
  static let schema = Schema<Written>("page") {
    Plain("text", \.text)
    Plain("link", \.link)
    Plain("plain", \.plain)
    Sealed("sealed", \.sealed)
  }
}

/// The same as an app reads it.
private struct Page: Record {
  var id = RecordID()
  var text = ""
  var link = URL(filePath: "/")
  var plain: [String: Int] = [:]
  var sealed: [String: Int] = [:]
  static let schema = Schema<Page>("page") {
    Plain("text", \.text)
    Plain("link", \.link)
    Plain("plain", json: \.plain)
    Sealed("sealed", json: \.sealed)
  }
}

@Suite struct ValueGrammarTests {
  private static let documents = [
    "{}", "[]", "0", "-0", "1.5e-3", "1E+2", "-10.25", "true", "false", "null", "\"\"",
    "\"é\\u00e9\\ud83d\\ude00\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", " [ 1 , \"a\" , { \"b\" : [ ] , \"c\" : { } } ] \n\r\t", "[[],{}]",
    "{\"a\":1,\"a\":2}",
    String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000), "\"\\ud800\"",
    "\"\u{7F}\u{2028}\"",
  ]
  private static let noDocuments = [
    "", " ", "{", "]", "{\"a\":1,}", "[1,]", "[,1]", "{} {}", "1 2", "\u{FEFF}{}", "{\"a\"}", "{\"a\":}",
    "{a:1}", "{1:1}", "{,}",
    "[1 2]", "[1}", "{\"a\":1]", "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "NaN", "Infinity", "tru",
    "trueish", "'a'",
    "\"a", "\"a\nb\"", "\"\t\"", "\"\\x\"", "\"\\u12g4\"", "\"\\u123", "// a\n1", "\0", "1\0", "[1]]",
    "\u{A0}1",
  ]
  private static let links = [
    "https://example.org/a?b=c#d", "mailto:somebody@example.org", "a/b", "/a", "?q", "#f", "//host/p",
    "urn:isbn:1", "file:///tmp/x%20y",
    "https://u:p@[::1]:80/%7Ea;b=c,d'()*", "%25",
  ]
  private static let noLinks = [
    "", "%zz", "https://example.org/%zz", "a%", "a%2", "a b", " a", "é", "https://example.org/é", "<a>", "\"",
    "a\\b", "a^b", "a|b",
    "{a}", "`", "a\nb", "a\0b", "https://[::1",
  ]

  /// The bug: what Foundation's parsers made of it counted. They take a comma too many, and a byte order
  /// mark, and escape percent signs.
  @Test func `a document is one JSON text of RFC 8259, a URL a reference of RFC 3986, and nothing else`()
    throws
  {
    for text in Self.documents {
      #expect(throws: Never.self, "\(text.prefix(20))") { try EncodedJSON(utf8: Array(text.utf8)) }
    }
    for text in Self.noDocuments {
      #expect(throws: NotelogError(.invalidArgument, ""), "\(text)") {
        try EncodedJSON(utf8: Array(text.utf8))
      }
    }
    for bytes: [UInt8] in [
      [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0xEF, 0xBB, 0xBF, 0x31], [0x31, 0, 0, 0],
    ] {
      #expect(throws: NotelogError(.invalidArgument, "")) { try EncodedJSON(utf8: bytes) }
    }
    for text in Self.links {
      #expect(URL(exactly: text)?.absoluteString == text, "\(text)")
    }
    for text in Self.noLinks { #expect(URL(exactly: text) == nil, "\(text)") }
  }

  @Test func `what is no value of its type is not served, and not stored`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var sound = Written()
    (sound.plain, sound.sealed) = (ClaimedJSON(#"{"a":1}"#), ClaimedJSON(#"{"a":2}"#))
    let records =
      [sound]
      + Self.noDocuments.map { text in
        var record = Written()
        (record.plain, record.sealed) = (ClaimedJSON(text), ClaimedJSON(text))
        return record
      }
    let links = Self.noLinks.map { text in
      var record = Written()
      record.link = ClaimedURL(text)
      return record
    }
    var noText = Written()
    noText.text = ClaimedText(bytes: [0x61, 0xC3])
    try store.putAll(records + links + [noText])
    let pages = try store.collection("page")
    #expect(
      try store.get(Page.self, sound.id)?.plain == ["a": 1]
        && store.get(Page.self, sound.id)?.sealed == ["a": 2])
    for record in records.dropFirst() {
      let (page, dynamic) = (
        try #require(try store.get(Page.self, record.id)), try #require(try pages.get(record.id))
      )
      #expect(throws: NotelogError(.damaged, "")) { try page.plain }
      #expect(throws: NotelogError(.damaged, "")) { try page.sealed }
      for name in ["plain", "sealed"] {
        #expect(throws: NotelogError(.damaged, "")) { try dynamic.value(name) }
      }
      #expect(try page.text == "text")
    }
    for record in links {
      let (page, dynamic) = (
        try #require(try store.get(Page.self, record.id)), try #require(try pages.get(record.id))
      )
      #expect(throws: NotelogError(.damaged, "")) { try page.link }
      #expect(throws: NotelogError(.damaged, "")) { try dynamic.value("link") }
    }
    #expect(throws: NotelogError(.damaged, "")) { try store.get(Page.self, noText.id)?.text }
    for value in [DynamicValue.json(Array("{".utf8))] {
      #expect(throws: NotelogError(.invalidArgument, "")) { try pages.update(sound.id, ["plain": value]) }
      #expect(throws: NotelogError(.invalidArgument, "")) { try pages.add(["sealed": value]) }
    }
    try store.close()
  }
}
