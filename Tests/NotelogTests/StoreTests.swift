// The store from the outside: what the README promises.

import Foundation
import Testing

@testable import Notelog

private struct Remark: Record {
  var id = RecordID()
  var text = ""
  static let schema = Schema<Remark>("remark") { Sealed("text", \.text) }
}

@Suite struct StoreTests {
  @Test func `the README's program does what it says`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path
    let prompted = "correct horse battery staple"
    var options = Store.Options()
    options.passwordWork = 14
    try Store.create(at: path, unlocking: .password(prompted), options: options).close()

    let store = try Store.open(at: path, unlocking: .password(prompted))
    try store.write(.durable) { tx in try tx.put(Note(title: "Clark", body: "…")) }
    let newest = try store.query(Note.self).sorted(by: \.time, .descending).limit(50).entries()
    #expect(try newest[0].title == "Clark")
    let id = newest[0].id
    try store.write { tx in try tx.update(Note.self, id) { $0.set(\.time, Date()) } }
    store.lock()
    #expect(throws: NotelogError(.locked, "")) { try newest[0].title }
    try store.write { tx in try tx.update(Note.self, id) { $0.set(\.time, .distantPast) } }
    #expect(try store.get(Note.self, id)?.time == .distantPast)
    try store.unlock(.password(prompted))
    #expect(try store.get(Note.self, id)?.body == "…")
    try store.close()
  }

  @Test func `what was written is there after reopening`() throws {
    let folder = try TemporaryFolder()
    let notes = (0..<100).map { Note(title: "title \($0)", body: String(repeating: "\($0) ", count: $0)) }
    var store = try folder.create()
    try store.putAll(notes)
    try store.close()
    store = try folder.open()
    for note in notes {
      let back = try #require(try store.get(Note.self, note.id)).record()
      #expect(
        back.title == note.title && back.body == note.body && back.time == note.time && back.id == note.id)
    }
    #expect(try store.query(Note.self).count() == 100)
  }

  @Test func `a closure that throws writes nothing, not even its schema`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let note = Note(title: "x")
    #expect(throws: CancellationError.self) {
      try store.write { tx in
        try tx.put(note)
        throw CancellationError()
      }
    }
    #expect(try store.get(Note.self, note.id) == nil)
    #expect(try store.query(Note.self).count() == 0)
    try store.write { tx in try tx.put(note) }
    #expect(try store.query(Note.self).count() == 1)
  }

  @Test func `a transaction reads its own writes, and the last of them counts`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    var note = Note(title: "first")
    let other = Note(title: "other")
    try store.write { tx in
      try tx.put(note)
      #expect(try tx.get(Note.self, note.id)?.title == "first")
      note.title = "second"
      try tx.put(note)
      try tx.update(Note.self, note.id) { draft in
        let title = try draft.title
        draft.set(\.body, "third")
        let body = try draft.body
        #expect(title == "second" && body == "third")
      }
      try tx.put(other)
      #expect(try tx.delete(Note.self, other.id))
      #expect(try tx.get(Note.self, other.id) == nil)
      #expect(try !tx.delete(Note.self, other.id))
    }
    for _ in 0..<2 {
      let back = try #require(try store.get(Note.self, note.id))
      #expect(try back.title == "second" && back.body == "third")
      #expect(try store.get(Note.self, other.id) == nil)
      #expect(try store.query(Note.self).count() == 1)
      try store.close()
      store = try folder.open()
    }
  }

  @Test(arguments: [true, false])
  func `a snapshot sees its moment, whatever is written, deleted and compacted later`(isIndexed: Bool) throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let notes = (0..<30).map { Note(time: Date(timeIntervalSinceReferenceDate: Double($0)), title: "\($0)") }
    try store.putAll(notes)
    // An index that is made after the snapshot knows nothing of keys that were gone by then.
    if isIndexed { _ = try store.query(Note.self).sorted(by: \.time).first() }
    let snapshot = store.snapshot()
    try store.write { tx in
      for note in notes.prefix(10) { try tx.delete(Note.self, note.id) }
      for note in notes[10..<20] {
        try tx.update(Note.self, note.id) { draft in
          draft.set(\.title, "new")
          draft.set(\.time, .distantFuture)
        }
      }
      try tx.put(Note(time: .distantPast, title: "later"))
    }
    try store.compact()
    _ = try store.query(Note.self).sorted(by: \.time).first()
    #expect(try snapshot.query(Note.self).count() == 30)
    #expect(try store.query(Note.self).count() == 21)
    for note in notes { #expect(try snapshot.get(Note.self, note.id)?.title == note.title) }
    for direction in [SortDirection.ascending, .descending] {
      let found = try snapshot.query(Note.self).sorted(by: \.time, direction).limit(25).entries()
      let expected = direction == .ascending ? notes[..<25] : notes.reversed()[..<25]
      #expect(found.map(\.id) == expected.map(\.id))
    }
  }

  @Test func `conditions are kept`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let note = Note(title: "x")
    try store.write { tx in try tx.put(note, if: .absent) }
    #expect(throws: NotelogError(.alreadyExists, "")) {
      try store.write { tx in try tx.put(note, if: .absent) }
    }
    let revision = try #require(try store.get(Note.self, note.id)).revision
    try store.write { tx in try tx.put(note, if: .revision(revision)) }
    #expect(throws: NotelogError(.conflict, "")) {
      try store.write { tx in try tx.put(note, if: .revision(revision)) }
    }
    #expect(throws: NotelogError(.notFound, "")) {
      try store.write { tx in try tx.update(Note.self, RecordID()) { _ in } }
    }
  }

  /// The bug: an id that two types shared, as a note and what belongs to it, was one record: the second took
  /// the first's place, whose type then knew nothing of it.
  @Test func `a record of another type is not replaced`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let note = Note(title: "kept")
    try store.write { tx in try tx.put(note) }
    var remark = Remark()
    remark.id = note.id
    for condition in [WriteCondition.always, .absent] {
      #expect(throws: NotelogError(.alreadyExists, "")) {
        try store.write { tx in
          try tx.put(Note(title: "beside it"))
          try tx.put(remark, if: condition)
        }
      }
    }
    #expect(throws: NotelogError(.alreadyExists, "")) { try store.putAll([Remark(), remark]) }
    var batch = try store.batch(of: Remark.self)
    try batch.put(remark)
    do {
      _ = try batch.commit()
      Issue.record("another type's record was replaced")
    } catch let error as NotelogError {
      #expect(error.code == .alreadyExists && error.message.contains("\(note.id)"))
    }
    #expect(try store.get(Note.self, note.id)?.title == "kept")
    #expect(try store.query(Remark.self).count() == 0 && store.query(Note.self).count() == 1)
    // An id that was given up is free.
    _ = try store.write { tx in try tx.delete(Note.self, note.id) }
    try store.putAll([remark])
    #expect(try store.get(Remark.self, note.id) != nil)
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  @Test func `a locked store lists, sorts, updates and deletes, and carries sealed bytes as they were`()
    throws
  {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let notes = (0..<20).map { Note(time: Date(timeIntervalSinceReferenceDate: Double($0)), title: "\($0)") }
    try store.putAll(notes)
    try store.close()

    store = try folder.open(nil)
    let entries = try store.query(Note.self).sorted(by: \.time, .descending).entries()
    #expect(entries.map(\.id) == notes.reversed().map(\.id))
    #expect(throws: NotelogError(.locked, "")) { try entries[0].title }
    let before = try #require(try entries[19].stored.find(2))
    let sealed = Array(entries[19].stored.body[before.range])
    try store.write { tx in
      try tx.update(Note.self, notes[0].id) { $0.set(\.time, .distantFuture) }
      try tx.delete(Note.self, notes[1].id)
    }
    #expect(throws: NotelogError(.locked, "")) {
      try store.write { tx in try tx.update(Note.self, notes[0].id) { $0.set(\.title, "no") } }
    }
    #expect(throws: NotelogError(.locked, "")) { try store.write { tx in try tx.put(Note()) } }
    let updated = try #require(try store.get(Note.self, notes[0].id))
    let after = try #require(try updated.stored.find(2))
    #expect(Array(updated.stored.body[after.range]) == sealed)
    try store.close()

    store = try folder.open()
    #expect(try store.query(Note.self).count() == 19)
    let first = try #require(try store.query(Note.self).sorted(by: \.time, .descending).first())
    #expect(try first.title == "0" && first.time == .distantFuture)
  }

  @Test func `fields are filtered, ranged, sorted and counted`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let records = (0..<50).map { Everything(count: $0 % 10, ratio: Double($0), name: "name \($0 % 3)") }
    try store.putAll(records)
    let query = store.query(Everything.self)
    #expect(try query.where(\.count, is: 3).count() == 5)
    #expect(try query.where(\.count, in: 3..<5).count() == 10)
    #expect(try query.where(\.count, in: 8...).where(\.name, is: "name 0").count() == 4)
    #expect(try query.filter(\.ratio) { $0 >= 40 }.count() == 10)
    #expect(try query.limit(7).count() == 7)
    #expect(try query.limit(0).entries().isEmpty)
    let sorted = try query.sorted(by: \.ratio, .descending).limit(3).entries()
    #expect(try sorted.map { try $0.ratio } == [49, 48, 47])
    for limit in [1, 2, 7, 49, 50, 51] {
      let found = try query.sorted(by: \.count).limit(limit).entries().map(\.id)
      let expected = records.sorted { ($0.count, $0.id) < ($1.count, $1.id) }.prefix(limit).map(\.id)
      #expect(found == expected)
    }
  }

  @Test func `a wrong password, a locked store and a missing store are three errors`() throws {
    let folder = try TemporaryFolder()
    #expect(throws: NotelogError(.notFound, "")) { try folder.open() }
    try folder.create().close()
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try folder.open(.key([UInt8](repeating: 1, count: 32)))
    }
    #expect(throws: NotelogError(.alreadyExists, "")) { try folder.create() }
    let store = try folder.open()
    #expect(throws: NotelogError(.busy, "")) { try folder.open() }
    try store.close()
    #expect(throws: NotelogError(.closed, "")) { try store.write { tx in try tx.put(Note()) } }
  }

  @Test func `another credential opens the same store, and a changed one replaces the old`() throws {
    let folder = try TemporaryFolder()
    let second = Credential.recoveryKey([UInt8](repeating: 2, count: 32))
    let third = Credential.key([UInt8](repeating: 3, count: 32))
    var store = try folder.create()
    let note = Note(title: "kept")
    try store.write { tx in try tx.put(note) }
    try store.addCredential(second)
    try store.changeCredential(TemporaryFolder.key, to: third)
    try store.close()
    #expect(throws: NotelogError(.wrongPassword, "")) { try folder.open() }
    for credential in [second, third] {
      store = try folder.open(credential)
      #expect(try store.get(Note.self, note.id)?.title == "kept")
      try store.close()
    }
  }

  @Test func `a removed credential opens the store no longer, and the last one can't be removed`() throws {
    let folder = try TemporaryFolder()
    let second = Credential.key([UInt8](repeating: 2, count: 32))
    let third = Credential.recoveryKey([UInt8](repeating: 3, count: 32))
    var store = try folder.create()
    let note = Note(title: "kept")
    try store.write { tx in try tx.put(note) }
    try store.addCredential(second)
    try store.addCredential(third)
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try store.removeCredential(.key([UInt8](repeating: 9, count: 32)))
    }
    try store.removeCredential(TemporaryFolder.key)
    let number = try #require(store.info().slots.first { $0.kind == "recovery key" }).number
    store.lock(.everything)
    #expect(throws: NotelogError(.locked, "")) { try store.removeSlot(number) }
    try store.unlock(third)
    try store.removeSlot(number)
    #expect(throws: NotelogError(.notFound, "")) { try store.removeSlot(number) }
    #expect(throws: NotelogError(.invalidArgument, "")) { try store.removeCredential(second) }
    try store.close()
    for gone in [TemporaryFolder.key, third] {
      #expect(throws: NotelogError(.wrongPassword, "")) { try folder.open(gone) }
    }
    store = try folder.open(second)
    #expect(try store.get(Note.self, note.id)?.title == "kept")
  }

  @Test func `a key of class afterFirstUnlock outlives lock, and not lock everything`() throws {
    struct Diary: Record {
      var id = RecordID()
      var line = ""
      var secret = ""
      static let schema = Schema<Diary>("diary") {
        Sealed("line", \.line, key: "background")
        Sealed("secret", \.secret)
      }
    }
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.createKey("background", .afterFirstUnlock)
    let page = Diary(line: "open", secret: "closed")
    try store.write { tx in try tx.put(page) }
    store.lock()
    let entry = try #require(try store.get(Diary.self, page.id))
    #expect(try entry.line == "open")
    #expect(throws: NotelogError(.locked, "")) { try entry.secret }
    try store.write { tx in try tx.update(Diary.self, page.id) { $0.set(\.line, "written while locked") } }
    #expect(try store.get(Diary.self, page.id)?.line == "written while locked")
    store.lock(.everything)
    #expect(throws: NotelogError(.locked, "")) { try entry.line }
  }

  @Test func `computed and observed properties are fields like others`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var record = Observed()
    record.watched = "pot"
    record.fahrenheit = 212
    try store.write { tx in try tx.put(record) }
    let back = try #require(try store.get(Observed.self, record.id)).record()
    #expect(back.watched == "pot" && back.changes == 1 && back.celsius == 100)
  }

  private struct Bulky: Record {
    var id = RecordID()
    var name = "name"
    var raw: [UInt8] = []
    static let schema = Schema<Bulky>("bulky") {
      Plain("name", \.name, indexed: true)
      Plain("raw", \.raw)
    }
  }

  /// The bug: a record's envelope was left out when its length was compared with the limit. A body that just
  /// fitted was written, in a frame that no reader takes for one.
  @Test(arguments: [false, true])
  func `the largest record can be read again, and one byte more is refused`(keepsEvidence: Bool) throws {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.keepsEvidence = keepsEvidence
    var store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    // Envelope: 4, and 4 for a key of 4 bytes. Body: 4, two entries of 12, the name.
    let most = Limits.recordBytes - (4 + 4 + 4) - (4 + 2 * 12 + 4)
    let largest = Bulky(raw: [UInt8](repeating: 7, count: most))
    try store.write(.buffered) { tx in try tx.put(largest) }
    #expect(throws: NotelogError(.limitExceeded, "")) {
      try store.write { tx in try tx.put(Bulky(raw: [UInt8](repeating: 7, count: most + 1))) }
    }
    try store.close()
    store = try folder.open()
    #expect(try store.get(Bulky.self, largest.id)?.raw.count == most)
  }
}
