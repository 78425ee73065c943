// Names of collections, fields and keys: text that no other program takes for something else (FORMAT.md
// 21.3).
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct NameTests {
  /// The bug: a name could hold a zero byte or a line's end, and the SQL of an export, which sqlite3 reads by
  /// lines, then ran what a value said.
  @Test(arguments: ["\0", "a\0b", "a\nb", "\t", "\u{1B}[2J", "\u{7F}", "\u{85}", "\u{9B}1m"])
  func `a name with control characters is refused wherever it comes in`(name: String) throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let refusal = NotelogError(.invalidArgument, "")
    #expect(throws: refusal) { try store.createCollection(name, fields: [.plain("a", .text)]) }
    #expect(throws: refusal) { try store.createCollection("t", fields: [.plain(name, .text)]) }
    #expect(throws: refusal) { try store.createCollection("t", fields: [.sealed("a", .text, key: name)]) }
    #expect(throws: refusal) {
      try store.createCollection(
        "t", fields: [.plain("k", .text), .sealed("a", .text, keyFrom: "k", among: [name])])
    }
    #expect(throws: refusal) { try store.createKey(name, .whenUnlocked) }
    #expect(store.collections.isEmpty && !store.info().keys.contains { $0.name == name })
    // What code declares is held to the same.
    #expect(CollectionDescription(name: name, fields: []).mistake != nil)
    let field = FieldDescription.plain(name, .text)
    #expect(CollectionDescription(name: "t", fields: [field]).mistake != nil)
  }

  @Test func `a field that had such a name before is renamed`() throws {
    var field = FieldDescription.plain("price", .text)
    field.formerNames = ["Price\n(EUR)"]
    #expect(CollectionDescription(name: "t", fields: [field], retired: ["a\tb"]).mistake == nil)
  }

  @Test func `names are otherwise what they like`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let names = ["id", "ID", "a \"b\"", "'", ";", ".shell", "naïve 🙂", "\u{202E}", "a,b"]
    let collection = try store.createCollection("my 'notes'", fields: names.map { .plain($0, .text) })
    #expect(collection.fields.map(\.name) == names)
  }
}
