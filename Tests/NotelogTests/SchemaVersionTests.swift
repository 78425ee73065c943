// Versions of an app that meet in one store: renamed, older, newer, and unrelated record types.

import Foundation
@testable import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

/// The first version.
private struct First: Record, Equatable {
  var id = RecordID()
  var title = ""
  var stars = 3
  static let schema = Schema<First>("note") {
    Plain("title", \.title)
    Plain("stars", \.stars)
  }
}

/// The second: one field retired, one renamed, two added.
private struct Second: Record {
  var id = RecordID()
  var heading = ""
  var body = ""
  var tags: [String] = []
  static let schema = Schema<Second>("memo", formerly: "note") {
    Plain("heading", \.heading, formerly: "title")
    Sealed("body", \.body)
    Plain("tags", json: \.tags)
    Retired("stars")
  }
}

/// `title` renamed, and not said.
private struct Renamed: Record {
  var id = RecordID()
  var heading = ""
  var stars = 3
  static let schema = Schema<Renamed>("note") {
    Plain("heading", \.heading)
    Plain("stars", \.stars)
  }
}

/// Adds a field of another type, and says nothing of `title`.
private struct Without: Record {
  var id = RecordID()
  var stars = 3
  var isDone = false
  static let schema = Schema<Without>("note") {
    Plain("stars", \.stars)
    Plain("isDone", \.isDone)
  }
}

private struct Extended: Record {
  var id = RecordID()
  var isDone = false
  static let schema = Schema<Extended>("note") {
    Plain("isDone", \.isDone)
    Kept("title")
    Kept("stars")
  }
}

/// Another type's fields under the same name.
private struct Unrelated: Record {
  var id = RecordID()
  var street = ""
  static let schema = Schema<Unrelated>("note") { Plain("street", \.street) }
}

/// The collection renamed, and not said.
private struct Moved: Record {
  var id = RecordID()
  var title = ""
  var stars = 3
  var body = ""
  static let schema = Schema<Moved>("memo") {
    Plain("title", \.title)
    Plain("stars", \.stars)
    Sealed("body", \.body)
  }
}

@Suite struct SchemaVersionTests {
  private func conflict(_ body: () throws -> Void) -> String {
    #expect(throws: NotelogError(.schemaConflict, "")) { try body() }?.message ?? ""
  }

  @Test func `a field renamed without saying so is refused, and both names are named`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let first = First(title: "Ada")
    try store.write { tx in try tx.put(first) }
    for message in [
      conflict { _ = try store.get(Renamed.self, first.id) },
      conflict { _ = try store.write { tx in try tx.put(Renamed()) } },
      conflict { _ = try store.putAll([Renamed()]) },
    ] {
      #expect(message.contains("note.heading") && message.contains("note.title"), "\(message)")
      #expect(message.contains(#"formerly: "title""#), "\(message)")
      #expect(message.contains(#"Retired("title")"#) && message.contains(#"Kept("title")"#), "\(message)")
    }
    let message = conflict { _ = try store.query(Without.self).count() }
    #expect(message.contains("note.isDone") && message.contains("note.title"), "\(message)")
    #expect(message.contains(#"Migrated("title")"#), "\(message)")
    #expect(try store.get(First.self, first.id)?.title == "Ada")
  }

  @Test func `two unrelated types of one collection are refused`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.write { tx in try tx.put(First()) }
    let message = conflict { _ = try store.write { tx in try tx.put(Unrelated()) } }
    #expect(message.contains("two record types need two names"), "\(message)")
    #expect(message.contains("title, stars") && message.contains("Unrelated"), "\(message)")
  }

  @Test func `what doesn't fit is said at opening, a collection renamed unsaid among it`() throws {
    let folder = try TemporaryFolder()
    let first = First(title: "Ada")
    let store = try folder.create()
    try store.write { tx in try tx.put(first) }
    try store.close()
    func open(_ types: any Record.Type...) throws {
      var options = Store.Options()
      options.recordTypes = types
      try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options).close()
    }
    #expect(conflict { try open(Renamed.self) }.contains("note.title"))
    let message = conflict { try open(Moved.self) }
    #expect(message.contains("collection memo") && message.contains(#"formerly: "note""#), "\(message)")
    // With a type for the old one it is a new collection.
    try open(Moved.self, First.self)
    try open(Second.self)
    #expect(try folder.open().get(First.self, first.id)?.title == "Ada")
  }

  @Test func `a type that keeps fields it doesn't use adds others, and loses none`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let first = First(title: "Ada", stars: 5)
    try store.write { tx in try tx.put(first) }
    try store.write { tx in try tx.put(Extended(id: first.id, isDone: true)) }
    #expect(try store.get(First.self, first.id)?.record() == first)
    #expect(try store.get(Extended.self, first.id)?.isDone == true)
  }

  @Test func `an older version of the app reads a newer store, and keeps what it doesn't know`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let old = First(title: "Ada", stars: 5)
    try store.write { tx in try tx.put(old) }
    let body = String(repeating: "secret ", count: 20_000)
    try store.write { tx in
      try tx.update(Second.self, old.id) {
        $0.set(\.body, body)
        $0.set(\.tags, ["a"])
      }
    }
    let new = Second(heading: "Eve", body: "b", tags: ["c"])
    try store.write { tx in try tx.put(new) }
    try store.close()
    store = try folder.open()
    // The older version: the retired field has its initial value, the renamed one is found.
    #expect(try store.get(First.self, old.id)?.record() == First(id: old.id, title: "Ada", stars: 3))
    #expect(try store.query(First.self).filter(\.stars) { $0 == 3 }.count() == 2)
    for batched in [false, true] {
      let titles = batched ? ["Ida", "Eva"] : ["Ala", "Ela"]
      let changed = [First(id: old.id, title: titles[0]), First(id: new.id, title: titles[1])]
      let added = First(title: "added")
      if batched {
        let revision = try store.putAll(changed + [added])
        #expect(try store.get(First.self, added.id)?.revision == revision)
      } else {
        try store.write { tx in for record in changed + [added] { try tx.put(record) } }
      }
      let kept = try #require(try store.get(Second.self, old.id)).record()
      #expect(kept.heading == titles[0] && kept.body == body && kept.tags == ["a"])
      #expect(try store.get(Second.self, new.id)?.body == "b")
      #expect(try store.get(Second.self, added.id)?.body == "")
    }
    // The names of the newer version stay.
    #expect(store.collections.map(\.name) == ["memo"])
    #expect(try store.collection("memo").fields.map(\.name) == ["heading", "stars", "body", "tags"])
    let message = conflict { _ = try store.write { tx in try tx.put(First(stars: 1)) } }
    #expect(message.contains("stars was retired"), "\(message)")
    #expect(conflict { _ = try store.putAll([First(stars: 1)]) }.contains("stars was retired"))
  }

  /// As where a field was added by somebody whose schema is lost.
  @Test func `values of field numbers that no schema knows go along when an older version writes`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let first = First(title: "Ada", stars: 5)
    let other = First(title: "Eve", stars: 4)
    try store.putAll([first, other])
    try store.putAll([Extended(id: first.id, isDone: true), Extended(id: other.id)])
    let collection = try store.collection("note").plan.number
    // A value of number 9, behind those of the schema's fields.
    for id in [first.id, other.id] {
      let stored = try #require(try store.get(First.self, id)).stored
      var body = stored.body
      body[2] += 1
      body.insert(contentsOf: [9, 0, 5, 0, 0, 0, 0, 0, 3, 0, 0, 0], at: 4 + 12 * Int(body[2] - 1))
      body += Array("new".utf8)
      var batch = Batch()
      let bytes = body
      batch.put(id.bytes, collection: collection, envelopeByteCount: 0, bodyByteCount: bytes.count) {
        $0.copy(bytes.rawSpan, at: 0)
      }
      try store.journal.commit(&batch, .durable)
    }
    func unknown(_ id: RecordID) throws -> [String] {
      let stored = try #require(try store.get(First.self, id)).stored
      return try stored.entries().filter { $0.number == 9 }.map {
        String(decoding: stored.body[$0.range], as: UTF8.self)
      }
    }
    #expect(try unknown(first.id) == ["new"])
    try store.write { tx in try tx.update(First.self, first.id) { $0.set(\.title, "Ida") } }
    #expect(try unknown(first.id) == ["new"])
    // Put whole, by a type that declares a part of what the store knows.
    try store.write { tx in try tx.put(First(id: first.id, title: "Ala", stars: 1)) }
    try store.putAll([First(id: other.id, title: "Ela")])
    #expect(try unknown(first.id) == ["new"] && unknown(other.id) == ["new"])
    #expect(try store.get(Extended.self, first.id)?.isDone == true)
    #expect(try store.get(First.self, first.id)?.record() == First(id: first.id, title: "Ala", stars: 1))
  }
}
