// Records that are put into a batch and committed together.

import Foundation
@testable import Notelog
import Testing

private struct Fussy: FieldValue {
  var text = ""
  struct TooLong: Error {}
  var stored: String { get throws { if text.count > 5 { throw TooLong() } else { text } } }
}

extension Fussy {
  init(stored: String) { text = stored }
}

private struct Row: Record {
  var id = RecordID()
  var order = 0
  var text = Fussy()
  static let schema = Schema<Row>("row") {
    Plain("order", \.order, indexed: true)
    Sealed("text", \.text)
  }
}

@Suite struct RecordBatchTests {
  @Test func `what was put is there after the commit, and not before`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var batch = try store.batch(of: Row.self)
    let rows = (0..<300).map { Row(order: $0, text: Fussy(text: "\($0)")) }
    for start in stride(from: 0, to: 300, by: 100) {
      for row in rows[start..<start + 100] { try batch.put(row) }
      let count = batch.count
      #expect(count == 100)
      #expect(try store.query(Row.self).count() == start)
      let revision = try batch.commit(.buffered)
      #expect(try store.get(Row.self, rows[start].id)?.revision == revision)
    }
    let sorted = try store.query(Row.self).sorted(by: \.order, .descending).limit(3).entries()
    #expect(try sorted.map { try $0.text.text } == ["299", "298", "297"])
    // Nothing was put: nothing is written.
    let revision = store.info().nextRevision
    try batch.commit()
    #expect(store.info().nextRevision == revision)
  }

  /// The bug: frames were counted, and a value over 64 KiB has frames of its own: a loop that waited for a
  /// number stepped over it.
  @Test func `records are counted, however many chunks their values take`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var batch = try store.batch(of: Letter.self)
    let letters = (1...3).map { Letter(scan: noise(3 * Limits.chunkBytes, seed: $0)) }
    for (index, letter) in letters.enumerated() {
      try batch.put(letter)
      let count = batch.count
      #expect(count == index + 1)
    }
    #expect(throws: NotelogError(.invalidArgument, "")) { try batch.put(letters[0]) }
    var count = batch.count
    #expect(count == 3)
    try batch.commit(.buffered)
    count = batch.count
    #expect(count == 0)
    try batch.put(letters[0])
    batch.removeAll()
    count = batch.count
    #expect(count == 0)
    #expect(try store.query(Letter.self).count() == 3)
  }

  @Test func `a batch that no transaction has room for is refused, and keeps its records`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var batch = try store.batch(of: Letter.self)
    let scan = [UInt8](repeating: 7, count: Limits.transactionBytes / 5 + 1)
    for _ in 0..<5 { try batch.put(Letter(scan: scan)) }
    #expect(throws: NotelogError(.limitExceeded, "")) { try batch.commit(.buffered) }
    let count = batch.count
    #expect(count == 5)
    #expect(try store.query(Letter.self).count() == 0)
    // One fewer than that has room.
    batch.removeAll()
    for _ in 0..<4 { try batch.put(Letter(scan: scan)) }
    try batch.commit(.buffered)
    #expect(try store.query(Letter.self).count() == 4)
  }

  @Test func `a record that can't be put leaves the others as they were`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var batch = try store.batch(of: Row.self)
    let first = Row(order: 1, text: Fussy(text: "one"))
    var second = Row(order: 2, text: Fussy(text: "too long"))
    try batch.put(first)
    #expect(throws: NotelogError(.invalidArgument, "")) { try batch.put(second) }
    #expect(throws: NotelogError(.invalidArgument, "")) { try batch.put(first) }
    // Its id is not taken: put as it should be, it goes in.
    second.text = Fussy(text: "two")
    try batch.put(second)
    try batch.commit(.buffered)
    try batch.put(first)
    batch.removeAll()
    try batch.put(first)
    try batch.commit(.buffered)
    #expect(
      try store.query(Row.self).sorted(by: \.order).entries().map { try $0.text.text } == ["one", "two"])
  }

  /// A batch keeps keys from one transaction to the next: after a lock it must not seal with them.
  @Test func `a batch outlives a lock, and seals nothing while it lasts`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var batch = try store.batch(of: Row.self)
    try batch.put(Row(order: 1))
    try batch.commit(.buffered)
    store.lock(.everything)
    #expect(throws: NotelogError(.locked, "")) { try batch.put(Row(order: 2)) }
    try store.unlock(TemporaryFolder.key)
    try batch.put(Row(order: 3))
    store.lock(.everything)
    #expect(throws: NotelogError(.locked, "")) { try batch.put(Row(order: 4)) }
    // What was sealed before is committed without a key.
    try batch.commit(.buffered)
    #expect(try store.query(Row.self).count() == 2)
  }

  @Test func `threads put into batches of their own side by side`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let shared = (0..<50).map { Row(order: $0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in 0..<4 {
        group.addTask {
          var batch = try store.batch(of: Row.self)
          for round in 0..<10 {
            for index in 0..<20 { try batch.put(Row(order: thread * 1_000 + round * 20 + index)) }
            // Ids that the other threads write too: the last one stands, and nothing is there twice.
            for row in shared { try batch.put(row) }
            try batch.commit(.buffered)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try store.query(Row.self).count() == 850)
    #expect(try Set(store.query(Row.self).entries().map(\.id)).count == 850)
    try await store.close()
    let found = try Store.verify(at: folder.path, unlocking: TemporaryFolder.key)
    #expect(found.verdict == .sound && found.recordCount == 850)
  }

  /// The bug: it waited for itself, for ever.
  @Test func `a write to the store inside a write closure is refused, and the closure goes on`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var batch = try store.batch(of: Row.self)
    try batch.put(Row(order: 7))
    try store.write { tx in
      #expect(throws: NotelogError(.busy, "")) { try store.putAll([Row(order: 1)]) }
      #expect(throws: NotelogError(.busy, "")) { try store.write { _ in } }
      #expect(throws: NotelogError(.busy, "")) { try batch.commit() }
      try tx.put(Row(order: 2))
    }
    try batch.commit()
    #expect(try store.query(Row.self).sorted(by: \.order).entries().map { try $0.order } == [2, 7])
  }
}
