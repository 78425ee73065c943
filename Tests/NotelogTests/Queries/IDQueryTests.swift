// Queries by the id of a record, which is no field of its schema.

import Foundation
import NotelogBase
import Testing

@testable import Notelog

private protocol Identified: Record {}

extension Sample: Identified {}

@Suite struct IDQueryTests {
  private static func id(_ number: Int) -> RecordID {
    RecordID(high: UInt64(number % 7), low: UInt64(number))
  }

  /// Two hundred samples, whose ids come in another order than their counts; and a note.
  private func store(in folder: TemporaryFolder) throws -> Store {
    let store = try folder.create()
    try store.putAll(
      (10..<210).map {
        Sample(
          id: Self.id($0), flag: $0 % 50 == 0, count: $0, small: UInt8($0 % 5), ratio: $0 % 50 == 0 ? 1 : 0,
          title: "title \($0)")
      })
    try store.putAll([Note(id: Self.id(999))])
    return store
  }

  private func counts(_ query: Query<Sample>) throws -> [Int] {
    try query.entries().map { try $0.count }.sorted()
  }

  @Test func `records are found by their ids, and no other is read`() throws {
    let folder = try TemporaryFolder()
    let store = try store(in: folder)
    let all = store.query(Sample.self)
    let seen = Lock(0)
    let counted = all.filter(\.small) { _ in
      seen.withLock { $0 += 1 }
      return true
    }
    // One that is missing, one twice, one of another type.
    let ids = [12, 13, 13, 200, 5, 999].map(Self.id)
    #expect(try counts(counted.where(\.id, in: ids)) == [12, 13, 200])
    #expect(try counts(counted.where(\.id, is: Self.id(50))) == [50])
    #expect(
      try counts(counted.where(.field(\.id, is: Self.id(50)) || .field(\.id, in: ids))) == [12, 13, 50, 200])
    #expect(try counted.where(\.id, in: ids).parallel(3).count() == 3)
    #expect(try counted.where(\.id, in: []).count() == 0)
    #expect(seen.withLock { $0 } == 11)
    let query = all.where(\.id, in: ids)
    #expect(
      try query.where(\.count, in: 13...).explain().description
        == "index on id from 5 ids; 5 candidates; 2 conditions; opens nothing")
    #expect(try counts(query.where(\.count, in: 13...)) == [13, 200])
    #expect(try query.where(\.flag, is: true).sorted(by: \.moment).limit(1).first()?.count == 200)
    #expect(try query.sorted(by: \.count, .descending).limit(2).entries().map { try $0.count } == [200, 13])
    #expect(try query.sum(of: \.count) == 225 && query.max(of: \.count) == 200)
    // A side of an or that names none leaves all of them.
    #expect(
      try counts(all.where(.field(\.id, in: ids) || .field(\.flag, is: true))) == [12, 13, 50, 100, 150, 200])
    #expect(try all.where(!.field(\.id, in: ids)).count() == 197)
    #expect(try all.where(\.id, isNot: Self.id(12)).count() == 199)
    #expect(try counts(all.filter(\.id) { $0 == Self.id(77) }) == [77])
    #expect(
      try counts(all.where(\.id, in: Self.id(7)..<Self.id(22)))
        == (10..<210).filter { Self.id($0) < Self.id(22) })
    store.lock()
    #expect(try counts(query) == [12, 13, 200])
    let snapshot = store.snapshot()
    let deleted = try store.write { tx in try tx.deleteAll(Sample.self, where: .field(\.id, in: ids)) }
    #expect(try query.count() == 0 && deleted == 3)
    #expect(try snapshot.query(Sample.self).where(\.id, in: ids).count() == 3)
  }

  @Test(arguments: [SortDirection.ascending, .descending])
  func `records are sorted by their ids, page by page too`(_ direction: SortDirection) throws {
    let folder = try TemporaryFolder()
    let store = try store(in: folder)
    func sorted(_ numbers: some Sequence<Int>) -> [RecordID] {
      let ids = numbers.map(Self.id).sorted()
      return direction == .ascending ? ids : ids.reversed()
    }
    let all = store.query(Sample.self).sorted(by: \.id, direction)
    #expect(try all.entries().map(\.id) == sorted(10..<210))
    var found: [RecordID] = []
    var page = all.limit(30)
    while let last = try page.entries().last {
      found += try page.entries().map(\.id)
      let cursor = try JSONEncoder().encode(all.cursor(at: last))
      page = try all.limit(30).after(JSONDecoder().decode(QueryCursor.self, from: cursor))
    }
    #expect(found == sorted(10..<210))
    // Within what is equal in an indexed field.
    let second = store.query(Sample.self).sorted(by: \.ratio, .descending).sorted(by: \.id, direction).limit(
      8)
    let expected = sorted([50, 100, 150, 200]) + sorted((10..<210).filter { $0 % 50 != 0 }).prefix(4)
    #expect(try second.explain().indexes.first?.fields == ["ratio"])
    #expect(try second.entries().map(\.id) == expected)
    let third = try second.entries()[2]
    #expect(try second.after(second.cursor(at: third)).entries().map(\.id).prefix(5) == expected[3...])
    let ids = [40, 30, 20].map(Self.id)
    #expect(
      try all.where(\.id, in: ids).limit(2).entries().map(\.id) == Array(sorted([40, 30, 20]).prefix(2)))
    #expect(try all.min(of: \.id) == (10..<210).map(Self.id).min())
    #expect(try all.max(of: \.id) == (10..<210).map(Self.id).max())
  }

  /// A protocol's key path is none of the type's fields', and leads to the id all the same.
  @Test func `generic code asks by ids`() throws {
    func found<R: Identified>(_ type: R.Type, _ id: RecordID, in store: Store) throws -> [RecordID] {
      try store.query(type).where(\.id, in: [id, Self.id(11)]).sorted(by: \.id, .descending).entries().map(
        \.id)
    }
    let folder = try TemporaryFolder()
    let store = try store(in: folder)
    #expect(try found(Sample.self, Self.id(10), in: store) == [Self.id(11), Self.id(10)])
  }

  @Test func `a damaged record that is asked for by its id is left out, and told of`() throws {
    let folder = try TemporaryFolder()
    var store = try store(in: folder)
    try store.close()
    try folder.alter("000000000001.journal") { $0[20_000] ^= 4 }
    store = try folder.open()
    let lost = try #require(Set(10..<210).subtracting(try counts(store.query(Sample.self))).first)
    let told = Lock<[RecordID?]>([])
    let query = store.query(Sample.self).onDamage { finding in told.withLock { $0.append(finding.record) } }
    #expect(try counts(query.where(\.id, in: [Self.id(lost), Self.id(11)])) == (lost == 11 ? [] : [11]))
    #expect(told.withLock { $0 } == [Self.id(lost)])
    #expect(try query.where(\.id, is: Self.id(11)).count() == (lost == 11 ? 0 : 1))
  }
}
