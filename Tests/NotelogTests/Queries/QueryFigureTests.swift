// How many, the least, the greatest and the sum; deleting what is found; queries that are cancelled.

import Foundation
import NotelogBase
@testable import Notelog
import Testing

/// What was measured: numbers of several types, some of them missing.
private struct Measurement: Record {
  var id = RecordID()
  var count = 0
  var ratio = 0.0
  var small: UInt8 = 0
  var depth: Int?
  var moment: Date?
  var name = ""
  var secret = 0
  static let schema = Schema<Measurement>("measurement") {
    Plain("count", \.count, indexed: true)
    Plain("ratio", \.ratio, indexed: true)
    Plain("small", \.small)
    Plain("depth", \.depth, indexed: true)
    Plain("moment", \.moment)
    Plain("name", \.name, indexed: true)
    Sealed("secret", \.secret)
  }
}

@Suite struct QueryFigureTests {
  private func filled(_ folder: TemporaryFolder) throws -> Store {
    let store = try folder.create()
    try store.putAll(
      (0..<300).map {
        Measurement(
          count: $0 - 100, ratio: $0 == 7 ? .nan : Double($0) / 4, small: UInt8($0 % 200),
          depth: $0 % 3 == 0 ? nil : -$0,
          moment: $0 % 2 == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double($0)), name: "name \($0)",
          secret: $0)
      })
    return store
  }

  @Test func `the least, the greatest and the sum are those of the records found`() throws {
    let folder = try TemporaryFolder()
    let all = try filled(folder).query(Measurement.self)
    #expect(try all.count() == 300)
    #expect(try all.min(of: \.count) == -100 && all.max(of: \.count) == 199)
    #expect(try all.sum(of: \.count) == (-100..<200).reduce(0, +))
    // NaN is no number, and nil no value.
    #expect(try all.min(of: \.ratio) == 0 && all.max(of: \.ratio) == 299.0 / 4)
    #expect(try all.where(\.count, in: ..<(-93)).sum(of: \.ratio) == 21.0 / 4)
    #expect(try all.sum(of: \.ratio).isNaN)
    #expect(try all.min(of: \.depth) == -299 && all.max(of: \.depth) == -1)
    #expect(try all.sum(of: \.depth) == -(0..<300).filter { $0 % 3 != 0 }.reduce(0, +))
    #expect(try all.max(of: \.moment) == Date(timeIntervalSinceReferenceDate: 299))
    #expect(try all.min(of: \.name) == "name 0" && all.max(of: \.name) == "name 99")
    #expect(try all.max(of: \.secret) == 299 && all.sum(of: \.secret) == 300 * 299 / 2)
    let none = all.where(\.count, in: 1_000...)
    #expect(try none.min(of: \.count) == nil && none.max(of: \.depth) == nil && none.sum(of: \.count) == 0)
    let some = all.where(\.name, hasPrefix: "name 29")
    #expect(try some.count() == 11 && some.max(of: \.count) == 199 && some.min(of: \.count) == -71)
    #expect(try some.sum(of: \.count) == -71 + (190...199).reduce(0, +))
  }

  @Test func `limit and offset apply to figures`() throws {
    let folder = try TemporaryFolder()
    let all = try filled(folder).query(Measurement.self).sorted(by: \.count)
    let page = all.limit(10, offset: 5)
    #expect(try page.count() == 10 && page.min(of: \.count) == -95 && page.max(of: \.count) == -86)
    #expect(try page.sum(of: \.count) == (-95 ... -86).reduce(0, +))
    #expect(try page.max(of: \.depth) == -5)
    let rest = all.after(try all.cursor(at: try #require(try page.first())))
    #expect(
      try rest.count() == 294 && rest.min(of: \.count) == -94
        && rest.sum(of: \.count) == (-94..<200).reduce(0, +))
  }

  @Test func `a sum that its type can't hold is refused`() throws {
    let folder = try TemporaryFolder()
    let all = try filled(folder).query(Measurement.self)
    #expect(throws: NotelogError(.limitExceeded, "")) { try all.sum(of: \.small) }
    #expect(throws: NotelogError(.limitExceeded, "")) { try all.parallel(2).sum(of: \.small) }
    #expect(try all.where(\.count, in: ..<(-90)).sum(of: \.small) == 45)
  }

  @Test func `figures over plain fields open none, and read few records where an index says them`() throws {
    let folder = try TemporaryFolder()
    try filled(folder).close()
    let store = try folder.open(nil)
    let all = store.query(Measurement.self)
    #expect(try all.count() == 300 && all.sum(of: \.count) == (-100..<200).reduce(0, +))
    #expect(try all.min(of: \.count) == -100 && all.max(of: \.depth) == -1 && all.min(of: \.ratio) == 0)
    #expect(throws: NotelogError(.locked, "")) { try all.max(of: \.secret) }
    #expect(store.metrics.fieldsOpened == 0)
    #expect(
      try all.sorted(by: \.count).limit(1).explain().description
        == "index on count, ascending; 300 candidates; opens nothing; at most 1")
  }

  /// The figures are those of the sound records, also where what stores list of them names the damaged one.
  @Test func `figures leave out what is known to be damaged, and tell of it`() throws {
    let folder = try TemporaryFolder()
    try filled(folder).close()
    try folder.alter("000000000001.journal") { $0[20_000] ^= 4 }
    let store = try folder.open()
    let told = Lock(0)
    let all = store.query(Measurement.self).onDamage { _ in told.withLock { $0 += 1 } }
    #expect(try all.count() == 299 && told.withLock { $0 } == 1)
    let left = try all.entries().reduce(0) { $0 + (try $1.count) }
    #expect(left != (-100..<200).reduce(0, +))
    #expect(try all.sum(of: \.count) == left)
    // Now everybody knows.
    #expect(
      try store.query(Measurement.self).count() == 299
        && store.query(Measurement.self).sum(of: \.count) == left)
    #expect(try all.max(of: \.secret) != nil && all.min(of: \.count) == -100)
  }

  @Test func `an index of an optional field leads to nil and to values`() throws {
    let folder = try TemporaryFolder()
    let all = try filled(folder).query(Measurement.self)
    #expect(
      try all.where(\.depth, in: (-10)...).explain().description
        == "index on depth from -10...; 7 candidates; 1 condition; opens nothing")
    #expect(try all.where(\.depth, in: (-10)...).count() == 7)
    #expect(try all.where(\.depth, is: -8).explain().indexes.first?.fields == ["depth"])
    #expect(try all.where(\.depth, is: nil).count() == 100 && all.where(\.depth, isNot: nil).count() == 200)
    let page = all.sorted(by: \.depth).limit(102)
    #expect(try page.explain().indexes.first?.fields == ["depth"])
    #expect(try page.entries().suffix(2).map { try $0.depth } == [-299, -298])
    #expect(try all.sorted(by: \.depth, .descending).limit(2).entries().map { try $0.depth } == [-1, -2])
    // Nearly all have it, or nearly none.
    let store = all.store
    try store.write { tx in
      _ = try tx.deleteAll(
        Measurement.self, where: .field(\.depth, isNot: nil) && .field(\.count, in: (-95)...))
    }
    #expect(try all.where(\.depth, isNot: nil).entries().count == 3)
  }

  private struct Required: Record {
    var id = RecordID()
    var name = ""
    static let schema = Schema<Required>("made") { Plain("name", \.name, indexed: true) }
  }

  private struct Relaxed: Record {
    var id = RecordID()
    var name: String?
    static let schema = Schema<Relaxed>("made") { Plain("name", \.name, indexed: true) }
  }

  /// Keys from before say nothing of a presence: "\u{1}a" and a present "a" would be one.
  @Test func `a field that became optional is asked without its index`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll((0..<100).map { Required(name: "\u{1}\($0)") })
    try store.putAll((0..<100).map { Relaxed(name: $0 % 2 == 0 ? nil : "\($0)") })
    let all = store.query(Relaxed.self)
    #expect(try all.where(\.name, is: "5").explain().indexes.isEmpty)
    #expect(try all.where(\.name, is: "5").count() == 1 && all.where(\.name, is: "\u{1}5").count() == 1)
    #expect(try all.where(\.name, is: nil).count() == 50)
    #expect(try all.sorted(by: \.name).limit(51).entries().last?.name == "\u{1}0")
  }
}

@Suite struct DeleteAllTests {
  @Test func `all records for which a condition holds are deleted, or none`() throws {
    let folder = try TemporaryFolder()
    let store = try filled(folder)
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try store.write { tx in
        #expect(try tx.deleteAll(Measurement.self, where: .field(\.count, in: 50...)) == 50)
        throw Stop()
      }
    }
    #expect(try store.query(Measurement.self).count() == 100)
    #expect(
      try store.write { tx in
        try tx.deleteAll(Measurement.self, where: .field(\.count, in: 90...) || .field(\.secret, is: 3))
      } == 11)
    #expect(
      try store.query(Measurement.self).entries().map { try $0.count }.sorted() == [0, 1, 2] + Array(4..<90))
    #expect(
      try store.write { tx in try tx.deleteAll(Measurement.self, where: .field(\.count, is: 1_000)) } == 0)
    #expect(
      try store.write { tx in try tx.deleteAll(Measurement.self, where: .field(\.count, in: 0...)) } == 89)
    #expect(try store.query(Measurement.self).count() == 0 && store.query(Measurement.self).entries().isEmpty)
  }

  private func filled(_ folder: TemporaryFolder) throws -> Store {
    let store = try folder.create()
    try store.putAll((0..<100).map { Measurement(count: $0, secret: $0) })
    return store
  }

  @Test func `deleting sees what the transaction wrote before`() throws {
    let folder = try TemporaryFolder()
    let store = try filled(folder)
    let ids = try store.query(Measurement.self).sorted(by: \.count).entries().map(\.id)
    try store.write { tx in
      try tx.put(Measurement(count: 1_000, secret: 5))
      // One moves out of reach, one into it, one is gone already.
      try tx.update(Measurement.self, ids[99]) { $0.set(\.count, -1) }
      try tx.update(Measurement.self, ids[0]) { $0.set(\.count, 2_000) }
      try tx.delete(Measurement.self, ids[98])
      #expect(try tx.deleteAll(Measurement.self, where: .field(\.count, in: 95...)) == 5)
      #expect(try tx.get(Measurement.self, ids[0]) == nil)
      #expect(try tx.get(Measurement.self, ids[99]) != nil)
      #expect(try tx.deleteAll(Measurement.self, where: .field(\.count, in: 95...)) == 0)
    }
    #expect(
      try store.query(Measurement.self).sorted(by: \.count).entries().map { try $0.count } == [-1]
        + Array(1..<95))
  }

  @Test func `a record that can't be read stays, and is told of`() throws {
    let folder = try TemporaryFolder()
    try filled(folder).close()
    try folder.alter("000000000001.journal") { $0[9_000] ^= 4 }
    let store = try folder.open()
    let told = Lock(0)
    let count = try store.write { tx in
      try tx.deleteAll(
        Measurement.self, where: .field(\.count, in: 0...), onDamage: { _ in told.withLock { $0 += 1 } })
    }
    #expect(count == 99 && told.withLock { $0 } == 1)
    #expect(store.damage.lostRecordCount == 1)
  }
}

@Suite struct CancellationTests {
  private func filled(_ folder: TemporaryFolder) throws -> Store {
    let store = try folder.create()
    try store.putAll((0..<5_000).map { Measurement(count: $0, secret: $0) })
    return store
  }

  /// Asks in a task that is cancelled when the query has come to its first record.
  private func cancelled(
    _ store: Store, _ ask: @escaping @Sendable (Query<Measurement>) throws -> Void,
    isRun: Bool = true
  ) async -> (error: (any Error)?, seen: Int) {
    let seen = Lock(0)
    let handle = Lock<Task<Void, any Error>?>(nil)
    let query = store.query(Measurement.self).filter(\.count) { _ in
      if seen.withLock({
        $0 += 1; return $0
      }) == 1 {
        while handle.withLock({ $0 }) == nil {}
        handle.withLock { $0 }?.cancel()
      }
      return true
    }
    let task = Task {
      if isRun { try await store.run { _ in try ask(query) } } else { try { try ask(query) }() }
    }
    handle.withLock { $0 = task }
    let result = await task.result
    return (result.failure, seen.withLock { $0 })
  }

  @Test func `a query of a task ends with it`() async throws {
    let folder = try TemporaryFolder()
    let store = try filled(folder)
    _ = try store.query(Measurement.self).sorted(by: \.count).limit(1).entries()
    let ways: [@Sendable (Query<Measurement>) throws -> Void] = [
      { _ = try $0.entries() }, { _ = try $0.count() },
      { _ = try $0.sorted(by: \.secret).entries() },
      { _ = try $0.sorted(by: \.count).limit(4_000).entries() },
      { _ = try $0.where(.field(\.count, in: 0..<300) || .field(\.count, in: 700..<900)).entries() },
      { _ = try $0.sum(of: \.secret) },
    ]
    for (number, way) in (ways + ways).enumerated() {
      let (error, seen) = await cancelled(store, way, isRun: number < ways.count)
      #expect(error is CancellationError, "way \(number): \(String(describing: error))")
      #expect(seen <= 65, "way \(number): \(seen)")
    }
    // Several threads end with the one whose task it is.
    let parallel = await cancelled(store, { _ = try $0.parallel(3).count() })
    #expect(parallel.error is CancellationError && parallel.seen <= 3 * 65)
    // And nothing is left of it.
    #expect(try store.query(Measurement.self).parallel(2).filter(\.count) { $0 > -1 }.count() == 5_000)
  }

  @Test func `the making of an index ends with the task that asks for it, and the next query makes it`()
    async throws
  {
    let folder = try TemporaryFolder()
    let store = try filled(folder)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      _ = try store.query(Measurement.self).sorted(by: \.count).limit(3).entries()
    }
    task.cancel()
    #expect(await task.result.failure is CancellationError)
    let first = try store.query(Measurement.self).sorted(by: \.count).limit(3).entries()
    #expect(try first.map { try $0.count } == [0, 1, 2])
  }

  @Test func `where one thread of a query fails, its error is told`() throws {
    let folder = try TemporaryFolder()
    let store = try filled(folder)
    struct Odd: Error {}
    #expect(throws: Odd.self) {
      try store.query(Measurement.self).parallel(3).filter(\.count) {
        if $0 == 4_321 { throw Odd() } else { true }
      }.count()
    }
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
