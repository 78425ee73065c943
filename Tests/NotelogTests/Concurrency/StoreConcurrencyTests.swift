// Everything that a store can do, on threads side by side: FORMAT.md §21.2, INV-T2 and INV-T4, through the
// whole library.

import Foundation
@testable import Notelog
import NotelogTestSupport
import Testing

/// What the threads of the test do, each until the writers are done.
private struct SideBySide: Sendable {
  let shared: SharedStore
  var store: Store { shared.store }

  // MARK: - Writers

  /// Increments, transfers, and records of the writer's own, of which it alone knows what they are.
  func write(_ writer: Int, rounds: Int) throws {
    defer { shared.endWriter() }
    var random = SeededGenerator(mixing: 77, UInt64(writer))
    let ids = (0..<8).map { RecordID(high: 3, low: UInt64(writer * 100 + $0 + 1)) }
    var own: [RecordID: Int] = [:]
    for round in 1...rounds {
      let level = Notelog.Durability.allCases.randomElement(using: &random) ?? .durable
      try shared.increment(random.pick(0..<SharedStore.counters.count), level)
      try shared.transfer(
        random.pick(1..<9), from: random.pick(0..<5), to: random.pick(5..<10), level)
      let id = ids[random.pick(0..<ids.count)]
      switch random.pick(0..<4) {
      case 0:
        let isThere = try store.write(level) { tx in try tx.delete(Cell.self, id) }
        try SharedStore.expect(isThere == (own[id] != nil), "a record of one's own came or went")
        own[id] = nil
      case 1:
        let revision = try shared.withKeys {
          try store.putAll(ids.prefix(3).map { Cell(id: $0, kind: Cell.own, count: round) }, level)
        }
        if revision != nil { for id in ids.prefix(3) { own[id] = round } }
      case 2:
        let uploaded: Void? = try shared.withKeys { try upload(id, round, level) }
        if uploaded != nil { own[id] = round }
      default:
        let put: Void? = try shared.withKeys {
          try store.write(level) { tx in
            _ = try tx.put(Cell(id: id, kind: Cell.own, count: round), if: own[id] == nil ? .absent : .always)
          }
        }
        if put != nil { own[id] = round }
      }
      let found = try store.get(Cell.self, id)
      try SharedStore.expect(
        try found?.count == own[id], "what one wrote oneself is \(String(describing: own[id])), not that")
      if let found, let cell = try shared.withKeys({ try found.record() }) { try SharedStore.check(cell) }
    }
  }

  /// A record whose large value is streamed in ahead of it.
  private func upload(_ id: RecordID, _ count: Int, _ level: Notelog.Durability) throws {
    let bytes = Cell.scan(count)
    var done = 0
    let upload = try store.upload(to: \Cell.scan, of: id) { buffer in
      let piece = min(buffer.byteCount, bytes.count - done)
      for index in 0..<piece {
        buffer.storeBytes(of: bytes[done + index], toByteOffset: index, as: UInt8.self)
      }
      done += piece
      return piece
    }
    try store.write(level) { tx in
      try tx.put(Cell(id: id, kind: Cell.own, count: count))
      try tx.update(Cell.self, id) { $0.set(\.scan, upload) }
    }
  }

  // MARK: - Readers

  /// Records one by one: none is older than what was acknowledged, or than the version seen before.
  func get() throws {
    var seen: [RecordID: (revision: UInt64, count: Int)] = [:]
    while shared.isWritten {
      let floors = shared.floors
      let ids = SharedStore.counters + SharedStore.accounts
      let entries = try store.getMany(Cell.self, ids)
      for (number, entry) in entries.enumerated() {
        guard let entry else { throw SharedStore.Violation(description: "record \(number) is gone") }
        let count = try entry.count
        if number < floors.count {
          try SharedStore.expect(count >= floors[number], "counter \(number) lacks what was acknowledged")
        }
        if let before = seen[entry.id] {
          try SharedStore.expect(
            entry.revision >= before.revision && count >= before.count, "record \(number) went backwards")
        }
        seen[entry.id] = (entry.revision, count)
        do {
          if let cell = try shared.withKeys({ try entry.record() }) { try SharedStore.check(cell) }
        } catch let error as NotelogError where error.code == .snapshotExpired {
          // The record has another large value by now, and compaction took the old one.
        }
      }
    }
  }

  /// Moments: each shows whole transactions, and shows the same as long as it is held.
  func snapshot() throws {
    var held: (snapshot: StoreSnapshot, revisions: [RecordID: UInt64])?
    while shared.isWritten {
      let floors = shared.floors
      let snapshot = store.snapshot()
      let entries = try snapshot.query(Cell.self).entries()
      try SharedStore.check(
        try entries.map { (id: $0.id, count: try $0.count, balance: try $0.balance) }, floors: floors)
      for entry in entries.prefix(8) {
        guard let again = try snapshot.get(Cell.self, entry.id) else {
          throw SharedStore.Violation(description: "a snapshot's record is gone")
        }
        if let cell = try shared.withKeys({ try again.record() }) { try SharedStore.check(cell) }
      }
      if let held {
        let again = try held.snapshot.query(Cell.self).entries()
        try SharedStore.expect(
          held.revisions == Dictionary(uniqueKeysWithValues: again.map { ($0.id, $0.revision) }),
          "a snapshot shows something else")
      }
      held = (snapshot, Dictionary(uniqueKeysWithValues: entries.map { ($0.id, $0.revision) }))
    }
  }

  /// Questions that indexes answer, and some that sealed fields are opened for.
  func query() throws {
    while shared.isWritten {
      let accounts = try store.query(Cell.self).where(\.kind, is: Cell.account).entries()
      try SharedStore.expect(
        try accounts.count == SharedStore.accounts.count && accounts.reduce(0) { $0 + (try $1.balance) } == 0,
        "an index shows half of a transfer")
      let highest = try store.query(Cell.self).sorted(by: \.count, .descending).limit(5).entries()
      let counts = try highest.map { try $0.count }
      try SharedStore.expect(counts == counts.sorted(by: >), "what is sorted is out of order: \(counts)")
      let floors = shared.floors
      let least = floors.max() ?? 0
      let found = try store.query(Cell.self).where(\.count, in: least...).entries()
      try SharedStore.expect(
        try !found.isEmpty && found.allSatisfy { try $0.count >= least }, "a range lacks what is in it")
      let secret = try shared.withKeys {
        try store.query(Cell.self).filter(\.secret) { $0.hasPrefix(SharedStore.counters[0].description) }
          .parallel(2).count()
      }
      try SharedStore.expect(secret == nil || secret == 1, "a sealed field is found \(secret ?? 0) times")
    }
  }

  /// All records in the order of the disk, sealed fields opened on the way.
  func scan() throws {
    let secret = try store.field(\Cell.secret)
    while shared.isWritten {
      let floors = shared.floors
      var cells: [(id: RecordID, count: Int, balance: Int)] = []
      try store.scan(Cell.self) { entry in
        cells.append((id: entry.id, count: try entry.count, balance: try entry.balance))
        return true
      }
      try SharedStore.check(cells, floors: floors)
      _ = try shared.withKeys {
        try store.scan(Cell.self) { entry in
          let (text, base) = (try entry.value(of: secret), try entry.base)
          try SharedStore.expect(text == Cell.secret(entry.id, base), "a scan comes to '\(text)' at \(base)")
          return true
        }
      }
    }
  }

  /// Commits in their order, none left out; each can be read once it is told of.
  func observe(_ subscription: ChangeSubscription) throws -> Set<RecordID> {
    var standing = Set(SharedStore.counters + SharedStore.accounts)
    var last: UInt64 = 0
    while true {
      // Asked first: what was written by then is told by now.
      let isWritten = shared.isWritten
      while let changes = subscription.poll() {
        try SharedStore.expect(
          changes.isComplete && changes.revisions.lowerBound > last, "commits are told out of order")
        last = changes.revisions.upperBound
        standing.formUnion(changes.written)
        standing.subtract(changes.deleted)
        for id in changes.written {
          guard let entry = try store.get(Cell.self, id) else { continue }
          try SharedStore.expect(
            entry.revision >= changes.revisions.lowerBound, "a commit is told of before it can be read")
        }
      }
      guard isWritten else { return standing }
      Threads.yield()
    }
  }

  // MARK: - Maintenance

  func maintain() throws {
    var round = 0
    while shared.isWritten {
      round += 1
      if round % 3 == 0 {
        try store.journal.checkpoint()
      } else {
        let summary = try store.compact(round % 2 == 0 ? .unlimited : .bytes(50_000))
        try SharedStore.expect(summary.damagedSegments.isEmpty, "compaction found damage")
      }
    }
  }

  /// Backups of a store in use: each holds whole transactions, and all that was acknowledged before it.
  func backUp() throws {
    let backup = try TemporaryFolder()
    while shared.isWritten {
      let floors = shared.floors
      try SharedStore.expect(try store.ship(to: backup.archive).findings.isEmpty, "a backup found damage")
      let restored = try TemporaryFolder()
      try SharedStore.expect(
        try Store.restore(from: backup.archive, to: restored.path).findings.isEmpty, "a backup does not check"
      )
      let copy = try restored.open(nil)
      try SharedStore.check(
        try copy.query(Cell.self).entries().map { (id: $0.id, count: try $0.count, balance: try $0.balance) },
        floors: floors)
      try copy.close()
    }
  }

  /// Locks the store for moments, in which it still lists and updates plain fields.
  func lock() throws {
    var random = SeededGenerator(mixing: 78)
    while shared.isWritten {
      try shared.locked {
        let counts = try store.query(Cell.self).where(\.kind, is: Cell.counter).entries().map { try $0.count }
        try SharedStore.expect(counts.count == SharedStore.counters.count, "a locked store lists others")
      }
      // Unlocked most of the time.
      for _ in 0..<random.pick(10..<60) {
        guard shared.isWritten else { return }
        let id = SharedStore.counters[random.pick(0..<SharedStore.counters.count)]
        guard let entry = try store.get(Cell.self, id) else { continue }
        let secret = try shared.withKeys { try entry.secret }
        try SharedStore.expect(try secret == Cell.secret(id, entry.base), "an unlocked store reads others")
      }
    }
  }
}

@Suite struct StoreConcurrencyTests {
  @Test(arguments: [CompactionPolicy.whenAsked, .automatic])
  func `threads that do everything at once see nothing that never was`(policy: CompactionPolicy) throws {
    let writerCount = 3
    let rounds = TestEffort.isSoak ? 2_000 : 20
    let folder = try TemporaryFolder()
    let shared = try SharedStore(at: folder.path, policy, writerCount: writerCount)
    let work = SideBySide(shared: shared)
    let subscription = ChangeSubscription(["cell"], nil)
    shared.store.observe(subscription)
    let parts: [(name: String, run: @Sendable () throws -> Void)] =
      [
        ("get", work.get), ("snapshot", work.snapshot), ("query", work.query), ("scan", work.scan),
        ("maintain", work.maintain), ("back up", work.backUp), ("lock", work.lock),
        (
          "observe",
          {
            let standing = try work.observe(subscription)
            let found = try Set(shared.store.query(Cell.self).entries().map(\.id))
            try SharedStore.expect(standing == found, "the observer was told of other records")
          }
        ),
      ] + (0..<writerCount).map { writer in ("write", { try work.write(writer, rounds: rounds) }) }
    try Threads.run(parts.count) { thread in
      do { try parts[thread].run() } catch {
        throw SharedStore.Violation(description: "\(parts[thread].name): \(error)")
      }
    }
    // No increment was lost, and none was made twice.
    let counts = try shared.store.getMany(Cell.self, SharedStore.counters).map { try $0?.count }
    #expect(counts == shared.floors)
    #expect(counts.reduce(0) { $0 + ($1 ?? 0) } == writerCount * rounds)
    for entry in try shared.store.query(Cell.self).entries() { try SharedStore.check(try entry.record()) }
    try shared.store.close()
    let verification = try Store.verify(at: folder.path, unlocking: TemporaryFolder.key)
    #expect(verification.verdict == .sound, "\(verification.findings)")
  }
}
