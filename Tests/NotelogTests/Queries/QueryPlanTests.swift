// Which way a query goes: what it says of it, and what it reads.

import Foundation
import NotelogBase
@testable import Notelog
import Testing

@Suite struct QueryPlanTests {
  private func date(_ seconds: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(seconds)) }

  /// A thousand samples: a count from 0, ten names in turn, moments that go back.
  private func store(in folder: TemporaryFolder) throws -> Store {
    let store = try folder.create()
    try store.putAll(
      (0..<1_000).map {
        Sample(
          flag: $0 % 100 == 0, count: $0, small: UInt8($0 % 5), name: "name \($0 % 10)", moment: date(-$0),
          title: "title \($0)")
      })
    return store
  }

  private func plan(_ query: Query<Sample>) throws -> String { try query.explain().description }

  @Test func `a plan says in words which way a query goes`() throws {
    let folder = try TemporaryFolder()
    let all = try store(in: folder).query(Sample.self)
    #expect(try plan(all) == "all of sample; 1000 candidates; opens nothing")
    #expect(
      try plan(all.where(\.count, is: 3)) == "index on count from 3; 1 candidate; 1 condition; opens nothing")
    #expect(
      try plan(all.where(\.count, in: 990...).where(\.name, is: "name 3"))
        == "index on count from 990...; 10 candidates; 2 conditions; opens nothing")
    #expect(
      try plan(
        all.where(\.count, in: 20...).where(\.count, in: ..<30).filter(\.title) { !$0.isEmpty }.parallel(2))
        == "index on count from 20... and ..<30; 10 candidates; 3 conditions; opens title; 2 threads")
    #expect(
      try plan(all.sorted(by: \.moment, .descending).limit(5))
        == "index on moment, descending; 1000 candidates; opens nothing; at most 5")
    #expect(
      try plan(all.where(\.count, in: ..<9).sorted(by: \.count))
        == "index on count from ..<9, ascending; 9 candidates; 1 condition; opens nothing")
    #expect(
      try plan(all.where(\.name, in: "name 9"..."name 9\u{301}").sorted(by: \.title))
        == """
        index on name from "name 9"..."name 9\u{301}"; 100 candidates; 1 condition; opens title; sorts in memory
        """)
    #expect(try all.where(\.small, is: 3).explain().indexes.isEmpty)
    #expect(try all.sorted(by: \.count).explain().sortsInMemory)
  }

  @Test func `a query takes the way that costs least`() throws {
    let folder = try TemporaryFolder()
    let all = try store(in: folder).query(Sample.self)
    func field(_ query: Query<Sample>) throws -> String? { try query.explain().indexes.first?.fields[0] }
    // Going through all is less work than to read most of them one by one.
    #expect(try field(all.where(\.count, in: 100...)) == nil)
    #expect(try field(all.where(\.count, in: 900...).where(\.flag, is: true)) == "flag")
    // Few with the flag are sorted in memory; of many with the name, the first are met soon.
    #expect(try field(all.where(\.flag, is: true).sorted(by: \.moment).limit(5)) == "flag")
    #expect(try field(all.where(\.name, is: "name 3").sorted(by: \.moment).limit(5)) == "moment")
    #expect(try field(all.where(\.name, is: "name 3").sorted(by: \.moment)) == "name")
    #expect(try field(all.where(\.count, in: 500..<500)) == "count")
  }

  @Test func `an indexed condition reads what it leaves, and nothing else`() throws {
    let folder = try TemporaryFolder()
    let store = try store(in: folder)
    /// How many records are held against the first condition of a query.
    func candidates(_ refine: (Query<Sample>) -> Query<Sample>) throws -> (seen: Int, found: Int) {
      let seen = Lock(0)
      let query = store.query(Sample.self).filter(\.small) { _ in
        seen.withLock { $0 += 1 }
        return true
      }
      let found = try refine(query).entries().count
      return (seen.withLock { $0 }, found)
    }
    #expect(try candidates { $0 } == (1_000, 1_000))
    #expect(try candidates { $0.where(\.count, is: 5) } == (1, 1))
    #expect(try candidates { $0.where(\.count, in: 10..<20).where(\.name, is: "name 4") } == (10, 1))
    #expect(try candidates { $0.where(\.moment, in: date(-9)...).sorted(by: \.moment).limit(3) } == (3, 3))
    #expect(
      try candidates { $0.where(\.flag, is: true).sorted(by: \.moment).limit(2).parallel(3) } == (10, 2))
    #expect(try candidates { $0.where(\.count, is: 1_000) } == (0, 0))
    // A record that has moved on is found where it is, and not where it was.
    let entry = try #require(try store.query(Sample.self).where(\.count, is: 5).first())
    try store.write { tx in try tx.update(Sample.self, entry.id) { $0.set(\.count, 2_000) } }
    #expect(try candidates { $0.where(\.count, in: 5...6) } == (1, 1))
    #expect(try candidates { $0.where(\.count, in: 1_000...) } == (1, 1))
    try store.write { tx in _ = try tx.delete(Sample.self, entry.id) }
    #expect(try candidates { $0.where(\.count, in: 1_000...) } == (0, 0))
  }

  @Test func `a locked store is asked by its indexes, and says locked where a sealed field decides`() throws {
    let folder = try TemporaryFolder()
    try store(in: folder).close()
    let store = try folder.open(nil)
    let few = store.query(Sample.self).where(\.count, in: 10..<20)
    #expect(try few.explain().indexes.first?.fields == ["count"])
    let counts = try few.sorted(by: \.moment).entries().map { try $0.count }
    #expect(counts == (10..<20).reversed())
    #expect(try few.where(\.title, is: "title 12").explain().openedFields == ["title"])
    #expect(throws: NotelogError(.locked, "")) { try few.where(\.title, is: "title 12").entries() }
    try store.unlock(TemporaryFolder.key)
    #expect(try few.where(\.title, is: "title 12").count() == 1)
    // Of the ten that the index leaves, and of no other.
    #expect(store.metrics.fieldsOpened == 10)
  }

  @Test func `a snapshot from before an index goes through all of its records`() throws {
    let folder = try TemporaryFolder()
    let store = try store(in: folder)
    let before = store.snapshot()
    try store.write { tx in
      for entry in try store.query(Sample.self).filter(\.count, { $0 < 5 }).entries() {
        try tx.update(Sample.self, entry.id) { $0.set(\.count, 3_000) }
      }
    }
    #expect(try store.query(Sample.self).where(\.count, is: 3_000).explain().candidateCount == 5)
    #expect(try before.query(Sample.self).where(\.count, is: 3).explain().indexes.isEmpty)
    #expect(try before.query(Sample.self).where(\.count, is: 3).count() == 1)
    let after = store.snapshot()
    try store.write { tx in
      for entry in try store.query(Sample.self).where(\.count, is: 3_000).entries() {
        try tx.delete(Sample.self, entry.id)
      }
    }
    #expect(
      try after.query(Sample.self).where(\.count, is: 3_000).explain().indexes.first?.fields == ["count"])
    #expect(try after.query(Sample.self).where(\.count, is: 3_000).count() == 5)
    #expect(try store.query(Sample.self).where(\.count, is: 3_000).count() == 0)
  }

  @Test func `a field that is none is named by the plan`() throws {
    let folder = try TemporaryFolder()
    let store = try store(in: folder)
    #expect(try store.query(Sample.self).where(\.count, is: 3).explain().candidateCount == 1)
    #expect(throws: NotelogError(.invalidArgument, "")) {
      try store.query(Sample.self).where(\.name.count, is: 3).explain()
    }
  }
}
