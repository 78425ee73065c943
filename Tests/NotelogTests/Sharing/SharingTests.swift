// Several processes and one store, through the public interface: two stores of one folder lock as two
// processes do.

import Foundation
import NotelogBase
import Testing

@testable import Notelog
@testable import NotelogCrypto

@Suite struct SharingTests {
  private static func options(
    _ writing: WritingPolicy = .held, isReadOnly: Bool = false, follows: Bool = false
  ) -> Store.Options {
    var options = Store.Options()
    options.writing = writing
    options.isReadOnly = isReadOnly
    options.followsOtherProcesses = follows
    return options
  }

  private static func reader(_ folder: TemporaryFolder, follows: Bool = false) throws -> Store {
    try Store.open(
      at: folder.path, unlocking: TemporaryFolder.key, options: options(isReadOnly: true, follows: follows))
  }

  @Test func `a store open for reading moves on when it is asked to`() throws {
    let folder = try TemporaryFolder()
    let writer = try folder.create()
    try writer.putAll((0..<50).map { Note(time: Date(timeIntervalSince1970: Double($0)), title: "\($0)") })
    let reader = try Self.reader(folder)
    let newest = {
      try reader.query(Note.self).sorted(by: \.time, .descending).limit(2).entries().map { try $0.title }
    }
    #expect(try newest() == ["49", "48"])
    let kept = reader.snapshot()
    #expect(try reader.refresh() == false)
    let note = Note(time: Date(timeIntervalSince1970: 100), title: "new")
    try writer.write { tx in try tx.put(note) }
    #expect(try newest() == ["49", "48"])
    #expect(try reader.refresh())
    #expect(try newest() == ["new", "49"])
    try writer.write { tx in try tx.delete(Note.self, note.id) }
    try writer.compact()
    #expect(try reader.refresh())
    #expect(try newest() == ["49", "48"])
    #expect(try kept.query(Note.self).count() == 50)
    #expect(try reader.query(Note.self).count() == 50)
    try writer.close()
    #expect(throws: NotelogError(.readOnly, "")) { try reader.resume() }
    try reader.close()
    #expect(throws: NotelogError(.closed, "")) { try reader.refresh() }
  }

  /// The bug: backup synced first, and a store without its lock refuses that.
  @Test func `a suspended store is backed up, with what another process has committed since`() throws {
    let (folder, target) = (try TemporaryFolder(), try TemporaryFolder())
    let first = try folder.create()
    try first.write { tx in try tx.put(Note(title: "before")) }
    try first.suspend()
    let second = try folder.open()
    try second.write(.flushed) { tx in try tx.put(Note(title: "meanwhile")) }
    #expect(try first.ship(to: target.archive).findings.isEmpty)
    try second.close()
    try first.close()
    let restored = try TemporaryFolder()
    try Store.restore(from: target.archive, to: restored.path)
    let store = try restored.open()
    #expect(try store.query(Note.self).count() == 2)
    try store.close()
  }

  @Test
  func `collections, keys and passwords that another process made are taken in, without unlocking again`()
    throws
  {
    let folder = try TemporaryFolder()
    let writer = try folder.create()
    let reader = try Self.reader(folder)
    #expect(reader.collections.isEmpty)
    try writer.createKey("personal", .afterFirstUnlock)
    try writer.write { tx in try tx.put(Note(title: "title", body: "body")) }
    #expect(try reader.refresh())
    #expect(reader.collections.map(\.name) == ["note"])
    let entry = try #require(try reader.query(Note.self).entries().first)
    #expect(try entry.body == "body")
    let other = Credential.key([UInt8](repeating: 7, count: 32))
    try writer.changeCredential(TemporaryFolder.key, to: other)
    #expect(try reader.refresh() == false)
    #expect(try entry.title == "title")
    reader.lock(.everything)
    #expect(throws: NotelogError(.wrongPassword, "")) { try reader.unlock(TemporaryFolder.key) }
    try reader.unlock(other)
    #expect(try entry.title == "title")
    try writer.close()
    try reader.close()
  }

  @Test func `a keyring that another process replaced before an unlocking is taken in after it, or locks`()
    throws
  {
    let folder = try TemporaryFolder()
    let writer = try folder.create()
    let reader = try Store.open(at: folder.path, options: Self.options(isReadOnly: true))
    try writer.createKey("personal", .whenUnlocked)
    let note = Note(title: "title", body: "body")
    try writer.write { tx in try tx.put(note) }
    // By the keyring that it knows, which has no such key.
    try reader.unlock(TemporaryFolder.key)
    #expect(reader.info().keys.isEmpty)
    #expect(try reader.refresh())
    #expect(reader.isUnlocked && reader.info().keys.contains { $0.name == "personal" })
    let entry = try #require(try reader.get(Note.self, note.id))
    #expect(try entry.body == "body")
    // And now by one whose root is in force no longer.
    reader.lock(.everything)
    let other = Credential.key([UInt8](repeating: 7, count: 32))
    try writer.rekey(TemporaryFolder.key, to: other)
    try reader.unlock(TemporaryFolder.key)
    #expect(try reader.isUnlocked && entry.body == "body")
    try reader.refresh()
    #expect(!reader.isUnlocked)
    #expect(throws: NotelogError(.locked, "")) { try entry.body }
    #expect(throws: NotelogError(.wrongPassword, "")) { try reader.unlock(TemporaryFolder.key) }
    try reader.unlock(other)
    #expect(try entry.body == "body")
    try writer.close()
    try reader.close()
  }

  /// The bug: what waited for the disk found the lock given back.
  @Test func `a store that gives its lock back at once rotates a key`() throws {
    let folder = try TemporaryFolder()
    try folder.create().close()
    let store = try Store.open(
      at: folder.path, unlocking: TemporaryFolder.key, options: Self.options(.leased(idle: .zero)))
    let notes = (0..<500).map { Note(title: "\($0)", body: "body \($0)") }
    try store.putAll(notes)
    for _ in 0..<20 {
      try store.beginRotation(of: "personal")
      while try !store.rotate("personal", .bytes(20_000)).isFinished {}
    }
    #expect(try store.get(Note.self, notes[7].id)?.body == "body 7")
    try store.close()
  }

  /// Whoever can write the files may give a keyring another generation, and mend its digest: not its MAC.
  @Test func `a keyring that nobody with the key has made is not followed by who has it`() throws {
    let folder = try TemporaryFolder()
    let writer = try folder.create()
    let note = Note(title: "title", body: "body")
    try writer.write { tx in try tx.put(note) }
    let reader = try Store.open(
      at: folder.path, unlocking: TemporaryFolder.key, options: Self.options(isReadOnly: true))
    let entry = try #require(try reader.get(Note.self, note.id))
    #expect(try entry.body == "body")
    for name in ["keyring", "keyring.copy"] {
      try folder.alter(name) { bytes in
        bytes[Keyring.generationOffset] += 1
        let digest = try OpenSSL.sha256(Array(bytes.dropLast(32)))
        bytes.replaceSubrange(bytes.count - 32..<bytes.count, with: digest)
      }
    }
    try reader.refresh()
    #expect(!reader.isUnlocked)
    #expect(throws: NotelogError(.locked, "")) { try entry.body }
    try writer.close()
    try reader.close()
  }

  /// The bug: what was open of the keyring before stayed open beside one that was taken in meanwhile. This
  /// device's secret is asked for once a credential has found the root, and before anything is open.
  @Test(arguments: [false, true])
  func `a keyring that is taken in while the one before is being unlocked leaves the store locked`(
    isRootChanged: Bool
  ) throws {
    let folder = try TemporaryFolder()
    let meanwhile = Lock<(@Sendable () -> Void)?>(nil)
    var options = Self.options()
    options.deviceSecret = .kept { _ in [UInt8](repeating: 9, count: 32) }
    let writer = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    try writer.createKey("personal", .whenUnlockedThisDeviceOnly)
    let note = Note(title: "title", body: "body")
    try writer.write { tx in try tx.put(note) }
    options.isReadOnly = true
    options.deviceSecret = .kept { _ in
      meanwhile.withLock { $0.take() }?()
      return [UInt8](repeating: 9, count: 32)
    }
    let reader = try Store.open(at: folder.path, options: options)
    let entry = try #require(try reader.get(Note.self, note.id))
    let other = Credential.key([UInt8](repeating: 7, count: 32))
    meanwhile.withLock {
      $0 = {
        do {
          if isRootChanged {
            try writer.rekey(TemporaryFolder.key, to: other)
          } else {
            try writer.createKey("another", .whenUnlocked)
          }
          try reader.refresh()
        } catch { Issue.record(error) }
      }
    }
    #expect(throws: NotelogError(.locked, "")) { try reader.unlock(TemporaryFolder.key) }
    #expect(meanwhile.withLock { $0 == nil } && !reader.isUnlocked)
    #expect(throws: NotelogError(.locked, "")) { try entry.body }
    try reader.unlock(isRootChanged ? other : TemporaryFolder.key)
    #expect(try entry.body == "body")
    #expect(reader.info().keys.contains { $0.name == "another" } == !isRootChanged)
    try writer.close()
    try reader.close()
  }

  /// INV-M2: what nobody can check while the root is locked, no key is used with.
  @Test func `a schema that comes while the root is locked locks what is open still`() throws {
    let folder = try TemporaryFolder()
    let writer = try folder.create()
    try writer.createKey("personal", .afterFirstUnlock)
    let note = Note(title: "title", body: "body")
    try writer.write { tx in try tx.put(note) }
    let reader = try Self.reader(folder)
    reader.lock()
    let entry = try #require(try reader.get(Note.self, note.id))
    #expect(try entry.body == "body")
    try writer.write { tx in try tx.put(note) }
    #expect(try reader.refresh())
    #expect(try entry.body == "body")
    try writer.write { tx in try tx.put(Place(town: "Ulm")) }
    #expect(try reader.refresh())
    #expect(throws: NotelogError(.locked, "")) { try entry.body }
    try reader.unlock(TemporaryFolder.key)
    #expect(try entry.body == "body")
    try writer.close()
    try reader.close()
  }

  /// The bug: schemas that the process had stored itself were taken for another one's when the lock was taken
  /// back, and what was open still was locked.
  @Test func `a schema of one's own locks nothing when the lock is taken back`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.createKey("personal", .afterFirstUnlock)
    let note = Note(title: "title", body: "body")
    try store.write { tx in try tx.put(note) }
    store.lock()
    let entry = try #require(try store.get(Note.self, note.id))
    #expect(try entry.body == "body")
    try store.suspend()
    try store.resume()
    #expect(try entry.body == "body")
    try store.close()
  }

  @Test func `an observer of a store open for reading hears what another process commits`() async throws {
    let folder = try TemporaryFolder()
    let writer = try folder.create()
    try await writer.write { tx in try tx.put(Note(title: "before")) }
    let reader = try Self.reader(folder)
    var changes = reader.changes(of: Note.self).makeAsyncIterator()
    let notes = (0..<20).map { Note(title: "\($0)") }
    for note in notes { try await writer.write { tx in try tx.put(note) } }
    var heard: [RecordID] = []
    while heard.count < 20 { heard += Array(try #require(await changes.next()).written) }
    #expect(heard == notes.map(\.id))
    try await writer.write { tx in try tx.delete(Note.self, notes[3].id) }
    #expect(await changes.next()?.deleted == [notes[3].id])
    try await writer.close()
    try await reader.close()
    #expect(await changes.next() == nil)
  }

  /// INV-P3
  @Test(arguments: [true, false])
  func `a snapshot keeps a large value that another process replaces and compacts away`(
    isReadBefore: Bool
  ) throws {
    let folder = try TemporaryFolder()
    let writer = try folder.create()
    var film = Film(frames: [UInt8](repeating: 1, count: 300_000))
    let first = film.frames
    try writer.write { tx in try tx.put(film) }
    let reader = try Self.reader(folder)
    let kept = reader.snapshot()
    if isReadBefore { #expect(try kept.get(Film.self, film.id)?.frames == first) }
    for number in 2...4 {
      film.frames = [UInt8](repeating: UInt8(number), count: 300_000)
      try writer.write { tx in try tx.put(film) }
      try writer.compact()
      #expect(try reader.refresh())
      #expect(try kept.get(Film.self, film.id)?.frames == first)
      #expect(try reader.get(Film.self, film.id)?.frames == film.frames)
    }
    try writer.close()
    try reader.close()
  }

  /// The bug: a head that was opened anew counted its chunks among its records.
  @Test func `the index says how many bytes live also after the lock was given back and taken again`() throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.write { tx in try tx.put(Note(title: "first")) }
    // From here on it is known which chunks live.
    try store.compact()
    try store.write { tx in try tx.put(Film(frames: [UInt8](repeating: 7, count: 100_000))) }
    try store.suspend()
    try store.resume()
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).findings == [])
  }

  /// Two stores of one folder with segments of 64 KiB, which compact when they are asked to.
  private func pair() throws -> (folder: TemporaryFolder, writer: Store, follower: Store) {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    (options.segmentByteCount, options.compaction) = (64 << 10, .whenAsked)
    let key = TemporaryFolder.key
    let writer = try Store.create(at: folder.path, unlocking: key, options: options)
    try writer.suspend()
    let follower = try Store.open(at: folder.path, unlocking: key, options: options)
    try follower.suspend()
    try writer.resume()
    return (folder, writer, follower)
  }

  /// The bug: of versions that were left behind, one of another transaction was taken for the later one of two.
  @Test func `a record that one transaction wrote twice is found by who follows a compaction`() throws {
    let (folder, writer, follower) = try pair()
    let (kept, gone) = (Leaflet(scan: noise(45_000)), Leaflet(scan: noise(50_000)))
    var sheet = Leaflet(title: "a", scan: noise(3_000))
    try writer.putAll([sheet, kept])
    try writer.putAll([gone])
    try writer.write { tx in
      for title in ["b", "c"] {
        sheet.title = title
        try tx.put(sheet)
      }
    }
    try writer.write { tx in _ = try tx.delete(Leaflet.self, gone.id) }
    try follower.refresh()
    // More of the second segment is dead: it is the first source.
    try #require(try writer.purge().addedSegments == 1)
    try follower.refresh()
    #expect(try follower.get(Leaflet.self, sheet.id)?.title == "c")
    try writer.suspend()
    try follower.resume()
    try follower.purge()
    #expect(try follower.get(Leaflet.self, sheet.id)?.record() == sheet)
    try follower.close()
    try writer.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).findings == [])
  }

  /// The bug: the later one of two deletions was taken for one that was left behind, and the index named none.
  @Test func `a record that one transaction deleted twice stays deleted for who follows a compaction`() throws
  {
    let (folder, writer, follower) = try pair()
    let (kept, gone) = (Leaflet(scan: noise(45_000)), Leaflet(scan: noise(50_000)))
    let sheet = Leaflet(title: "a")
    try writer.putAll([sheet, kept])
    try writer.putAll([gone])
    try writer.write { tx in
      try tx.delete(Leaflet.self, sheet.id)
      try tx.put(sheet)
      try tx.delete(Leaflet.self, sheet.id)
    }
    try writer.write { tx in _ = try tx.delete(Leaflet.self, gone.id) }
    try follower.refresh()
    // The first segment is left alone, so that the deletion is needed.
    try #require(try writer.compact().removedSegments > 0)
    try follower.refresh()
    try writer.suspend()
    try follower.resume()
    try follower.purge()
    #expect(try follower.get(Leaflet.self, sheet.id) == nil)
    try follower.close()
    try writer.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).findings == [])
  }

  @Test func `observing ends where others' commits can't be taken in, and refreshing says why`() async throws
  {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    let writer = try await Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    try await writer.write { tx in try tx.put(Note(title: "known")) }
    let reader = try Self.reader(folder)
    // Others commit, and a byte of their first transaction is damaged.
    let head = try #require(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".journal") }
        .max())
    let path = URL(filePath: folder.path).appending(path: head)
    // Behind it are zeros.
    let end = try #require(try Data(contentsOf: path).lastIndex { $0 != 0 })
    try writer.putAll((0..<200).map { Note(title: "\($0)", body: String(repeating: "x", count: $0)) })
    let file = try FileHandle(forUpdating: path)
    try file.seek(toOffset: UInt64(end + 100))
    try file.write(contentsOf: [0xA5, 0xA5])
    try file.close()
    for _ in 0..<20 {
      try await writer.write { tx in
        try tx.put(Note(title: "later", body: String(repeating: "y", count: 2000)))
      }
    }
    var changes = reader.changes().makeAsyncIterator()
    while await changes.next() != nil {}
    #expect(throws: NotelogError(.damaged, "")) { try reader.refresh() }
    #expect(try reader.query(Note.self).count() == 1)
    try await reader.close()
    try? await writer.close()
  }

  @Test func `a suspended store lets others write, reads on, and takes in what they did`() throws {
    let folder = try TemporaryFolder()
    let app = try folder.create()
    let note = Note(title: "mine")
    try app.write { tx in try tx.put(note) }
    #expect(throws: NotelogError(.busy, "")) { try folder.open() }
    try app.suspend()
    try app.suspend()
    #expect(throws: NotelogError(.suspended, "")) { try app.write { tx in try tx.put(note) } }
    #expect(throws: NotelogError(.suspended, "")) { try app.createKey("k", .whenUnlocked) }
    #expect(throws: NotelogError(.suspended, "")) { try app.compact() }
    #expect(try app.get(Note.self, note.id)?.title == "mine")
    let other = try folder.open()
    #expect(other.info().wasClosed)
    #expect(throws: NotelogError(.busy, "")) { try app.resume() }
    #expect(throws: NotelogError(.busy, "")) { try app.resume(waiting: .milliseconds(30)) }
    try other.write { tx in try tx.put(Note(id: note.id, title: "theirs")) }
    try other.write { tx in try tx.put(Place(town: "Ulm")) }
    try other.compact()
    try other.close()
    #expect(try app.get(Note.self, note.id)?.title == "mine")
    try app.resume()
    #expect(try app.get(Note.self, note.id)?.title == "theirs")
    #expect(app.collections.map(\.name) == ["note", "address"])
    try app.write { tx in try tx.put(Place(town: "Bonn")) }
    #expect(try app.query(Place.self).count() == 2)
    #expect(throws: NotelogError(.busy, "")) { try app.write { _ in try app.suspend() } }
    try app.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  @Test func `processes that lease the store write in turns, and waiting ends when the lock is given back`()
    throws
  {
    let folder = try TemporaryFolder()
    try folder.create().close()
    let stores = try (0..<4).map { _ in
      var options = Self.options(.leased(idle: .milliseconds(200)))
      options.lockTimeout = .seconds(600)
      return try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    }
    let counter = RecordID()
    try stores[0].write { tx in try tx.put(Counter(id: counter)) }
    DispatchQueue.concurrentPerform(iterations: 4) { number in
      for _ in 0..<25 {
        do {
          try stores[number].write(.flushed) { tx in
            let before = try #require(try tx.get(Counter.self, counter)).count
            try tx.update(Counter.self, counter) { $0.set(\.count, before + 1) }
          }
        } catch { Issue.record(error) }
      }
    }
    for store in stores {
      try store.refresh()
      #expect(try store.get(Counter.self, counter)?.count == 100)
    }
    // One that holds the lock for good waits until it is idle.
    var patient = Self.options()
    patient.lockTimeout = .seconds(600)
    try stores[1].write { tx in try tx.put(Note(title: "last")) }
    let held = try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: patient)
    #expect(try held.query(Note.self).count() == 1)
    for store in stores { try store.close() }
    try held.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }
}

private struct Place: Record {
  var id = RecordID()
  var town = ""
  static let schema = Schema<Place>("address") { Plain("town", \.town) }
}

private struct Film: Record {
  var id = RecordID()
  var frames: [UInt8] = []
  static let schema = Schema<Film>("film") { Sealed("frames", \.frames) }
}

private struct Counter: Record {
  var id = RecordID()
  var count = 0
  static let schema = Schema<Counter>("counter") { Plain("count", \.count) }
}
