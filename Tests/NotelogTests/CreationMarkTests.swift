// The marks `created` and `creating`: whoever has the files can change them, and nothing is erased on their
// word (FORMAT.md 3, INV-L4).

@testable import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct CreationMarkTests {
  private static let mark = Array("notelog: a store is being made in this folder\n".utf8)

  /// A closed store with a record.
  private static func made() throws -> (disk: SimulatedDisk, note: Note) {
    let disk = SimulatedDisk()
    let note = Note(title: "title")
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    try store.write { tx in try tx.put(note) }
    try store.close()
    return (disk, note)
  }

  private static func open(_ disk: SimulatedDisk) throws -> Store {
    try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
  }

  /// The bug: with `created` renamed to `creating` every verb said that there is no store, and a creation, a
  /// restoring or a salvage in its folder erased it.
  @Test func `a store whose mark was renamed is opened, is never erased, and verify says so`() throws {
    let (disk, note) = try Self.made()
    let backup = SimulatedDisk()
    _ = try Shipper(disk, to: backup.archive).ship()
    disk.replace("creating", with: Self.mark)
    disk.replace("created", with: nil)
    let before = disk.fileNames
    #expect(throws: NotelogError(.alreadyExists, "")) {
      try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    }
    #expect(throws: NotelogError(.alreadyExists, "")) { try Store.restore(backup.archive, to: disk) }
    #expect(throws: NotelogError(.alreadyExists, "")) {
      try Store.salvage(from: try Self.made().disk, to: disk)
    }
    #expect(disk.fileNames == before)
    let found = try Store.verify(in: disk, unlocking: TemporaryFolder.key)
    #expect(
      found.findings.map(\.message) == ["created is missing or can't be read"] && found.verdict.isDamaged)
    let store = try Self.open(disk)
    #expect(try store.get(Note.self, note.id)?.title == "title")
    try store.close()
    // Whoever writes makes it again.
    #expect(try Store.verify(in: disk, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  @Test(arguments: [nil, [], Array(mark.dropLast()), Array("not what was written".utf8), mark + [1]])
  func `a mark that is not as it was written is a finding where it could not be a crash, and is made again`(
    content: [UInt8]?
  ) throws {
    let (disk, _) = try Self.made()
    disk.replace("created", with: content)
    let mayBeACrash = content.map { Self.mark.starts(with: $0) } ?? false
    #expect(try Store.verify(in: disk, unlocking: nil).verdict == (mayBeACrash ? .sound : .contained))
    try Self.open(disk).close()
    #expect(try Store.verify(in: disk, unlocking: nil).verdict == .sound)
    #expect(mayBeACrash || disk.contents("created") == Self.mark)
  }

  /// What an interrupted restoring or salvage has copied is somebody's too, wherever it came from.
  @Test func `a folder with records in it is not cleared, and without a keyring it is no store`() throws {
    let (disk, _) = try Self.made()
    disk.replace("creating", with: Self.mark)
    for name in ["created", "keyring", "keyring.copy"] { disk.replace(name, with: nil) }
    #expect(throws: NotelogError(.notFound, "")) { try Self.open(disk) }
    #expect(throws: NotelogError(.alreadyExists, "")) {
      try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    }
    // Whoever makes it holds the mark locked: until then it is none.
    let (other, _) = try Self.made()
    other.replace("creating", with: Self.mark)
    other.replace("created", with: nil)
    let mark = try other.open("creating", .read)
    try mark.lock(.exclusive)
    #expect(throws: NotelogError(.notFound, "")) { try Self.open(other) }
    mark.close()
    try Self.open(other).close()
  }

  /// The bug: `info` called a store sound that `verify` called damaged.
  @Test(arguments: ["keyring", "keyring.copy", "schemas", "created"])
  func `the condition of a store is what verify says, beside the log too`(name: String) throws {
    let (disk, _) = try Self.made()
    for content in [nil, disk.contents(name)?.dropLast(20)] as [ArraySlice<UInt8>?] {
      let copy = disk.copy()
      copy.replace(name, with: content.map(Array.init))
      var options = Store.Options()
      options.isReadOnly = true
      let store = try Store.open(in: copy, unlocking: nil, options: options)
      #expect(store.info().verdict == (try Store.verify(in: copy, unlocking: nil)).verdict, "\(name)")
      #expect(content != nil || store.info().verdict.isDamaged)
      try store.close()
    }
  }
}
