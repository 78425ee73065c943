// Queries whose answers are kept up to date.

import Foundation
import NotelogBase
import NotelogTestSupport
import Observation
import Testing

@testable import Notelog

private struct Item: Record {
  var id = RecordID()
  var rank = 0
  var title = ""
  static let schema = Schema<Item>("item") {
    Plain("rank", \.rank, indexed: true)
    Sealed("title", \.title)
  }
}

extension QueryUpdate {
  /// What the entries are by the differences alone, from what was there before.
  fileprivate func applied(to old: [RecordID]) -> Bool {
    let rest = old.filter { !removed.contains($0) && !moved.contains($0) }
    let new = entries.map(\.id)
    return new.filter { !inserted.contains($0) && !moved.contains($0) } == rest
      && Set(new) == Set(old).subtracting(removed).union(inserted)
  }
}

@Suite struct LiveQueryTests {
  @Test func `a query's updates say what came, went, moved and changed, and no more`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let items = (0..<5).map { Item(rank: $0 * 10, title: "\($0)") }
    try store.putAll(items)
    let ids = items.map(\.id)
    var updates = QueryUpdates(query: store.query(Item.self).where(\.rank, in: 0..<100).sorted(by: \.rank))
      .makeAsyncIterator()
    let first = try #require(try await updates.next())
    #expect(first.entries.map(\.id) == ids && first.inserted == ids)
    #expect(first.removed.isEmpty && first.moved.isEmpty && first.changed.isEmpty)
    let new = Item(rank: 15)
    try await store.write { tx in
      try tx.put(new)
      try tx.delete(Item.self, ids[3])
      try tx.update(Item.self, ids[0]) { $0.set(\.rank, 99) }
      try tx.update(Item.self, ids[2]) { $0.set(\.title, "x") }
    }
    let second = try #require(try await updates.next())
    #expect(second.entries.map(\.id) == [ids[1], new.id, ids[2], ids[4], ids[0]])
    #expect(second.inserted == [new.id] && second.removed == [ids[3]])
    #expect(second.moved == [ids[0]])
    #expect(Set(second.changed) == [ids[0], ids[2]])
    // What leaves the answer as it is, is not told: the next element is of what comes after it.
    try store.putAll([Item(rank: 1_000)])
    try store.putAll([Note(title: "another type")])
    let next = Task { [updates] in
      var updates = updates
      return (try await updates.next(), updates)
    }
    while updates.news.waitingCount > 0 { await Task.yield() }
    try await store.write { tx in try tx.update(Item.self, ids[1]) { $0.set(\.rank, 200) } }
    let answer = try await next.value
    updates = answer.1
    let third = try #require(answer.0)
    #expect(third.removed == [ids[1]] && third.inserted.isEmpty && third.changed.isEmpty)
    #expect(store.metrics.fieldsOpened == 0)
    try await store.close()
    #expect(try await updates.next() == nil)
  }

  /// The bug: news that was waiting when the store was closed had the query asked, which threw `closed`.
  @Test func `updates end where the store is closed, whatever news waits, and where it was closed before`()
    async throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var updates = QueryUpdates(query: store.query(Item.self)).makeAsyncIterator()
    var late = QueryUpdates(query: store.query(Item.self)).makeAsyncIterator()
    #expect(try await updates.next()?.entries.count == 0)
    try store.putAll([Item(rank: 1)])
    #expect(updates.news.waitingCount == 1)
    try await store.close()
    #expect(try await updates.next() == nil)
    #expect(try await late.next() == nil)
  }

  @Test func `differences lead from one answer to the next, with no more moves than needed`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var generator = SeededGenerator(seed: 34)
    var items = (0..<40).map { Item(rank: $0) }
    try store.putAll(items)
    var updates = QueryUpdates(query: store.query(Item.self).sorted(by: \.rank)).makeAsyncIterator()
    var shown: [RecordID] = []
    for round in 0..<60 {
      let update = try #require(try await updates.next())
      #expect(update.applied(to: shown) && update.moved.count <= 1, "round \(round)")
      #expect(update.entries.map(\.id) == items.sorted { ($0.rank, $0.id) < ($1.rank, $1.id) }.map(\.id))
      shown = update.entries.map(\.id)
      let chosen = items.randomElement(using: &generator)!
      if round % 3 == 0 {
        items.removeAll { $0.id == chosen.id }
        try await store.write { tx in _ = try tx.delete(Item.self, chosen.id) }
      } else {
        let moved = Item(
          id: round % 3 == 1 ? chosen.id : RecordID(), rank: .random(in: 0..<40, using: &generator))
        items.removeAll { $0.id == moved.id }
        items.append(moved)
        try await store.write { tx in _ = try tx.put(moved) }
      }
    }
  }

  @Test func `a slow observer gets the newest state with one difference, and costs no queue`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let items = (0..<200).map { Item(rank: $0) }
    try store.putAll(items)
    var updates = QueryUpdates(query: store.query(Item.self).sorted(by: \.rank).limit(50)).makeAsyncIterator()
    _ = try await updates.next()
    for round in 0..<50 {
      try store.putAll(items.map { Item(id: $0.id, rank: $0.rank + round) }, .buffered)
    }
    #expect(updates.news.waitingCount == 1)
    let update = try #require(try await updates.next())
    #expect(update.changed.count == 50 && update.inserted.isEmpty && update.moved.isEmpty)
    #expect(updates.news.waitingCount == 0)
  }

  @Test func `an error is told, and the sequence goes on`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let item = Item(rank: 1, title: "a")
    try store.putAll([item])
    store.lock()
    var updates = QueryUpdates(query: store.query(Item.self).filter(\.title) { $0 == "a" })
      .makeAsyncIterator()
    await #expect(throws: NotelogError(.locked, "")) { try await updates.next() }
    try store.unlock(TemporaryFolder.key)
    try await store.write { tx in try tx.update(Item.self, item.id) { $0.set(\.rank, 2) } }
    #expect(try await updates.next()?.entries.map(\.id) == [item.id])
  }

  /// The bug: whoever began to observe a locked store saw nothing of what opened with it until the next commit.
  @Test func `an observer begun while locked is told once the store is unlocked`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let item = Item(rank: 1, title: "a")
    try store.putAll([item])
    store.lock()
    var updates = QueryUpdates(query: store.query(Item.self)).makeAsyncIterator()
    let shown = try #require(try await updates.next()).entries
    #expect(throws: NotelogError(.locked, "")) { try shown[0].title }
    let query = store.snapshot().query(Item.self).filter(\.title) { $0 == "a" }
    var past = QueryUpdates(query: query).makeAsyncIterator()
    await #expect(throws: NotelogError(.locked, "")) { try await past.next() }
    var titles = ValueUpdates(store: store) { try store.get(Item.self, item.id)?.title }.makeAsyncIterator()
    await #expect(throws: NotelogError(.locked, "")) { try await titles.next() }
    let changes = store.changes()
    try store.unlock(TemporaryFolder.key)
    for news in [updates.news, titles.news] { try #require(news.waitingCount == 1) }
    let update = try #require(try await updates.next())
    #expect(try update.isEmpty && update.entries.map { try $0.title } == ["a"])
    #expect(try await titles.next() == "a")
    #expect(try await past.next()?.entries.map(\.id) == [item.id])
    #expect(try await past.next() == nil)
    // Nothing has changed.
    #expect(changes.subscription.waitingCount == 0)
  }

  /// The bug: a process that asked a live query again while a change waited for it trapped, as the range of
  /// revisions ran backwards.
  @Test @MainActor func `a live query is asked again while a change waits for it`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let live = LiveQuery(store.query(Item.self))
    // Not awaited: the query's own task would go first.
    func put() throws { try store.write { tx in try tx.put(Item(rank: 1)) } }
    try put()
    live.refresh()
    live.refresh()
    await live.change { live.entries.count == 1 }
    try await store.close()
  }

  @Test @MainActor func `a live query is observed, and ends when nobody holds it`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let item = Item(rank: 1, title: "a")
    try store.putAll([item])
    weak var held: LiveQuery<Item>?
    do {
      let live = LiveQuery(store.query(Item.self).filter(\.title) { $0 != "z" }.sorted(by: \.rank))
      held = live
      await live.change { !live.entries.isEmpty }
      #expect(live.entries.map(\.id) == [item.id] && live.lastUpdate?.inserted == [item.id])
      let isTold = Lock(false)
      withObservationTracking {
        _ = live.error
      } onChange: {
        isTold.withLock { $0 = true }
      }
      store.lock()
      try await store.write { tx in try tx.update(Item.self, item.id) { $0.set(\.rank, 2) } }
      await live.change { live.error != nil }
      #expect(isTold.withLock { $0 })
      #expect((live.error as? NotelogError)?.code == .locked && live.entries.count == 1)
      try store.unlock(TemporaryFolder.key)
      await live.change { live.error == nil }
      #expect(live.lastUpdate?.changed == [item.id])
    }
    // The task holds it no longer than it takes to take an update.
    while held != nil { await Task.yield() }
    while store.hub.observerCount > 0 { await Task.yield() }
  }

  /// The figure: 100,000 changes under a live query.
  @Test @MainActor
  func `a hundred thousand changes cost bounded memory, and only what is shown is opened`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let items = (0..<1_000).map { Item(rank: $0, title: "\($0)") }
    try store.putAll(items)
    let live = LiveQuery(store.query(Item.self).sorted(by: \.rank, .descending).limit(50))
    await live.change { !live.entries.isEmpty }
    let (changeCount, batchCount) = (100_000, 1_000)
    let writer = Task.detached {
      var peak = 0
      for batch in 0..<changeCount / batchCount {
        try store.putAll(
          (0..<batchCount).map { number in
            Item(id: items[number].id, rank: batch * 7 + number, title: "\(batch) \(number)")
          }, .buffered)
        peak = max(peak, await live.waitingCount)
      }
      return peak
    }
    let peak = try await writer.value
    #expect(peak <= 1)
    let expected = try store.query(Item.self).sorted(by: \.rank, .descending).limit(50).entries()
    await live.change { live.entries.first?.revision == expected.first?.revision }
    #expect(live.entries.map(\.id) == expected.map(\.id))
    #expect(live.entries.map(\.revision) == expected.map(\.revision))
    #expect(store.metrics.fieldsOpened == 0)
    for entry in live.entries { #expect(try entry.title.hasPrefix("99 ")) }
    #expect(store.metrics.fieldsOpened == 50)
  }
}

extension LiveQuery {
  /// Waits until something holds.
  fileprivate func change(_ holds: () -> Bool) async {
    while !holds() { await Task.yield() }
  }

  fileprivate var waitingCount: Int { news.waitingCount }
}
