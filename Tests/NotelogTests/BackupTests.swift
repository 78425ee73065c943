// Backup and restore of a store with its keyring.

import Foundation
import Testing

@testable import Notelog

@Suite struct BackupTests {
  @Test func `a backup of a store in use is restored, password and all, and copies only what is new`() throws
  {
    let (folder, backup, restored) = (try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder())
    let store = try folder.create()
    let notes = (0..<200).map {
      Note(title: "title \($0)", body: String(repeating: "body \($0) ", count: 20))
    }
    try store.putAll(notes)
    let first = try store.backup(to: backup.path)
    #expect(first.findings.isEmpty && first.copiedByteCount > 0)
    try store.write { tx in try tx.update(Note.self, notes[0].id) { $0.set(\.title, "newer") } }
    let second = try Store.backup(of: folder.path, to: backup.path)
    #expect(second.findings.isEmpty)
    // What was deleted after the backup is in it.
    try store.write { tx in try tx.delete(Note.self, notes[1].id) }
    #expect(try Store.restore(from: backup.path, to: restored.path).isEmpty)
    let again = try restored.open()
    #expect(try again.get(Note.self, notes[0].id)?.title == "newer")
    #expect(try again.get(Note.self, notes[1].id)?.body == notes[1].body)
    #expect(try again.query(Note.self).count() == 200)
    try again.close()
    #expect(try Store.verify(at: restored.path, unlocking: TemporaryFolder.key).verdict == .sound)
    try store.close()
  }

  @Test func `a backup is refused where there is none, or one of another store`() throws {
    let (folder, other, backup) = (try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder())
    let store = try folder.create()
    try store.backup(to: backup.path)
    let second = try other.create()
    #expect(throws: NotelogError(.alreadyExists, "")) { try second.backup(to: backup.path) }
    #expect(throws: NotelogError(.alreadyExists, "")) {
      try Store.restore(from: backup.path, to: folder.path)
    }
    #expect(throws: NotelogError(.notFound, "")) {
      try Store.backup(of: folder.path + "/nowhere", to: backup.path)
    }
    let new = try TemporaryFolder()
    for path in [folder.path, folder.path + "/nowhere"] {
      #expect(throws: NotelogError(.notFound, "")) { try Store.restore(from: path, to: new.path) }
    }
    try store.close()
    try second.close()
  }

  @Test func `a backup that is stopped leaves the one before`() throws {
    let (folder, backup, restored) = (try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder())
    var options = Store.Options()
    options.segmentByteCount = 64 << 10
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    let notes = (0..<300).map {
      Note(title: "title \($0)", body: String(repeating: "body \($0) ", count: 40))
    }
    try store.putAll(notes.prefix(10))
    try store.backup(to: backup.path)
    for note in notes { try store.write(.buffered) { tx in try tx.put(note) } }
    #expect(throws: NotelogError(.cancelled, "")) { try store.backup(to: backup.path) { _, _ in false } }
    #expect(try Store.restore(from: backup.path, to: restored.path).isEmpty)
    let again = try restored.open()
    #expect(try again.query(Note.self).count() == 10)
    try again.close()
    try store.close()
  }

  /// Such a backup was accepted, and lay among the store's own files.
  @Test func `nothing is made in a folder that lies inside the one it is made of, or around it`() throws {
    let (folder, backup) = (try TemporaryFolder(), try TemporaryFolder())
    let store = try folder.create()
    try store.backup(to: backup.path)
    let link = folder.path + "-link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path)
    defer { try? FileManager.default.removeItem(atPath: link) }
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    let name = URL(filePath: folder.path).lastPathComponent
    let inside = [
      folder.path + "/backup", folder.path + "/pins/../new/deeper", link + "/backup",
      backup.path + "/../\(name)/./backup",
    ]
    let refused = NotelogError(.invalidArgument, "")
    for path in inside {
      #expect(throws: refused) { try store.backup(to: path) }
      #expect(throws: refused) { try Store.backup(of: folder.path, to: path) }
      #expect(throws: refused) { try Store.salvage(from: folder.path, to: path) }
    }
    let parent = URL(filePath: folder.path).deletingLastPathComponent().path
    #expect(throws: refused) { try store.backup(to: parent) }
    #expect(throws: refused) { try Store.restore(from: backup.path, to: backup.path + "/store") }
    #expect(throws: refused) { try Store.restore(from: backup.path, to: parent) }
    #expect(throws: refused) { try Store.salvage(from: folder.path, to: parent) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == files)
    #expect(!FileManager.default.fileExists(atPath: backup.path + "/store"))
    // One whose name merely begins like the store's is another folder.
    try store.backup(to: folder.path + "-link-2")
    try FileManager.default.removeItem(atPath: folder.path + "-link-2")
    try store.close()
  }

  @Test func `a backup is verified as the store that it is of, with its sealed values`() throws {
    let (folder, backup) = (try TemporaryFolder(), try TemporaryFolder())
    let store = try folder.create()
    try store.putAll((0..<20).map { Note(title: "title \($0)", body: "body \($0)") })
    try store.backup(to: backup.path)
    let found = try Store.verify(at: backup.path, unlocking: TemporaryFolder.key)
    #expect(found.verdict == .sound && found.recordCount == 20 && found.openedCount > 0)
    #expect(found.backupStoreID?.description == store.info().id && found.backupPartCount == 1)
    #expect(try Store.verify(at: folder.path).backupPartCount == nil)
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try Store.verify(at: backup.path, unlocking: .key([UInt8](repeating: 1, count: 32)))
    }
    try store.close()
  }

  @Test func `a damaged keyring is found in a backup, and never takes the place of a sound one`() throws {
    let (folder, backup) = (try TemporaryFolder(), try TemporaryFolder())
    let store = try folder.create()
    try store.putAll([Note(title: "title", body: "body")])
    try store.backup(to: backup.path)
    try store.close()
    let files = ["/keyring", "/keyring.copy"]
    let sound = try Data(contentsOf: URL(filePath: folder.path + "/keyring"))
    for damaged in [files, Array(files.prefix(1)), Array(files.suffix(1))] {
      for bytes in [
        Data(), sound.prefix(sound.count / 2), sound.dropLast(), Data([sound[0] ^ 1]) + sound.dropFirst(),
      ] {
        for file in damaged { try bytes.write(to: URL(filePath: folder.path + file)) }
        #expect(try Store.backup(of: folder.path, to: backup.path).findings.isEmpty == false)
        for file in files {
          #expect(try Data(contentsOf: URL(filePath: backup.path + file)) == sound)
          try sound.write(to: URL(filePath: folder.path + file))
        }
        #expect(
          try Store.backup(of: folder.path, to: backup.path, unlocking: TemporaryFolder.key).findings.isEmpty)
        // In the backup.
        for file in damaged { try bytes.write(to: URL(filePath: backup.path + file)) }
        #expect(try Store.verify(at: backup.path).verdict.isDamaged)
        let restored = try TemporaryFolder()
        #expect(try !Store.restore(from: backup.path, to: restored.path).isEmpty)
        if damaged.count == 1 {
          #expect(try Store.verify(at: restored.path, unlocking: TemporaryFolder.key).verdict == .sound)
        }
        #expect(
          try Store.backup(of: folder.path, to: backup.path, unlocking: TemporaryFolder.key).findings.isEmpty)
        #expect(try Store.verify(at: backup.path).verdict == .sound)
      }
    }
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
    #expect((store.info().bytesWrittenPerByteStored ?? 0) >= 1)
    #expect(try store.query(Note.self).count() == 50)
    try store.close()
  }
}
