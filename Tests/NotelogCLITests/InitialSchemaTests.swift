// The schema of `init --schema`: what it may say, and how mistakes are named.
import Notelog
import Testing

@testable import NotelogCLI

@Suite struct SchemaFileTests {
  static func collections(_ text: String) throws -> [(name: String, fields: [FieldDescription])] {
    try JSONReader.read(Array(text.utf8)).schemaCollections()
  }

  @Test func `the standard schema can be written as a file`() throws {
    let text = """
      {"collections": [{"name": "note", "fields": [
        {"name": "time", "type": "date", "indexed": true}, {"name": "title", "type": "text", "sealed": true},
        {"name": "body", "type": "text", "sealed": true}]}]}
      """
    #expect(try Self.collections(text).elementsEqual(Command.standardCollections, by: ==))
  }

  @Test func `a field may say all that the library knows`() throws {
    let text = """
      {"collections": [{"name": "c", "fields": [{"name": "f", "type": "bytes", "sealed": true, "key": "k",
        "padded": true, "compressed": true, "optional": true, "indexed": false}]}]}
      """
    let field = try #require(try Self.collections(text).first?.fields.first)
    #expect(field == .sealed("f", .bytes, key: "k", compressed: true, padded: true, optional: true))
  }

  @Test func `a sealed field may reveal equality, and ignore case`() throws {
    let text = #"""
      {"collections": [{"name": "c", "fields": [{"name": "f", "type": "text", "sealed": true,
        "revealsEquality": true, "ignoresCase": true}]}]}
      """#
    let field = try #require(try Self.collections(text).first?.fields.first)
    #expect(field == .sealed("f", .text, revealingEquality: true, ignoringCase: true))
  }

  @Test func `a field may have its key named by another, among some`() throws {
    let text = #"""
      {"collections": [{"name": "c", "fields": [{"name": "place", "type": "text"}, {"name": "f", "type": "text",
        "sealed": true, "padded": true, "keyFrom": "place", "keys": ["home", "work"]}]}]}
      """#
    let field = try #require(try Self.collections(text).first?.fields.last)
    #expect(field == .sealed("f", .text, keyFrom: "place", among: ["home", "work"], padded: true))
  }

  @Test(arguments: [
    (
      #"{"collections": [{"name": "c", "fields": [{"name": "f", "type": "text", "sealed": true, "keyFrom": "p"}]}]}"#,
      "needs both"
    ),
    (
      #"{"collections": [{"name": "c", "fields": [{"name": "f", "type": "text", "sealed": true, "keys": ["a"]}]}]}"#,
      "needs both"
    ),
    (
      #"{"collections": [{"name": "c", "fields": [{"name": "f", "type": "text", "sealed": true, "keyFrom": "p", "keys": [1]}]}]}"#,
      "lists what is no name"
    ),
    (
      #"{"collections": [{"name": "c", "fields": [{"name": "f", "type": "text", "sealed": true, "key": "k", "keyFrom": "p", "keys": ["a"]}]}]}"#,
      "has a key, and a field that names one"
    ),
    (
      #"{"collections": [{"name": "c", "fields": [{"name": "f", "type": "text", "keyFrom": "p", "keys": ["a"]}]}]}"#,
      "is not sealed, and so has no key"
    ),
    (
      #"{"collections": [{"name": "c", "fields": [{"name": "f", "type": "text", "revealsEquality": true}]}]}"#,
      "equality to reveal"
    ),
    ("[]", "an object with one member"), (#"{"collections": []}"#, "the schema lists no collection"),
    (#"{"collections": [1]}"#, "collection 1 is not an object"),
    (#"{"collections": [{"name": "c"}]}"#, "collection 1 needs a name and a list of fields"),
    (#"{"collections": [{"name": "c", "fields": [], "x": 1}]}"#, "an unknown member 'x'"),
    (#"{"collections": [{"name": "c", "fields": []}, {"name": "c", "fields": []}]}"#, "'c' is there twice"),
    (
      #"{"collections": [{"name": "c", "fields": [{"name": "f"}]}]}"#,
      "field 1 of 'c' needs a name and a type"
    ),
    (
      #"{"collections": [{"name": "c", "fields": [{"name": "f", "type": "string"}]}]}"#,
      "has the type 'string'"
    ),
    (
      #"{"collections": [{"name": "c", "fields": [{"name": "f", "type": "text", "sealed": 1}]}]}"#,
      "neither true nor false"
    ),
    (
      #"{"collections": [{"name": "c", "fields": [{"name": "f", "type": "text", "key": "k"}]}]}"#,
      "is not sealed, and so has no key"
    ),
    (
      #"{"collections": [{"name": "c", "fields": [{"name": "f", "type": "text", "sealed": true, "indexed": true}]}]}"#,
      "is sealed, and so cannot be indexed"
    ),
  ])
  func `a mistake is named with its place`(text: String, message: String) throws {
    let error = try #require(throws: ToolError.self) { _ = try Self.collections(text) }
    #expect(error.message.contains(message), "\(error.message)")
  }
}
