// What is asked of a store after it was closed. Until its files were needed, reads gave what was in memory,
// or an empty answer; then they threw the system's "Bad file descriptor".

import Foundation
import Notelog
import Testing

private struct Film: Record {
  var id = RecordID()
  var year = 0
  var title = ""
  var frames: [UInt8] = []
  static let schema = Schema<Film>("film") {
    Plain("year", \.year, indexed: true)
    Sealed("title", \.title)
    Sealed("frames", \.frames)
  }
}

@Suite struct ClosedReadTests {
  /// What a test holds of a store that was closed meanwhile.
  private struct Closed {
    let store: Store
    let ids: [RecordID]
    let field: Field<Film, String>
    let plainField: Field<Film, Int>
    let entry: Entry<Film>
    let dynamic: DynamicEntry
    let content: FieldContent
    let snapshot: StoreSnapshot
    let collection: DynamicCollection
    let query: Query<Film>
    let reference: URL
  }

  private static func closed(warm isWarm: Bool, _ folder: TemporaryFolder) throws -> Closed {
    do {
      let store = try folder.create()
      try store.putAll((0..<2_000).map { Film(year: 1900 + $0 % 100, title: "film \($0)") })
      try store.write { tx in
        try tx.put(Film(year: 2000, frames: [UInt8](repeating: 7, count: 300_000)))
      }
      try store.close()
    }
    let store = try folder.open()
    let long = try #require(try store.query(Film.self).where(\.year, is: 2000).first())
    let ids = try store.query(Film.self).limit(isWarm ? 3_000 : 3).entries().map(\.id)
    let collection = try store.collection("film")
    let closed = Closed(
      store: store, ids: ids, field: try store.field(\Film.title), plainField: try store.field(\Film.year),
      entry: long, dynamic: try #require(try collection.get(long.id)),
      content: try #require(try long.content(of: \.frames)), snapshot: store.snapshot(),
      collection: collection,
      query: store.query(Film.self), reference: try store.reference(to: Film.self, ids[0]))
    if isWarm {
      for id in ids { _ = try store.get(Film.self, id)?.title }
      _ = try closed.query.sorted(by: \.year).limit(1).entries()
    }
    try store.close()
    return closed
  }

  private static func touch(_ value: some Any) {}

  /// Every way of reading, by its name.
  private static func reads(_ closed: Closed) -> [(name: String, read: () throws -> Void)] {
    let (store, id, query) = (closed.store, closed.ids[0], closed.query)
    return [
      ("get", { _ = try store.get(Film.self, id) }),
      ("get of nobody", { _ = try store.get(Film.self, RecordID()) }),
      ("getMany", { _ = try store.getMany(Film.self, closed.ids) }),
      ("get by reference", { _ = try store.get(Film.self, closed.reference) }),
      (
        "get a field",
        {
          var buffer = ValueBuffer()
          _ = try store.get(closed.field, of: id, using: &buffer)
        }
      ),
      (
        "get a plain field",
        {
          var buffer = ValueBuffer()
          _ = try store.get(closed.plainField, of: id, using: &buffer)
        }
      ),
      (
        "read a field",
        {
          var buffer = ValueBuffer()
          _ = try store.read(closed.plainField, of: id, into: &buffer)
        }
      ),
      (
        "getMany of a field",
        {
          var buffer = ValueBuffer()
          try store.getMany(closed.plainField, of: closed.ids, using: &buffer) { _, _ in }
        }
      ),
      (
        "readMany",
        {
          var buffer = ValueBuffer()
          try store.readMany(closed.plainField, of: closed.ids, into: &buffer) { _, _ in }
        }
      ),
      (
        "get of a field",
        {
          var buffer = ValueBuffer()
          _ = try store.get(closed.plainField, of: id, using: &buffer)
        }
      ),
      ("a sealed field of an entry", { touch(try closed.entry.title) }),
      ("an entry's record", { _ = try closed.entry.record() }),
      ("a dynamic entry's field", { _ = try closed.dynamic.value("title") }),
      ("an entry's content", { _ = try closed.entry.content(of: \.frames)?.read(0..<10) }),
      ("a content", { _ = try closed.content.read(0..<10) }),
      ("a content's pieces", { try closed.content.forEachPiece { _ in } }),
      ("entries", { _ = try query.entries() }),
      ("first", { _ = try query.first() }),
      ("count", { _ = try query.count() }),
      ("entries where", { _ = try query.where(\.year, is: 1950).entries() }),
      ("entries where sealed", { _ = try query.where(\.title, is: "film 7").entries() }),
      ("entries sorted", { _ = try query.sorted(by: \.year).limit(1).entries() }),
      ("entries in parts", { _ = try query.parallel(2).entries() }),
      ("count where", { _ = try query.where(\.year, in: 1950...1951).count() }),
      ("explain", { _ = try query.where(\.year, is: 1950).explain() }),
      ("scan", { try store.scan(Film.self) { _ in true } }),
      ("snapshot's get", { _ = try closed.snapshot.get(Film.self, id) }),
      ("snapshot's scan", { try closed.snapshot.scan(Film.self) { _ in true } }),
      ("snapshot's entries", { _ = try closed.snapshot.query(Film.self).entries() }),
      ("a later snapshot's get", { _ = try store.snapshot().get(Film.self, id) }),
      ("dynamic get", { _ = try closed.collection.get(id) }),
      ("dynamic count", { touch(try closed.collection.count) }),
      ("dynamic forEach", { try closed.collection.query().forEach { _ in true } }),
      ("dynamic entries", { _ = try closed.collection.query().sorted(by: "year").entries() }),
      ("collectionsWithoutSchema", { _ = try store.collectionsWithoutSchema() }),
      ("countRecords", { _ = try store.countRecords() }),
      ("write", { try store.write { tx in _ = try tx.get(Film.self, id) } }),
      ("putAll", { try store.putAll([Film()]) }),
      ("upload", { _ = try store.upload(to: \Film.frames, of: id) { _ in 0 } }),
      ("compact", { try store.compact() }),
      ("compactIfDue", { _ = try store.compactIfDue() }),
      ("scrub", { _ = try store.scrub() }),
      ("suspend", { try store.suspend() }),
      ("resume", { try store.resume() }),
      ("refresh", { _ = try store.refresh() }),
      ("ship", { _ = try store.ship(to: TemporaryFolder().archive) }),
    ]
  }

  @Test(arguments: [false, true]) func `after close every read throws closed`(isWarm: Bool) throws {
    let folder = try TemporaryFolder()
    let closed = try Self.closed(warm: isWarm, folder)
    for (name, read) in Self.reads(closed) {
      do {
        try read()
        Issue.record("\(name): nothing was thrown")
      } catch let error as NotelogError {
        #expect(error.code == .closed, "\(name): \(error)")
        #expect(!error.message.contains("descriptor"), "\(name): \(error)")
      }
    }
    // Closing again does nothing.
    try closed.store.close()
  }
}
