// Observers learn of every commit, in order, and cost no more than so much memory.

import Foundation
import Testing

@testable import Notelog

@Suite struct ObservationTests {
  @Test func `an observer sees each commit's records, in the order of the commits`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let notes = (0..<10).map { Note(title: "\($0)") }
    // From before there is such a collection.
    var all = store.changes(of: Note.self).makeAsyncIterator()
    var one = store.changes(of: Note.self, notes[3].id).makeAsyncIterator()
    var others = store.changes(of: Everything.self).makeAsyncIterator()
    try store.putAll(notes)
    try await store.write { tx in
      try tx.delete(Note.self, notes[3].id)
      try tx.update(Note.self, notes[4].id) { $0.set(\.time, .distantPast) }
      // Of a record that came and went, what it came to.
      let brief = Note()
      try tx.put(brief)
      try tx.delete(Note.self, brief.id)
      try tx.put(Everything())
    }
    try await store.write { tx in _ = try tx.get(Note.self, notes[5].id) }
    try store.compact()
    try await store.write { tx in try tx.put(notes[3]) }
    let first = try #require(await all.next())
    #expect(first.written == Set(notes.map(\.id)) && first.deleted.isEmpty && first.isComplete)
    let second = try #require(await all.next())
    #expect(second.written == [notes[4].id] && second.deleted.count == 2)
    #expect(second.deleted.contains(notes[3].id))
    #expect(second.revisions.lowerBound > first.revisions.upperBound)
    let third = try #require(await all.next())
    #expect(third.written == [notes[3].id] && third.revisions.lowerBound > second.revisions.upperBound)
    #expect(try store.get(Note.self, notes[3].id)?.revision == third.revisions.upperBound)
    #expect(await one.next()?.written == [notes[3].id])
    #expect(await one.next()?.deleted == [notes[3].id])
    #expect(await one.next()?.written == [notes[3].id])
    #expect(await others.next()?.written.count == 1)
    try await store.close()
    #expect(await all.next() == nil)
    #expect(await one.next() == nil)
    #expect(await others.next() == nil)
    var late = store.changes(of: Note.self).makeAsyncIterator()
    #expect(await late.next() == nil)
  }

  @Test func `an observer that falls behind costs a bounded amount, and misses nothing`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let few = (0..<50).map { Note(title: "\($0)") }
    let changes = store.changes(of: Note.self)
    for round in 0..<10 {
      for note in few {
        try await store.write(.buffered) { tx in try tx.put(Note(id: note.id, title: "\(round)")) }
      }
    }
    try await store.write(.buffered) { tx in try tx.delete(Note.self, few[0].id) }
    try await store.close()
    var revisions: [ClosedRange<UInt64>] = []
    var standing: [RecordID: Bool] = [:]
    for await change in changes {
      #expect(change.isComplete)
      revisions.append(change.revisions)
      for id in change.written { standing[id] = true }
      for id in change.deleted { standing[id] = false }
    }
    #expect(revisions.count == 64)
    // No commit is in none, and none in two.
    #expect(zip(revisions, revisions.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
    #expect(standing.count == 50 && standing.values.count { !$0 } == 1 && standing[few[0].id] == false)
  }

  @Test func `so many changes that naming them would cost too much are told of all the same`() {
    var changes = RecordChanges(1...1)
    for _ in 0..<RecordChanges.recordCountMax { changes.add(RecordID(), isDeletion: false) }
    #expect(changes.isComplete)
    var later = RecordChanges(2...2)
    later.add(RecordID(), isDeletion: true)
    changes.merge(later)
    #expect(!changes.isComplete && changes.written.isEmpty && changes.deleted.isEmpty)
    #expect(changes.revisions == 1...2)
    changes.merge(later)
    #expect(!changes.isComplete && changes.deleted.isEmpty)
  }

  @Test func `a task that is cancelled stops observing, and others go on`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let changes = store.changes(of: Note.self)
    let waiting = Task { () -> Int in
      var count = 0
      for await _ in changes { count += 1 }
      return count
    }
    waiting.cancel()
    #expect(await waiting.value == 0)
    let note = Note()
    try await store.write { tx in try tx.put(note) }
    var iterator = changes.makeAsyncIterator()
    #expect(await iterator.next()?.written == [note.id])
  }

  @Test func `commits of several threads reach an observer in their order`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let changes = store.changes(of: Note.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask { for _ in 0..<25 { try store.putAll([Note()], .buffered) } }
      }
      var seen = 0
      var last: UInt64 = 0
      for await change in changes {
        #expect(change.revisions.lowerBound > last)
        last = change.revisions.upperBound
        seen += change.written.count
        if seen == 100 { break }
      }
      try await group.waitForAll()
    }
  }

  /// The bug: a commit that named more records than one element has room for named none of them, also to an
  /// observer that was there.
  @Test func `a commit of many records is told in parts, all of which are named`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var changes = store.changes(of: Note.self).makeAsyncIterator()
    let notes = (0..<10_000).map { _ in Note() }
    let revision = try store.putAll(notes, .buffered)
    var written: Set<RecordID> = []
    while written.count < notes.count {
      let change = try #require(await changes.next())
      #expect(change.isComplete && change.revisions == revision...revision)
      written.formUnion(change.written)
    }
    #expect(written == Set(notes.map(\.id)))
  }

  /// The bug: what another process wrote to a collection that it had just made was told as something that
  /// nobody can name.
  @Test func `a store opened for reading observes, also collections that are made meanwhile`() async throws {
    let folder = try TemporaryFolder()
    let writer = try folder.create()
    var options = Store.Options()
    options.isReadOnly = true
    let reader = try await Store.open(
      at: folder.path, unlocking: .root(writer.unlockRoot()), options: options)
    var notes = reader.changes(of: Note.self).makeAsyncIterator()
    var all = reader.changes().makeAsyncIterator()
    let (other, note) = (Everything(), Note(title: "new"))
    try await writer.write { tx in _ = try tx.put(other) }
    try await writer.write { tx in _ = try tx.put(note) }
    let seen = try #require(await notes.next())
    #expect(seen.isComplete && seen.written == [note.id] && seen.deleted.isEmpty)
    #expect(try reader.get(Note.self, note.id)?.title == "new")
    #expect(await all.next()?.written == [other.id])
    #expect(await all.next()?.written == [note.id])
    try await reader.close()
    #expect(await notes.next() == nil)
  }
}
