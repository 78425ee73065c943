// Archives of a store with its keyring: FORMAT.md §26.

import Foundation
import Testing

@testable import Notelog

@Suite struct ArchiveTests {
  @Test func `a store in use is shipped, and restored, password and all; only what is new is put`() throws {
    let (folder, archive, restored) = (try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder())
    let store = try folder.create()
    let notes = (0..<200).map {
      Note(title: "title \($0)", body: String(repeating: "body \($0) ", count: 20))
    }
    try store.putAll(notes)
    let first = try store.ship(to: archive.archive)
    #expect(first.findings.isEmpty && first.byteCount > 0)
    try store.write { tx in try tx.update(Note.self, notes[0].id) { $0.set(\.title, "newer") } }
    let second = try Shipper(of: folder.path, to: archive.archive).ship()
    #expect(second.findings.isEmpty && second.byteCount < first.byteCount)
    // What was deleted after the round is in it.
    try store.write { tx in try tx.delete(Note.self, notes[1].id) }
    #expect(try Store.restore(from: archive.archive, to: restored.path).findings.isEmpty)
    let again = try restored.open()
    #expect(try again.get(Note.self, notes[0].id)?.title == "newer")
    #expect(try again.get(Note.self, notes[1].id)?.body == notes[1].body)
    #expect(try again.query(Note.self).count() == 200)
    try again.close()
    #expect(try Store.verify(at: restored.path, unlocking: TemporaryFolder.key).verdict == .sound)
    try store.close()
  }

  @Test func `a shipper whose pin somebody removed takes another one`() throws {
    let (folder, archive) = (try TemporaryFolder(), try TemporaryFolder())
    let store = try folder.create()
    let shipper = try Shipper(of: folder.path, to: archive.archive)
    let pins = folder.path + "/pins"
    try shipper.ship()
    let first = try FileManager.default.contentsOfDirectory(atPath: pins)
    try FileManager.default.removeItem(atPath: pins)
    try shipper.ship()
    let second = try FileManager.default.contentsOfDirectory(atPath: pins)
    #expect(first.count == 1 && second.count == 1 && first != second)
    try store.close()
  }

  @Test func `an archive is refused where there is none, or one of another store`() throws {
    let (folder, other, archive) = (try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder())
    let store = try folder.create()
    try store.ship(to: archive.archive)
    let second = try other.create()
    #expect(throws: NotelogError(.alreadyExists, "")) { try second.ship(to: archive.archive) }
    #expect(throws: NotelogError(.alreadyExists, "")) {
      try Store.restore(from: archive.archive, to: folder.path)
    }
    #expect(throws: NotelogError(.notFound, "")) {
      try Shipper(of: folder.path + "/nowhere", to: archive.archive)
    }
    let new = try TemporaryFolder()
    for path in [folder.path, new.path + "-nowhere"] {
      let archive = FolderArchive(path: path)
      #expect(throws: NotelogError(.notFound, "")) { try Store.restore(from: archive, to: new.path) }
      #expect(throws: NotelogError(.notFound, "")) { try Store.verify(archive) }
    }
    // Nothing is made of a name that was misspelt.
    #expect(!FileManager.default.fileExists(atPath: new.path + "-nowhere"))
    try store.close()
    try second.close()
  }

  @Test func `a round that is stopped leaves what was there before`() throws {
    let (folder, archive, restored) = (try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder())
    var options = Store.Options()
    options.segmentByteCount = 64 << 10
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    let notes = (0..<300).map {
      Note(title: "title \($0)", body: String(repeating: "body \($0) ", count: 40))
    }
    try store.putAll(notes.prefix(10))
    try store.ship(to: archive.archive)
    for note in notes { try store.write(.buffered) { tx in try tx.put(note) } }
    #expect(throws: NotelogError(.cancelled, "")) { try store.ship(to: archive.archive) { _, _ in false } }
    #expect(try Store.restore(from: archive.archive, to: restored.path).findings.isEmpty)
    let again = try restored.open()
    #expect(try again.query(Note.self).count() == 10)
    try again.close()
    try store.close()
  }

  /// Such a backup was accepted, and lay among the store's own files.
  @Test func `nothing is made in a folder that lies inside the one it is made of, or around it`() throws {
    let (folder, archive) = (try TemporaryFolder(), try TemporaryFolder())
    let store = try folder.create()
    try store.ship(to: archive.archive)
    let link = folder.path + "-link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path)
    defer { try? FileManager.default.removeItem(atPath: link) }
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    let name = URL(filePath: folder.path).lastPathComponent
    let inside = [
      folder.path + "/archive", folder.path + "/pins/../new/deeper", link + "/archive",
      archive.path + "/../\(name)/./archive",
    ]
    let refused = NotelogError(.invalidArgument, "")
    for path in inside {
      #expect(throws: refused) { try store.ship(to: FolderArchive(path: path)) }
      #expect(throws: refused) { try Shipper(of: folder.path, to: FolderArchive(path: path)).ship() }
      #expect(throws: refused) { try Store.salvage(from: folder.path, to: path) }
    }
    let parent = URL(filePath: folder.path).deletingLastPathComponent().path
    #expect(throws: refused) { try store.ship(to: FolderArchive(path: parent)) }
    #expect(throws: refused) { try Store.restore(from: archive.archive, to: archive.path + "/store") }
    #expect(throws: refused) { try Store.restore(from: archive.archive, to: parent) }
    #expect(throws: refused) { try Store.salvage(from: folder.path, to: parent) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == files)
    #expect(!FileManager.default.fileExists(atPath: archive.path + "/store"))
    // One whose name merely begins like the store's is another folder.
    try store.ship(to: FolderArchive(path: folder.path + "-link-2"))
    try FileManager.default.removeItem(atPath: folder.path + "-link-2")
    try store.close()
  }

  @Test func `an archive is verified as the store that it is of, with its sealed values`() throws {
    let (folder, archive) = (try TemporaryFolder(), try TemporaryFolder())
    let store = try folder.create()
    try store.putAll((0..<20).map { Note(title: "title \($0)", body: "body \($0)") })
    try store.ship(to: archive.archive)
    let found = try Store.verify(archive.archive, unlocking: TemporaryFolder.key)
    #expect(found.verdict == .sound && found.recordCount == 20 && found.openedCount > 0)
    #expect(found.archivedRevision == store.info().nextRevision - 1 && found.archivedObjectCount == 1)
    #expect(try Store.verify(at: folder.path).archivedObjectCount == nil)
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try Store.verify(archive.archive, unlocking: .key([UInt8](repeating: 1, count: 32)))
    }
    try store.close()
  }

  @Test func `a damaged keyring is found in an archive, and never takes the place of a sound one`() throws {
    let (folder, archive) = (try TemporaryFolder(), try TemporaryFolder())
    let store = try folder.create()
    try store.putAll([Note(title: "title", body: "body")])
    try store.ship(to: archive.archive)
    try store.close()
    let files = ["/keyring", "/keyring.copy"]
    let sound = try Data(contentsOf: URL(filePath: folder.path + "/keyring"))
    let name = try #require(archive.archive.objects().keys.first { $0.hasPrefix("k-") })
    let object = URL(filePath: archive.path + "/" + name)
    for bytes in [
      Data(), sound.prefix(sound.count / 2), sound.dropLast(), Data([sound[0] ^ 1]) + sound.dropFirst(),
    ] {
      for damaged in [files, Array(files.prefix(1)), Array(files.suffix(1))] {
        for file in damaged { try bytes.write(to: URL(filePath: folder.path + file)) }
        for checksAll in [false, true] {
          let summary = try Shipper(of: folder.path, to: archive.archive).ship(checkingAll: checksAll)
          #expect(summary.findings.contains { $0.part == .keyring && $0.isDamage })
        }
        #expect(try Data(contentsOf: object) == sound)
        #expect(try archive.archive.objects().keys.filter { $0.hasPrefix("k-") } == [name])
        for file in files { try sound.write(to: URL(filePath: folder.path + file)) }
      }
      // In the archive.
      try bytes.write(to: object)
      #expect(try Store.verify(archive.archive).verdict.isDamaged)
      let restored = try TemporaryFolder()
      #expect(try !Store.restore(from: archive.archive, to: restored.path).findings.isEmpty)
      let mended = try Shipper(of: folder.path, to: archive.archive).ship(checkingAll: true)
      #expect(mended.findings.isEmpty && mended.mendedObjects == 1)
      #expect(try Store.verify(archive.archive, unlocking: TemporaryFolder.key).verdict == .sound)
    }
  }
}
