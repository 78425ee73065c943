// JSON out and in: exact escapes, round trips, and hostile text refused with its place.
import Testing

@testable import NotelogCLI

@Suite struct JSONTests {
  static func read(_ text: String) throws -> JSONValue { try JSONReader.read(Array(text.utf8)) }

  @Test func `a document is written with its commas, names and escapes`() throws {
    let nothing: String? = nil
    let json: JSONValue = [
      "text": "a\"b\\c\n\r\t\u{1}\u{7F}é🙂/",
      "list": [Int64(-7).json, .number("0.1"), .boolean(true), .null, [:], .array([])],
      "nothing": nothing, "big": UInt64.max,
    ]
    let expected =
      #"{"text":"a\"b\\c\n\r\t\u0001\u007fé🙂/","list":[-7,0.1,true,null,{},[]],"big":18446744073709551615}"#
    #expect(json.text == expected)
  }

  /// The bug: C1 control characters, and those that turn the direction of writing, went to the terminal as
  /// they were.
  @Test func `no character that moves a cursor or turns a line is written as it is`() throws {
    let unsafe = [0...0x1F, 0x7F...0x9F, 0x61C...0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069]
    for code in unsafe.joined().compactMap({ Unicode.Scalar(UInt32($0)) }) {
      let text = JSONValue.object([.init(name: "a\(code)", value: .string("\(code)b"))]).text
      #expect(!text.unicodeScalars.contains(code), "\(code.value)")
    }
    let turned = JSONValue.string("x\u{202E}y\u{9B}31m").text
    #expect(turned == #""x\u202ey\u009b31m""#)
  }

  @Test func `every character below U+3000 survives being written and read`() throws {
    for code in 0..<0x3000 {
      let text = Unicode.Scalar(code).map { String(Character($0)) } ?? ""
      #expect(try Self.read(JSONValue.string(text).text) == .string(text))
    }
  }

  @Test(arguments: [
    ("null", JSONValue.null), (" true ", .boolean(true)), ("-0.5e+10", .number("-0.5e+10")),
    ("[1,[],{}]", .array([.number("1"), .array([]), .object([])])),
    (#""\u00e9\ud83d\ude42\/\b""#, .string("é🙂/\u{8}")),
    (
      #"{"a":1,"b":"x"}"#,
      .object([.init(name: "a", value: .number("1")), .init(name: "b", value: .string("x"))])
    ),
  ])
  func `JSON is read`(text: String, value: JSONValue) throws {
    #expect(try Self.read(text) == value)
  }

  @Test(arguments: [
    ("", 0), ("nul", 0), ("01", 1), ("1.", 2), ("-", 1), ("1e", 2), ("+1", 0), (".5", 0), ("NaN", 0),
    ("[1,]", 3), ("[1 2]", 3), ("{\"a\"1}", 4), ("{\"a\":1,}", 7), ("{a:1}", 1), ("{\"a\":1,\"a\":2}", 7),
    ("\"a", 2), ("\"\n\"", 1), (#""\x""#, 3), (#""\u12g4""#, 5), (#""\ud83d""#, 7), (#""\ud83dx""#, 7),
    (#""\ude42""#, 7), (#""\ud83d\u0041""#, 13), ("1 1", 2), ("[", 1), ("'a'", 0), ("\u{FEFF}1", 0),
  ])
  func `text that is not JSON is refused at its place`(text: String, offset: Int) throws {
    let failure = try #require(throws: ToolError.self) { try Self.read(text) }
    #expect(failure.message.hasSuffix(" (at byte \(offset))"), "\(failure.message)")
  }

  @Test func `bytes that are not UTF-8 are refused`() {
    #expect(throws: ToolError(.failed, "a string is not UTF-8 (at byte 0)")) {
      try JSONReader.read([0x22, 0xC3, 0x22])
    }
  }

  @Test func `depth and members are bounded`() throws {
    let deep = { (depth: Int) in String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
    #expect(throws: Never.self) { try Self.read(deep(JSONReader.depthMax + 1)) }
    #expect(throws: ToolError.self) { try Self.read(deep(JSONReader.depthMax + 2)) }
    #expect(throws: ToolError.self) { try Self.read(String(repeating: "[", count: 1_000_000)) }
    let wide = (0...JSONReader.membersMax).map { "\"\($0)\":0" }.joined(separator: ",")
    #expect(throws: ToolError.self) { try Self.read("{\(wide)}") }
  }
}
