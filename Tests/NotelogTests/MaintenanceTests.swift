// Verify, compact, info: what needs no key.

@testable import NotelogBase
import NotelogFormat
import NotelogStorage
import Foundation
@testable import Notelog
import Testing

extension TemporaryFolder {
  /// Changes a file of the store.
  func alter(_ name: String, _ change: (inout Data) throws -> Void) throws {
    let url = URL(filePath: path + "/" + name)
    var data = try Data(contentsOf: url)
    try change(&data)
    try data.write(to: url)
  }

  func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: path + "/" + name) }
}

@Suite struct MaintenanceTests {
  private func filled(_ folder: borrowing TemporaryFolder) throws -> [Note] {
    let notes = (0..<50).map { Note(title: "title \($0)", body: String(repeating: "body \($0) ", count: 20)) }
    let store = try folder.create()
    try store.putAll(notes)
    try store.close()
    return notes
  }

  /// The bug: a checkpoint that a writer replaced meanwhile, its file closed for want of descriptors, passed for
  /// a damaged one.
  @Test func `a checkpoint that is replaced while verify runs is no finding`() throws {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.segmentByteCount = Store.Options.segmentByteCounts.lowerBound
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    for part in 0..<12 {
      try store.putAll(
        (0..<40).map { Note(title: "title \(part) \($0)", body: String(repeating: "b", count: 300)) })
    }
    #expect(store.info().segments.count > 8)
    try store.close()
    let index = folder.path + "/index"
    let copy = try Data(contentsOf: URL(filePath: index))
    let isReplaced = Flag(false)
    let few = SystemStorage(path: folder.path, openFileLimit: 4)
    let found = try Store.verify(in: few, unlocking: nil) { _, _ in
      // The same bytes in another file, once.
      if !isReplaced.exchange(true) { try? copy.write(to: URL(filePath: index), options: .atomic) }
      return true
    }
    #expect(isReplaced.isSet)
    #expect(found.verdict == .sound && found.findings.isEmpty)
  }

  @Test func `a sound store verifies without a key and with one`() throws {
    let folder = try TemporaryFolder()
    _ = try filled(folder)
    let locked = try Store.verify(at: folder.path)
    #expect(locked.verdict == .sound && locked.findings.isEmpty)
    #expect(locked.recordCount == 50 && locked.lockedCount == 100 && locked.openedCount == 0)
    let opened = try Store.verify(at: folder.path, unlocking: TemporaryFolder.key)
    #expect(opened.verdict == .sound && opened.openedCount == 100 && opened.lockedCount == 0)
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try Store.verify(at: folder.path, unlocking: .password("no"))
    }
  }

  /// The bug: a tail that was there when the store was opened, and whole when it was looked at again, has the
  /// same next revision.
  @Test func `what a writer has not finished is no torn tail, and what nobody finishes is one`() throws {
    let folder = try TemporaryFolder()
    _ = try filled(folder)
    let storage = SystemStorage(path: folder.path)
    let segment = try storage.openFile("000000000001.journal", .update)
    defer { segment.close() }
    let end = try segment.byteCount()
    let tail = [UInt8](repeating: 7, count: 784)
    try segment.writeAll(tail.rawSpan, at: end)
    let torn = try Store.verify(at: folder.path)
    #expect(torn.verdict == .torn && torn.tornByteCount == 784)
    // Who writes holds the lock.
    let lock = try storage.openLocked(FileName.lock, .lock, .exclusive)
    #expect(try Store.verify(at: folder.path).verdict == .sound)
    lock.close()
    // It is gone when the work is done: the transaction was finished meanwhile.
    let finished = try Store.verify(at: folder.path) { _, _ in
      try? segment.writeAll([UInt8](repeating: 0, count: 784).rawSpan, at: end)
      return true
    }
    #expect(finished.verdict == .sound && finished.tornByteCount == 0)
  }

  @Test func `salvage leaves another store's keyring, and brings along one that may be this store's`() throws
  {
    let (folder, other, target) = (try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder())
    _ = try filled(folder)
    try other.create().close()
    let foreign = try Data(contentsOf: URL(filePath: other.path + "/keyring"))
    try folder.alter("keyring.copy") { $0 = foreign }
    try folder.alter("keyring") { $0[40] ^= 1 }
    let damaged = try Data(contentsOf: URL(filePath: folder.path + "/keyring"))
    #expect(try Store.salvage(from: folder.path, to: target.path).keyring == .damaged)
    #expect(try Data(contentsOf: URL(filePath: target.path + "/keyring")) == damaged)
    try folder.alter("keyring") { $0 = foreign }
    let second = try TemporaryFolder()
    #expect(try Store.salvage(from: folder.path, to: second.path).keyring == .foreign)
    #expect(!FileManager.default.fileExists(atPath: second.path + "/keyring"))
  }

  @Test func `a flipped bit in a record is found, and the other records are still read`() throws {
    let folder = try TemporaryFolder()
    let notes = try filled(folder)
    try folder.alter("000000000001.journal") { $0[9_000] ^= 4 }
    let found = try Store.verify(at: folder.path)
    #expect(found.verdict.isDamaged && !found.findings.isEmpty)
    let store = try folder.open()
    let read = notes.filter { (try? store.get(Note.self, $0.id)?.title) == $0.title }
    #expect(read.count == 49)
  }

  @Test func `a tag that does not verify is told apart from sound structure`() throws {
    let folder = try TemporaryFolder()
    let notes = try filled(folder)
    let key = notes[3].id.bytes
    var buffer = ReadBuffer()
    let journal = try Journal.open(in: SystemStorage(path: folder.path))
    let found = try #require(try journal.records.read(key, into: &buffer))
    // Its last byte is the end of the last sealed value: a tag's. Written again, all checksums are right.
    var body = buffer.body.array()
    body[body.count - 1] ^= 1
    var batch = Batch()
    batch.put(key, collection: found.collection, bodyByteCount: body.count) { $0.copy(body.rawSpan, at: 0) }
    try journal.commit(&batch, .durable)
    try journal.close()
    #expect(try Store.verify(at: folder.path).verdict == .sound)
    let verification = try Store.verify(at: folder.path, unlocking: TemporaryFolder.key)
    #expect(verification.verdict.isDamaged && verification.openedCount == 99)
    #expect(
      verification.isSound(.structure) && verification.isSound(.records) && !verification.isSound(.tags))
    #expect(verification.findings.map(\.record) == [notes[3].id])
  }

  @Test func `compaction works locked, keeps what lives and gives back the rest`() throws {
    let folder = try TemporaryFolder()
    let notes = try filled(folder)
    var store = try folder.open()
    for round in 0..<20 {
      try store.write(.buffered) { tx in
        for note in notes.dropFirst(10) {
          let title = "round \(round)" + String(repeating: ".", count: 4_000)
          try tx.update(Note.self, note.id) { $0.set(\.title, title) }
        }
      }
    }
    try store.write { tx in for note in notes.prefix(5) { try tx.delete(Note.self, note.id) } }
    try store.close()
    store = try folder.open(nil)
    let summary = try store.compact()
    #expect(summary.byteCountAfter < summary.byteCountBefore)
    #expect(summary.damagedSegments.isEmpty)
    try store.close()
    store = try folder.open()
    #expect(try store.query(Note.self).count() == 45)
    for (index, note) in notes.enumerated().dropFirst(5) {
      let entry = try #require(try store.get(Note.self, note.id))
      #expect(try entry.title.hasPrefix(index < 10 ? note.title : "round 19") && entry.body == note.body)
    }
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  @Test func `info shows what a store holds, and key names only while unlocked`() throws {
    let folder = try TemporaryFolder()
    _ = try filled(folder)
    let store = try folder.open(nil)
    var info = store.info()
    #expect(info.recordCount == 50 && info.verdict == .sound && info.wasClosed && !info.isUnlocked)
    #expect(info.slots.map(\.kind) == ["key"])
    #expect(info.keys.map(\.name) == [nil, nil] && info.keyring == "sound")
    #expect(info.byteCount > info.liveByteCount && info.liveByteCount > 0)
    try store.unlock(TemporaryFolder.key)
    info = store.info()
    #expect(Set(info.keys.map(\.name)) == ["default", "personal"])
  }

  @Test(arguments: ["keyring", "keyring.copy"])
  func `one damaged or missing keyring is served by the other, and reported`(name: String) throws {
    for damage in 0..<3 {
      let folder = try TemporaryFolder()
      let notes = try filled(folder)
      switch damage {
      case 0: try folder.remove(name)
      case 1: try folder.alter(name) { $0[100] ^= 1 }
      default: try folder.alter(name) { $0.removeAll() }
      }
      let verification = try Store.verify(at: folder.path, unlocking: TemporaryFolder.key)
      #expect(verification.verdict.isDamaged)
      #expect(verification.findings.map(\.message).joined().contains("keyring"))
      let store = try folder.open()
      #expect(store.info().keyring != "sound")
      #expect(try store.get(Note.self, notes[0].id)?.title == notes[0].title)
      try store.close()
    }
  }

  @Test func `a store without any keyring says so`() throws {
    let folder = try TemporaryFolder()
    let notes = try filled(folder)
    try folder.remove("keyring")
    try folder.remove("keyring.copy")
    #expect(throws: NotelogError(.damaged, "")) { try folder.open(nil) }
    // Its structure and records are verified all the same, and what is plain can be read.
    let found = try Store.verify(at: folder.path)
    #expect(found.verdict.isDamaged && found.frameCount > 50 && found.recordCount == notes.count)
    var options = Store.Options()
    options.isReadOnly = true
    let store = try Store.open(at: folder.path, options: options)
    #expect(!store.hasKeyring && store.info().keyring.contains("neither keyring nor keyring.copy"))
    let entry = try #require(try store.get(Note.self, notes[0].id))
    #expect(try abs(entry.time.timeIntervalSince(notes[0].time)) < 0.01)
    #expect(throws: NotelogError(.missingKey, "")) { try entry.title }
    #expect(throws: NotelogError(.damaged, "")) { try store.unlock(TemporaryFolder.key) }
    try store.close()
    #expect(found.findings.map(\.message).joined().contains("neither keyring nor keyring.copy"))
  }

  @Test func `a store opened for reading refuses writes, and lets another write`() throws {
    let folder = try TemporaryFolder()
    let notes = try filled(folder)
    var options = Store.Options()
    options.isReadOnly = true
    let reader = try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    let writer = try folder.open()
    #expect(try reader.get(Note.self, notes[0].id)?.title == notes[0].title)
    #expect(throws: NotelogError(.readOnly, "")) { try reader.write { tx in try tx.put(Note()) } }
    try writer.write { tx in try tx.put(Note()) }
    try writer.close()
    try reader.close()
  }

  @Test func `compaction in steps, by budget and when due, gives space back`() throws {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.compaction = .automatic
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    let notes = (0..<50).map { number in
      Note(title: "title \(number)", body: (0..<200).map { _ in UUID().uuidString }.joined())
    }
    for round in 0..<30 {
      try store.write(.buffered) { tx in
        for note in notes { try tx.put(Note(id: note.id, title: "round \(round)", body: note.body)) }
      }
      let info = store.info()
      #expect(info.byteCount <= info.liveByteCount * 3 / 2 + 3 << 20)
    }
    while try store.compact(.bytes(100_000)).isUnfinished {}
    #expect(try !store.compactIfDue(.time(.seconds(1))))
    #expect(try store.query(Note.self).count() == 50)
    try store.close()
  }
}
