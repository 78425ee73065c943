// Values through JSON and back, and `name=value` on a command line.
import Foundation
import Notelog
import Testing

@testable import NotelogCLI

@Suite struct ValueTests {
  static let values: [(DynamicValue, FieldType, String)] = [
    (.missing, .text, "null"), (.boolean(true), .boolean, "true"), (.integer(.min), .integer, "\(Int64.min)"),
    (.unsigned(.max), .unsigned, "\(UInt64.max)"), (.double(-0.0), .double, "-0.0"),
    (.double(0.1), .double, "0.1"), (.double(.infinity), .double, #"{"double":"inf"}"#),
    (.double(1e300), .double, "1e+300"), (.text("a\n\"é"), .text, #""a\n\"é""#),
    (.bytes([0, 255]), .bytes, #"{"base64":"AP8="}"#), (.bytes([]), .bytes, #"{"base64":""}"#),
    (.date(Date(timeIntervalSinceReferenceDate: 0.25)), .date, #""2001-01-01T00:00:00.25Z""#),
    (.date(Date(timeIntervalSinceReferenceDate: 1e18)), .date, #"{"secondsSince2001":"1e+18"}"#),
    (.json(Array(#"{"a": 1}"#.utf8)), .json, #"{"json":"{\"a\": 1}"}"#),
  ]

  @Test(arguments: values)
  func `a value survives JSON`(value: DynamicValue, type: FieldType, text: String) throws {
    let bytes = Array(value.json.text.utf8)
    #expect(String(decoding: bytes, as: UTF8.self) == text)
    #expect(type.value(json: try JSONReader.read(bytes)) == value)
  }

  @Test(arguments: [
    ("1.5", FieldType.integer), ("-1", .unsigned), ("18446744073709551616", .unsigned), ("1e999", .double),
    ("true", .text), (#""x""#, .date), (#""2001-02-30""#, .date), (#"{"base64":"!"}"#, .bytes),
    (#"{"base64":"","x":1}"#, .bytes), (#"{"sealed":12,"key":1}"#, .text), (#"{"error":"x"}"#, .bytes),
    (#"{"json":"{"}"#, .json), (#""no uuid""#, .uuid), ("[]", .text), ("1", .boolean),
  ])
  func `JSON that is no value of the type is refused`(text: String, type: FieldType) throws {
    #expect(type.value(json: try JSONReader.read(Array(text.utf8))) == nil)
  }

  @Test(arguments: [
    ("true", FieldType.boolean, DynamicValue.boolean(true)), ("-12", .integer, .integer(-12)),
    ("+5", .integer, .integer(5)), ("18446744073709551615", .unsigned, .unsigned(.max)),
    ("0.1", .double, .double(0.1)), ("inf", .double, .double(.infinity)),
    ("any text", .text, .text("any text")),
    ("2001-01-01T00:00:00.250Z", .date, .date(Date(timeIntervalSinceReferenceDate: 0.25))),
    (#"{"a":[1,2]}"#, .json, .json(Array(#"{"a":[1,2]}"#.utf8))),
  ])
  func `a value is read from text`(text: String, type: FieldType, value: DynamicValue) throws {
    #expect(try Assignment("a=\(text)").value(as: type) == value)
  }

  @Test func `a UUID is read with hyphens and without, a URL as it stands`() throws {
    let id = RecordID()
    for text in ["\(id)", id.uuid.uuidString] {
      #expect(try Assignment("a=\(text)").value(as: .uuid) == .uuid(id.uuid))
    }
    let link = try #require(URL(string: "https://example.org/%7Ea"))
    #expect(try Assignment("a=\(link.absoluteString)").value(as: .url) == .url(link))
  }

  /// The bug: the text stood in the error's message, though it may have been meant for a sealed field.
  @Test(arguments: [
    ("yes", FieldType.boolean), ("1", .boolean), ("1.5", .integer), ("-1", .unsigned),
    ("secret lane", .double),
    ("2001-02-30", .date), ("12", .uuid), ("{", .json), ("a b", .url),
  ])
  func `a text that is no value of its type is refused, and not quoted`(text: String, type: FieldType) {
    let hint =
      type == .date
      ? "for instance 2026-11-26T10:00:00Z, 2026-11-26T11:00:00+01:00, local time as 2026-11-26 or 2026-11-26 10:00, or now"
      : type == .boolean ? "true or false" : nil
    #expect(throws: ToolError.usage("field takes \(type.named) value", hint: hint)) {
      try Assignment("field=\(text)").value(as: type)
    }
  }

  @Test func `an assignment's value is all that follows the first equals sign`() throws {
    let all = try Assignment.all(["title=a=b", "body=", "time=2001-01-01T00:00:00Z", "n=-5"])
    #expect(all.map(\.name) == ["title", "body", "time", "n"])
    #expect(try all[0].value(as: .text) == .text("a=b"))
    #expect(try all[1].value(as: .text) == .text(""))
    #expect(try all[2].value(as: .date) == .date(Date(timeIntervalSinceReferenceDate: 0)))
    #expect(try all[3].value(as: .integer) == .integer(-5))
  }

  @Test(arguments: [
    (["title"], "'title' is not of the form name=value"), (["=x"], "'=x' is not of the form name=value"),
    (["a=1", "a=2"], "a is given twice"), (["a=-", "b=-"], "standard input can be only one field's value"),
  ])
  func `a wrong assignment is named`(arguments: [String], message: String) {
    #expect(throws: ToolError.usage(message)) { _ = try Assignment.all(arguments) }
  }
}
