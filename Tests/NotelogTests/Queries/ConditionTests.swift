// Conditions joined by and, or and not: what they find, and what is read for it.

import Foundation
import NotelogBase
import Testing

@testable import Notelog

@Suite struct ConditionTests {
  /// A thousand samples: a count from 0, ten names in turn; every hundredth has the flag, every other one a
  /// text.
  private func store(in folder: TemporaryFolder) throws -> Store {
    let store = try folder.create()
    try store.putAll(
      (0..<1_000).map {
        Sample(
          flag: $0 % 100 == 0, count: $0, small: UInt8($0 % 5), name: "name \($0 % 10)",
          perhaps: $0 % 2 == 0 ? "text \($0)" : nil, title: "title \($0)")
      })
    return store
  }

  private func counts(_ query: Query<Sample>) throws -> [Int] {
    try query.entries().map { try $0.count }.sorted()
  }

  @Test func `conditions are joined by and, or and not`() throws {
    let folder = try TemporaryFolder()
    let all = try store(in: folder).query(Sample.self)
    #expect(try counts(all.where(.field(\.count, is: 3) || .field(\.count, is: 5))) == [3, 5])
    #expect(
      try counts(
        all.where(.field(\.flag, is: true) && !.field(\.count, in: 100...) || .field(\.count, is: 7)))
        == [0, 7])
    #expect(
      try counts(all.where(!(.field(\.count, in: 2...) || .field(\.count, is: 0)))) == [1])
    #expect(
      try counts(all.where(!(.field(\.count, in: 2...) && .field(\.count, in: ..<998)))) == [0, 1, 998, 999])
    #expect(try counts(all.where(\.small, isNot: 0).where(\.count, in: ..<6)) == [1, 2, 3, 4])
  }

  @Test func `ranges are half-open, closed and partial`() throws {
    let folder = try TemporaryFolder()
    let all = try store(in: folder).query(Sample.self)
    #expect(try counts(all.where(\.count, in: 5..<8)) == [5, 6, 7])
    #expect(try counts(all.where(\.count, in: 5...8)) == [5, 6, 7, 8])
    #expect(try counts(all.where(\.count, in: 997...)) == [997, 998, 999])
    #expect(try counts(all.where(\.count, in: ..<2)) == [0, 1])
    #expect(try counts(all.where(\.count, in: ...2)) == [0, 1, 2])
    // nil is in no range.
    #expect(try counts(all.where(\.perhaps, in: "text 99"...)) == [990, 992, 994, 996, 998].sorted())
    #expect(try counts(all.where(\.perhaps, in: ...("text 10"))) == [0, 10])
  }

  @Test func `a text begins with another, or is in a set, byte by byte`() throws {
    let folder = try TemporaryFolder()
    let store = try store(in: folder)
    let all = store.query(Sample.self)
    #expect(try counts(all.where(\.perhaps, hasPrefix: "text 99")) == [990, 992, 994, 996, 998])
    #expect(try counts(all.where(\.name, hasPrefix: "name 3")).count == 100)
    #expect(try counts(all.where(\.title, hasPrefix: "title 99")) == [99] + Array(990..<1_000))
    #expect(try counts(all.where(\.count, in: [3, 1, 4, 1, 5_000])) == [1, 3, 4])
    #expect(try counts(all.where(\.count, in: [])) == [])
    #expect(
      try counts(all.where(\.perhaps, in: ["text 4", nil]).where(\.count, in: ..<6)) == [1, 3, 4, 5])
    try store.putAll([Sample(count: -1, name: "\u{E9}"), Sample(count: -2, name: "e\u{301}")])
    #expect(try counts(all.where(\.name, in: ["e\u{301}", "x"])) == [-2])
    #expect(try counts(all.where(\.name, in: ["e\u{301}", "\u{E9}"])) == [-2, -1])
    #expect(try counts(all.where(\.name, hasPrefix: "e")) == [-2])
  }

  @Test func `an or reads what the indexes of both sides leave, each record once`() throws {
    let folder = try TemporaryFolder()
    let all = try store(in: folder).query(Sample.self)
    let query = all.where(.field(\.flag, is: true) || .field(\.count, in: 95..<105))
    #expect(
      try query.explain().description
        == "index on flag from true, or index on count from 95..<105; 20 candidates; 2 conditions; opens nothing"
    )
    #expect(try counts(query) == [0] + Array(95..<105) + Array(stride(from: 200, to: 1_000, by: 100)))
    #expect(try query.count() == 19)
    #expect(try query.parallel(3).count() == 19)
    #expect(
      try all.where(.field(\.count, is: 3) || .field(\.count, in: 990...)).explain().description
        == "index on count from 3 or 990...; 11 candidates; 2 conditions; opens nothing")
    // A side without an index leaves all of them.
    #expect(try all.where(.field(\.flag, is: true) || .field(\.small, is: 3)).explain().indexes.isEmpty)
    #expect(try all.where(!.field(\.flag, is: false)).explain().indexes.isEmpty)
    let sets = all.where(\.count, in: [8, 3, 5])
    #expect(
      try sets.explain().description
        == "index on count from [8, 3, 5]; 3 candidates; 1 condition; opens nothing")
    let prefix = all.where(\.name, hasPrefix: "name 3").where(\.count, in: ..<500)
    #expect(
      try prefix.explain().description
        == "index on name from \"name 3\"*; 100 candidates; 2 conditions; opens nothing")
    #expect(try prefix.count() == 50)
  }

  @Test func `an or of what is indexed goes in order, too`() throws {
    let folder = try TemporaryFolder()
    let all = try store(in: folder).query(Sample.self)
    let query = all.where(.field(\.count, in: ..<5) || .field(\.count, in: 7..<9)).sorted(
      by: \.count, .descending)
    #expect(try query.explain().indexes.first?.direction == .descending)
    #expect(try query.entries().map { try $0.count } == [8, 7, 4, 3, 2, 1, 0])
    #expect(try query.limit(3).entries().map { try $0.count } == [8, 7, 4])
  }

  @Test func `what is on the left decides whether a sealed field is opened`() throws {
    let folder = try TemporaryFolder()
    let store = try store(in: folder)
    let all = store.query(Sample.self)
    let before = store.metrics.fieldsOpened
    #expect(
      try all.where(.field(\.small, is: 3) && .field(\.title, hasPrefix: "title 3")).count()
        == (0..<1_000).count { $0 % 5 == 3 && "\($0)".hasPrefix("3") })
    #expect(store.metrics.fieldsOpened - before == 200)
    store.lock()
    #expect(try all.where(.field(\.count, in: 0...) || .field(\.title, is: "title 3")).count() == 1_000)
    #expect(throws: NotelogError(.locked, "")) {
      try all.where(.field(\.count, in: 1...) || .field(\.title, is: "title 3")).count()
    }
  }

  /// One damaged record must not take the others away, whichever way leads to them.
  @Test(arguments: [false, true]) func `a damaged record is left out of an or, a not and a set`(
    isIndexed: Bool
  ) throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    try store.putAll((0..<200).map { Sample(count: $0, name: "name \($0 % 10)", title: "title \($0)") })
    let all = { store.query(Sample.self) }
    if isIndexed { _ = try all().where(.field(\.count, is: 1) || .field(\.name, is: "x")).count() }
    try store.close()
    try folder.alter("000000000001.journal") { $0[20_000] ^= 4 }
    store = try folder.open()
    let lost = Set(0..<200).subtracting(try counts(all()))
    #expect(lost.count == 1)
    let number = try #require(lost.first)
    let told = Lock(0)
    let query = all().onDamage { _ in told.withLock { $0 += 1 } }
    let near = number - 2...number + 2
    #expect(try counts(query.where(.field(\.count, in: near) || .field(\.count, is: number))).count == 4)
    #expect(try counts(query.where(\.count, in: Array(near))).count == 4)
    #expect(try counts(query.where(!.field(\.count, in: 200...))).count == 199)
    #expect(
      try query.where(\.name, hasPrefix: "name").sorted(by: \.name).sorted(by: \.count).entries().count == 199
    )
    #expect(told.withLock { $0 } == 4)
  }
}
