// Stores in memory: all that a store does, and nothing on a disk.

import Foundation
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct MemoryStoreTests {
  private static var smallSegments: Store.Options {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    return options
  }

  @Test func `it keeps, compacts, shows as it was, and backs up what is put into it`() throws {
    let store = try Store.inMemory(unlocking: TemporaryFolder.key, options: Self.smallSegments)
    let notes = (0..<200).map { Note(title: "title \($0)", body: String(repeating: "b", count: 400)) }
    for start in stride(from: 0, to: 200, by: 10) { try store.putAll(Array(notes[start..<start + 10])) }
    let before = store.snapshot()
    try store.write { tx in for note in notes[..<150] { try tx.delete(Note.self, note.id) } }
    #expect(try store.compact().removedSegments > 0)
    #expect(try store.query(Note.self).count() == 50)
    #expect(try before.query(Note.self).count() == 200)
    #expect(try before.get(Note.self, notes[0].id)?.title == "title 0")
    #expect(try store.scrub().verdict == .sound)
    let (backup, restored) = (try TemporaryFolder(), try TemporaryFolder())
    #expect(try store.ship(to: backup.archive).findings.isEmpty)
    #expect(try store.ship(to: backup.archive).putObjects == 0)
    try Store.restore(from: backup.archive, to: restored.path)
    let other = try restored.open()
    #expect(try other.query(Note.self).count() == 50)
    try other.close()
    store.lock(.everything)
    #expect(throws: NotelogError(.locked, "")) { try store.get(Note.self, notes[199].id)?.title }
    try store.unlock(TemporaryFolder.key)
    #expect(try store.get(Note.self, notes[199].id)?.title == "title 199")
    try store.close()
    #expect(throws: NotelogError(.closed, "")) { try store.query(Note.self).count() }
  }

  @Test func `observers and live queries hear of its commits`() async throws {
    let store = try Store.inMemory()
    var changes = store.changes(of: Note.self)
    var updates = store.query(Note.self).updates().makeAsyncIterator()
    #expect(try await updates.next()?.entries.isEmpty == true)
    let note = Note(title: "new")
    try await store.write { tx in try tx.put(note) }
    #expect(await changes.next()?.written == [note.id])
    #expect(try await updates.next()?.inserted == [note.id])
    try await store.write { tx in try tx.delete(Note.self, note.id) }
    #expect(try await updates.next()?.removed == [note.id])
  }

  @Test func `a value of any length goes in and comes out`() throws {
    let store = try Store.inMemory(options: Self.smallSegments)
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var record = Everything()
    record.raw = bytes
    try store.putAll([record])
    let content = try #require(try store.get(Everything.self, record.id)?.content(of: \.raw))
    #expect(try content.read(100_000..<100_010) == Array(bytes[100_000..<100_010]))
  }

  /// A key that a device's secret guards would have that made in the user's folders.
  @Test func `nothing of it is on a disk, also for keys of this device`() throws {
    let path = try #require(DeviceSecret.standard.path)
    let before = FileManager.default.contents(atPath: path)
    let store = try Store.inMemory()
    try store.createKey("personal", .alwaysThisDeviceOnly)
    let note = Note(body: "body")
    try store.write { tx in try tx.put(note) }
    store.lock(.everything)
    #expect(try store.get(Note.self, note.id)?.body == "body")
    #expect(FileManager.default.contents(atPath: path) == before)
  }

  @Test func `its key is random, and its root unlocks it again`() throws {
    let store = try Store.inMemory()
    let root = try store.unlockRoot()
    store.lock(.everything)
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try store.unlock(.key([UInt8](repeating: 0, count: 32)))
    }
    try store.unlock(.root(root))
    #expect(store.isUnlocked)
  }

  @Test func `it is gone when nobody holds it any more`() throws {
    weak var storage: MemoryStorage?
    weak var gone: Store?
    do {
      var options = Store.Options()
      options.writing = .leased(idle: .milliseconds(1))
      options.followsOtherProcesses = true
      let store = try Store.inMemory(options: options)
      try store.putAll([Note(title: "one")])
      let entry = try #require(try store.query(Note.self).first())
      storage = try #require(store.storage as? MemoryStorage)
      gone = store
      #expect(try entry.title == "one")
    }
    #expect(gone == nil && storage == nil)
  }

  @Test func `files are there as long as somebody has them open`() throws {
    let storage = MemoryStorage()
    #expect(throws: StorageError(.open, "a", errno: SystemErrno.notFound)) {
      _ = try storage.open("a", .read)
    }
    let file = try storage.open("a", .createNew)
    #expect(throws: StorageError(.open, "a", errno: SystemErrno.exists)) {
      _ = try storage.open("a", .createNew)
    }
    #expect(try file.write([1, 2, 3], at: 2) == 3)
    #expect(try storage.open("a", .read).read(10, at: 0) == [0, 0, 1, 2, 3])
    #expect(try file.read(10, at: 5) == [] && file.read(10, at: 9) == [])
    try file.truncate(to: 4)
    try file.allocate(0..<6)
    #expect(try file.read(10, at: 0) == [0, 0, 1, 2, 0, 0])
    #expect(try file.byteCount() == 6)
    file.close()
    #expect(throws: StorageError(.read, "", errno: SystemErrno.badDescriptor)) { _ = try file.read(1, at: 0) }
    try storage.open("pins/1", .createIfMissing).close()
    #expect(try storage.names(in: "") == ["a"] && storage.names(in: "pins") == ["1"])
    try storage.rename("a", to: "b")
    #expect(throws: StorageError(.rename, "a", errno: SystemErrno.notFound)) {
      try storage.rename("a", to: "c")
    }
    let other = try storage.open("b", .update)
    try storage.unlink("b")
    #expect(throws: StorageError(.unlink, "b", errno: SystemErrno.notFound)) { try storage.unlink("b") }
    #expect(try other.read(10, at: 2) == [1, 2, 0, 0])
  }
}
