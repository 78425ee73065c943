// What a transaction finds: what is committed, and its own writes.

import Foundation
import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog

private struct Chore: Record {
  var id = RecordID()
  var list = 0
  var name = ""
  var text = ""
  static let schema = Schema<Chore>("task") {
    Plain("list", \.list, indexed: true)
    Sealed("name", \.name)
    Sealed("text", \.text)
  }
}

/// Another type, whose second field is indexed.
private struct Trip: Record {
  var id = RecordID()
  var place = ""
  var day = 0
  static let schema = Schema<Trip>("trip") {
    Plain("place", \.place, indexed: true)
    Plain("day", \.day, indexed: true)
  }
}

@Suite struct TransactionQueryTests {
  private static func names(
    of list: Int, in source: borrowing some RecordSource & ~Copyable
  ) throws -> [String] {
    try source.query(Chore.self).where(\.list, is: list).entries().map { try $0.name }.sorted()
  }

  private static func filled(_ folder: TemporaryFolder) throws -> (Store, [RecordID]) {
    let store = try folder.create()
    let tasks = (0..<100).map { Chore(list: $0 / 10, name: "task \($0)") }
    try store.putAll(tasks)
    return (store, tasks.map(\.id))
  }

  @Test func `one function reads from a store, a snapshot and a transaction`() throws {
    let folder = try TemporaryFolder()
    let (store, ids) = try Self.filled(folder)
    let before = store.snapshot()
    let all = (30..<40).map { "task \($0)" }
    try store.write { tx in
      try tx.put(Chore(list: 3, name: "new"))
      try tx.update(Chore.self, ids[0]) { $0.set(\.list, 3) }
      try tx.update(Chore.self, ids[30]) { $0.set(\.name, "renamed") }
      try tx.update(Chore.self, ids[31]) { $0.set(\.list, 4) }
      try tx.delete(Chore.self, ids[32])
      #expect(try Self.names(of: 3, in: tx) == ["new", "renamed", "task 0"] + all.dropFirst(3))
      #expect(try Self.names(of: 3, in: store) == all)
      #expect(try tx.query(Chore.self).count() == 100)
      #expect(try tx.query(Chore.self).where(\.list, is: 3).explain().indexes.count == 1)
      #expect(
        try tx.query(Chore.self).sorted(by: \.list, .descending).sorted(by: \.name).limit(1).first()?.name
          == "task 90")
      #expect(try tx.get(Chore.self, ids[32]) == nil)
    }
    #expect(try Self.names(of: 3, in: store) == ["new", "renamed", "task 0"] + all.dropFirst(3))
    #expect(try Self.names(of: 3, in: before) == all)
    try store.close()
  }

  @Test func `a transaction's query knows what was written before it was made, and stays so`() throws {
    let folder = try TemporaryFolder()
    let (store, ids) = try Self.filled(folder)
    let query = try store.write { tx in
      try tx.put(Chore(list: 50, name: "first"))
      let query = try tx.query(Chore.self).where(\.list, in: 9...)
      try tx.put(Chore(list: 50, name: "second"))
      try tx.delete(Chore.self, ids[99])
      #expect(try query.count() == 11)
      return query
    }
    try store.write { tx in try tx.deleteAll(Chore.self) }
    #expect(try query.entries().map { try $0.name }.sorted() == ["first"] + (90..<100).map { "task \($0)" })
    try store.close()
  }

  @Test func `a large value is opened before it is committed`() throws {
    let folder = try TemporaryFolder()
    let (store, ids) = try Self.filled(folder)
    let text = String(repeating: "a long text; ", count: 200_000)
    try store.write { tx in
      try tx.update(Chore.self, ids[7]) { $0.set(\.text, text) }
      let found = try tx.query(Chore.self).where(\.text, contains: "long").entries()
      #expect(try found.map(\.id) == [ids[7]] && found[0].text == text)
      #expect(try tx.get(Chore.self, ids[7])?.text == text)
    }
    #expect(try store.get(Chore.self, ids[7])?.text == text)
    try store.close()
  }

  /// The number of a collection that came with it is another's when it has failed.
  @Test func `a type that is new with a transaction is found in it, and leaves nothing where that fails`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try store.write { tx in
        for number in 0..<20 { try tx.put(Chore(list: number, name: "task \(number)")) }
        #expect(try Self.names(of: 7, in: tx) == ["task 7"])
        #expect(try tx.query(Chore.self).sorted(by: \.list, .descending).first()?.list == 19)
        throw Stop()
      }
    }
    #expect(try Self.names(of: 7, in: store) == [])
    try store.write { tx in
      #expect(try tx.query(Trip.self).where(\.day, is: 3).count() == 0)
      for number in 0..<100 { try tx.put(Trip(place: "place \(number)", day: number % 10)) }
      #expect(try tx.query(Trip.self).where(\.day, is: 3).count() == 10)
    }
    let query = store.query(Trip.self).where(\.place, is: "place 7")
    #expect(try query.count() == 1 && query.explain().indexes.count == 1)
    #expect(try store.query(Trip.self).sorted(by: \.place).limit(1).first()?.place == "place 0")
    try store.close()
  }

  @Test func `all records for which a condition holds are changed, the transaction's own too`() throws {
    let folder = try TemporaryFolder()
    let (store, ids) = try Self.filled(folder)
    try store.write { tx in
      try tx.put(Chore(list: 3, name: "new"))
      try tx.delete(Chore.self, ids[30])
      #expect(try tx.updateAll(Chore.self, where: .field(\.list, is: 3)) { $0.set(\.list, 33) } == 10)
      #expect(try tx.updateAll(Chore.self, where: .field(\.list, is: 3)) { $0.set(\.list, 34) } == 0)
    }
    #expect(try Self.names(of: 33, in: store) == ["new"] + (31..<40).map { "task \($0)" })
    // What is not set needs no key.
    store.lock()
    #expect(try store.write { tx in try tx.updateAll(Chore.self) { $0.set(\.list, 1) } } == 100)
    try store.unlock(TemporaryFolder.key)
    #expect(try Self.names(of: 1, in: store).count == 100)
    try store.close()
  }

  @Test func `without a condition all records are deleted, also those that can't be read`() throws {
    let folder = try TemporaryFolder()
    try Self.filled(folder).0.close()
    try folder.alter("000000000001.journal") { $0[9_000] ^= 4 }
    let store = try folder.open()
    try store.write { tx in
      let own = Chore(name: "new")
      try tx.put(own)
      try tx.put(Chore(name: "newer"))
      try tx.delete(Chore.self, own.id)
      #expect(try tx.deleteAll(Chore.self) == 101)
      #expect(try tx.query(Chore.self).count() == 0)
    }
    #expect(try store.query(Chore.self).count() == 0)
    try store.close()
    let again = try folder.open()
    #expect(try again.query(Chore.self).entries().isEmpty)
    try again.close()
  }

  @Test func `a record of the transaction's own that can't be opened is left out as others are`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let chore = Chore(name: "one")
    try store.putAll([chore, Chore(name: "two")])
    var stored = ReadBuffer()
    let found = try #require(try store.journal.records.read(chore.id.bytes, into: &stored))
    var forged = stored.body.array()
    // Of the last field's tag.
    forged[forged.count - 1] ^= 1
    var batch = Batch()
    batch.put(chore.id.bytes, collection: found.collection, bodyByteCount: forged.count) {
      $0.copy(forged.rawSpan, at: 0)
    }
    try store.journal.commit(&batch, .buffered)
    try store.write { tx in
      let query = try tx.query(Chore.self).where(\.text, is: "")
      #expect(try query.count() == 1)
      #expect(try tx.updateAll(Chore.self) { $0.set(\.list, 1) } == 2)
      #expect(try tx.query(Chore.self).where(\.text, is: "").count() == 1)
      #expect(try tx.deleteAll(Chore.self, where: .field(\.text, is: "")) == 1)
    }
    #expect(try store.query(Chore.self).count() == 1)
    try store.close()
  }
}
