// Values that become others when a schema changes: each once, whatever interrupts it.

import Foundation
import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog

private struct Before: Record {
  var id = RecordID()
  var name = ""
  var age = ""
  static let schema = Schema<Before>("person") {
    Sealed("name", \.name)
    Plain("age", \.age)
  }
}

/// What the closures of `After` are to do, and have done.
private let calls = Lock<(counts: [RecordID: Int], failAt: Int?)>(([:], nil))

/// What the first call of a closure does besides.
private let atFirstCall = Lock<(@Sendable () -> Void)?>(nil)

private struct Interrupted: Error {}

private struct After: Record, Equatable {
  var id = RecordID()
  var first = ""
  var last = ""
  var years = 0
  static let schema = Schema<After>("person") {
    Sealed("first", \.first)
    Sealed("last", \.last)
    Plain("years", \.years, indexed: true)
    Migrated("name") { old, person in
      atFirstCall.withLock { $0.take() }?()
      let fails = calls.withLock { calls in
        calls.counts[old.id, default: 0] += 1
        return calls.failAt == calls.counts.values.reduce(0, +)
      }
      if fails { throw Interrupted() }
      guard case .text(let name) = try old.value("name") else { return }
      let parts = name.split(separator: " ").map(String.init)
      person.set(\.first, parts.first ?? "")
      person.set(\.last, parts.last ?? "")
    }
    Migrated("age") { old, person in
      if case .text(let age) = try old.value("age") { person.set(\.years, Int(age) ?? -1) }
    }
  }
}

@Suite(.serialized) struct MigrationCrashTests {
  private func people(_ count: Int) -> [Before] {
    (0..<count).map { Before(name: "First\($0) Last\($0)", age: "\($0)") }
  }

  private func expectMigrated(_ store: Store, _ people: [Before]) throws {
    for (number, person) in people.enumerated() {
      let record = try #require(try store.get(After.self, person.id)).record()
      #expect(record == After(id: person.id, first: "First\(number)", last: "Last\(number)", years: number))
    }
    #expect(try store.query(After.self).where(\.years, in: 0..<10).count() == min(10, people.count))
    let fields = try #require(try store.collection("person").get(people[0].id)).fields
    #expect(fields.map(\.name) == ["first", "last", "years"])
    #expect(try store.migrate(After.self).recordCount == 0)
  }

  @Test func `values become others once and for all, and the old ones go`() throws {
    calls.withLock { $0 = ([:], nil) }
    let folder = try TemporaryFolder()
    let store = try folder.create()
    #expect(try store.migrate(After.self).recordCount == 0)
    let people = people(1_000)
    try store.putAll(people)
    let error = #expect(throws: NotelogError.self) { try store.get(After.self, people[0].id) }
    #expect(error?.code == .schemaConflict && error?.message.contains("migrate(After.self)") == true)
    #expect(throws: NotelogError(.schemaConflict, "")) { try store.putAll([After()]) }
    #expect(throws: NotelogError(.schemaConflict, "")) {
      try store.write { tx in try tx.update(After.self, people[0].id) { $0.set(\.years, 1) } }
    }
    #expect(try store.migrate(After.self).recordCount == 1_000)
    try expectMigrated(store, people)
    #expect(calls.withLock { $0.counts.count == 1_000 && $0.counts.values.allSatisfy { $0 == 1 } })
    try store.close()
    try expectMigrated(try folder.open(), people)
  }

  @Test func `a closure that throws ends it, and the next call goes on where it was`() throws {
    calls.withLock { $0 = ([:], 700) }
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let people = people(1_000)
    try store.putAll(people)
    #expect(throws: NotelogError(.schemaConflict, "")) { try store.migrate(After.self) }
    #expect(throws: NotelogError(.schemaConflict, "")) { try store.get(After.self, people[0].id) }
    try store.close()
    store = try folder.open(nil)
    #expect(throws: NotelogError(.locked, "")) { try store.migrate(After.self) }
    calls.withLock { $0.failAt = nil }
    try store.unlock(TemporaryFolder.key)
    let done = try store.migrate(After.self).recordCount
    #expect(done == 1_000 - 512)
    try expectMigrated(store, people)
    // Those of the transaction that was given up were asked a second time, the others once.
    let counts = calls.withLock { Array($0.counts.values) }
    #expect(counts.filter { $0 > 1 }.count <= 256 && counts.max() == 2 + 1)
  }

  @Test
  func `it ends before its next transaction when its task is cancelled, and goes on with the next call`()
    async throws
  {
    calls.withLock { $0 = ([:], nil) }
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let people = people(1_000)
    try store.putAll(people)
    let (isUnderWay, isCancelled) = (Flag(false), Flag(false))
    let hold: @Sendable () -> Void = {
      _ = isUnderWay.exchange(true)
      while !isCancelled.isSet { Threads.yield() }
    }
    atFirstCall.withLock { $0 = hold }
    let task = Task { try await store.run { try $0.migrate(After.self) } }
    while !isUnderWay.isSet { await Task.yield() }
    task.cancel()
    _ = isCancelled.exchange(true)
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try store.migrate(After.self).recordCount == 1_000 - 256)
    try expectMigrated(store, people)
  }

  @Test
  func `a crash at any call leaves each record as it was or as it becomes, and the rest is made up for`()
    throws
  {
    calls.withLock { $0 = ([:], nil) }
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    let disk = SimulatedDisk()
    let people = people(30)
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    try store.putAll(people)
    let start = disk.callCount
    var migration = FieldMigration<After>(store: store, recordCountMax: 8)
    try migration.run()
    #expect(migration.summary.recordCount == 30)
    let calls = start..<disk.callCount
    var (unfinished, tried) = (Set<Int>(), 0)
    for call in disk.crashPoints where calls.contains(call) {
      for loss in LossModel.allCases {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let survivor = try Store.open(in: image, unlocking: TemporaryFolder.key, options: options)
        let done = try survivor.migrate(After.self).recordCount
        #expect([0, 6, 14, 22, 30].contains(done), "after \(disk.describe(call: call)), \(loss)")
        unfinished.insert(done)
        tried += 1
        try expectMigrated(survivor, people)
        try survivor.close()
      }
    }
    #expect(tried > 20 && unfinished == [0, 6, 14, 22, 30])
  }

  /// The fields are retired in a transaction of its own: somebody who has the turn before it may still write
  /// values, which would be lost.
  @Test func `a record that comes by an old value just before the fields are retired is migrated too`() throws
  {
    calls.withLock { $0 = ([:], nil) }
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    for round in 0..<40 {
      let store = try Store.create(
        in: SimulatedDisk(), unlocking: TemporaryFolder.key, options: options)
      try store.putAll([Before(name: "First0 Last0", age: "0")])
      #expect(try store.query(Before.self).count() == 1)
      try store.write { tx in
        for entry in try store.query(Before.self).entries() { try tx.delete(Before.self, entry.id) }
      }
      let late = Before(name: "First1 Last1", age: "1")
      let hasTurn = Flag(false)
      let isMigrating = Flag(false)
      try Threads.run(2) { thread in
        guard thread == 0 else {
          while !hasTurn.isSet { Threads.yield() }
          _ = isMigrating.exchange(true)
          #expect(try store.migrate(After.self).recordCount == 1)
          return
        }
        try store.write { tx in
          _ = hasTurn.exchange(true)
          while !isMigrating.isSet { Threads.yield() }
          // By then the other has found nothing to change, in most rounds, and waits for the turn.
          for _ in 0..<round * 100 { Threads.yield() }
          try tx.put(late)
        }
      }
      let record = try #require(try store.get(After.self, late.id)).record()
      #expect(record == After(id: late.id, first: "First1", last: "Last1", years: 1), "round \(round)")
      try store.close()
    }
  }

  @Test func `a damaged record is left out, and the others are migrated`() throws {
    calls.withLock { $0 = ([:], nil) }
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let people = people(3)
    try store.putAll(people)
    // The name of the second is moved to it from the third: sealed for another record.
    let stored = try #require(try store.get(Before.self, people[2].id)).stored
    try store.write { tx in
      let plan = try tx.plan(for: Before.self).collection
      let moved = try OwnedRecord(
        id: people[1].id, revision: 0, collection: plan.number, copying: stored.body.rawSpan)
      try tx.merge(moved.id, over: moved, plan, changed: []) { _, _ in }
    }
    let summary = try store.migrate(After.self)
    #expect(summary.recordCount == 2 && summary.findings.map(\.record) == [people[1].id])
    #expect(try store.get(After.self, people[0].id)?.last == "Last0")
    #expect(try store.get(After.self, people[1].id)?.last == "")
    #expect(try store.migrate(After.self).recordCount == 0)
  }
}
