// Figures that are true: what `info` says, whenever it is asked.

import Foundation
import Testing

@testable import Notelog

@Suite struct FigureTests {
  /// The bug: the schemas' records were counted by asking a journal that was closed, and were then counted as
  /// the app's.
  @Test func `the number of records and the sizes are the same right after closing`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll((0..<50).map { Note(title: "\($0)") })
    let before = store.info()
    try store.close()
    let after = store.info()
    #expect(before.recordCount == 50 && after.recordCount == 50)
    #expect(after.byteCount >= after.liveByteCount && after.liveByteCount == before.liveByteCount)
    #expect(after.segments.allSatisfy { $0.byteCount > 0 })
  }

  /// The bug: a frame's line in the footer counts as live before there is a footer.
  @Test func `what is live is never more than the files are long, also after an import`() throws {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.segmentByteCount = 1 << 20
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    struct Tiny: Record {
      var id = RecordID()
      static let schema = Schema<Tiny>("tiny") {}
    }
    for _ in 0..<20 {
      try store.putAll((0..<500).map { _ in Tiny() }, .buffered)
      for segment in store.info().segments { #expect(segment.liveByteCount <= segment.byteCount) }
    }
    #expect(store.info().recordCount == 10_000)
  }

  @Test func `what is used and what is set aside are all that the files take`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll((0..<500).map { Note(title: "\($0)") })
    func lengths() throws -> (reserve: Int, others: Int) {
      var (reserve, others) = (0, 0)
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)
        let size = (attributes[.size] as? Int) ?? 0
        if name == "reserve" { reserve = size } else if name != "created" { others += size }
      }
      return (reserve, others)
    }
    let (open, found) = (store.info(), try lengths())
    #expect(open.reservedByteCount >= found.reserve && found.reserve > 0)
    #expect(open.usedByteCount <= found.others && open.usedByteCount > open.liveByteCount)
    #expect(open.usedByteCount + open.reservedByteCount >= found.reserve + found.others)
    try store.close()
    let (closed, left) = (store.info(), try lengths())
    // The close mark is the only difference.
    #expect((0...128).contains(left.others - closed.usedByteCount))
    #expect(closed.reservedByteCount == left.reserve)
  }

  @Test func `a second opening takes the keys of the first, and is locked by itself`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let note = Note(title: "secret")
    try store.write { tx in try tx.put(note) }
    var options = Store.Options()
    options.isReadOnly = true
    let reader = try Store.open(at: folder.path, unlocking: .root(store.unlockRoot()), options: options)
    #expect(try reader.get(Note.self, note.id)?.title == "secret")
    store.lock(.everything)
    #expect(try reader.get(Note.self, note.id)?.title == "secret")
    #expect(throws: NotelogError(.locked, "")) {
      try Store.open(at: folder.path, unlocking: .root(store.unlockRoot()), options: options)
    }
    reader.lock(.everything)
    #expect(throws: NotelogError(.locked, "")) { try reader.get(Note.self, note.id)?.title }
    let other = try TemporaryFolder()
    let stranger = try other.create()
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try Store.open(at: folder.path, unlocking: .root(stranger.unlockRoot()), options: options)
    }
    try store.close()
    #expect(throws: NotelogError(.closed, "")) {
      try Store.open(at: folder.path, unlocking: .root(store.unlockRoot()), options: options)
    }
  }
}
