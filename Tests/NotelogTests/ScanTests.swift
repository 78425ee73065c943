// Going through all records: in parts, with conditions, on several threads.

import Foundation
import NotelogBase
@testable import Notelog
import Testing

private struct Page: Record {
  var id = RecordID()
  var text = "blank page"
  var remark: String? = "none yet"
  static let schema = Schema<Page>("page") {
    Plain("text", \.text)
    Sealed("remark", \.remark, padded: true)
  }
}

private struct Bare: Record {
  var id = RecordID()
  static let schema = Schema<Bare>("page") {}
}

@Suite struct ScanTests {
  /// A store of several small segments.
  private func filled(_ folder: TemporaryFolder, _ count: Int) throws -> (store: Store, notes: [Note]) {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    let notes = (0..<count).map { Note(title: "title \($0)", body: "body of number \($0)") }
    for start in stride(from: 0, to: count, by: 50) {
      try store.putAll(notes[start..<min(start + 50, count)], .buffered)
    }
    return (store, notes)
  }

  @Test(arguments: 1...5) func `the parts of a scan make up the whole, each record once`(partCount: Int)
    throws
  {
    let folder = try TemporaryFolder()
    let (store, notes) = try filled(folder, 700)
    let title = try store.field(\Note.title)
    let snapshot = store.snapshot()
    var found: [RecordID: String] = [:]
    for part in 0..<partCount {
      try snapshot.scan(Note.self, part: part, of: partCount) { entry in
        let text = try entry.value(of: title)
        #expect(found.updateValue(text, forKey: entry.id) == nil)
        return true
      }
    }
    #expect(found == Dictionary(uniqueKeysWithValues: notes.map { ($0.id, $0.title) }))
  }

  @Test func `a scanned record gives its fields, itself, and an entry to keep`() throws {
    let folder = try TemporaryFolder()
    let (store, notes) = try filled(folder, 20)
    let body = try store.field(\Note.body)
    var kept: [Entry<Note>] = []
    var opened: [String] = []
    try store.scan(Note.self) { entry in
      let expected = try #require(notes.first { $0.id == entry.id })
      let (title, record) = (try entry.title, try entry.record())
      #expect(title == expected.title && record.body == expected.body)
      // A field that is opened while another one's bytes are in hand.
      try entry.withBytes(of: body) { bytes in
        opened.append(try entry.title)
        let copy = bytes.array()
        #expect(copy == Array(expected.body.utf8))
      }
      kept.append(entry.entry())
      return kept.count < 10
    }
    #expect(kept.count == 10)
    #expect(try kept.map { try $0.title } == opened)
  }

  @Test func `a scan sees its snapshot, and what the closure throws ends it`() throws {
    let folder = try TemporaryFolder()
    let (store, notes) = try filled(folder, 100)
    let before = store.snapshot()
    try store.write { tx in for note in notes.prefix(40) { try tx.delete(Note.self, note.id) } }
    var count = 0
    try before.scan(Note.self) { _ in
      count += 1
      return true
    }
    #expect(count == 100)
    struct Enough: Error {}
    #expect(throws: Enough.self) { try store.scan(Note.self) { _ in throw Enough() } }
  }

  @Test(arguments: 1...4) func `a query on several threads finds what it finds on one`(threadCount: Int)
    throws
  {
    let folder = try TemporaryFolder()
    let (store, notes) = try filled(folder, 400)
    let query = store.query(Note.self).where(\.body, contains: "number 3")
    let expected = Set(notes.filter { $0.body.contains("number 3") }.map(\.id))
    #expect(try query.parallel(threadCount).count() == expected.count)
    #expect(try Set(query.parallel(threadCount).entries().map(\.id)) == expected)
    #expect(try query.limit(7).parallel(threadCount).count() == 7)
    #expect(try query.limit(7).parallel(threadCount).entries().count == 7)
    let sorted = query.sorted(by: \.title, .descending).parallel(threadCount)
    let titles = try sorted.entries().map { try $0.title }
    #expect(titles == notes.filter { expected.contains($0.id) }.map(\.title).sorted(by: >))
    #expect(
      try sorted.limit(5).entries().map(\.id) == sorted.entries().prefix(5).map(\.id))
    #expect(throws: CocoaError.self) {
      try store.query(Note.self).filter(\.title) { _ in throw CocoaError(.userCancelled) }.parallel(
        threadCount
      ).count()
    }
  }

  @Test func `text is searched for byte by byte`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let notes = ["", "a", "grüße aus Köln", "GRÜSSE", "aaab", "🙂🙃"].map { Note(title: $0, body: $0 + $0) }
    try store.putAll(notes)
    for needle in ["", "a", "ab", "aaabaaab", "üße", "Ü", "🙃🙂", "x", "🙂"] {
      let bytes = Array(needle.utf8)
      func holds(_ text: String) -> Bool {
        let hay = Array(text.utf8)
        return bytes.isEmpty || hay.indices.contains { hay[$0...].starts(with: bytes) }
      }
      let titles = try store.query(Note.self).where(\.title, contains: needle).entries().map { try $0.title }
      #expect(Set(titles) == Set(notes.map(\.title).filter(holds)), "\(needle)")
      let bodies = try store.query(Note.self).where(\.body, contains: needle).count()
      #expect(bodies == notes.filter { holds($0.body) }.count, "\(needle)")
    }
  }

  @Test func `searching knows missing values from initial ones`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.write { tx in
      try tx.put(Bare())
      try tx.put(Page(text: "written page", remark: nil))
      try tx.put(Page(text: "full", remark: "none of it"))
    }
    #expect(try store.query(Page.self).where(\.text, contains: "page").count() == 2)
    #expect(try store.query(Page.self).where(\.remark, contains: "none").count() == 2)
    #expect(try store.query(Page.self).where(\.remark, contains: "yet").count() == 1)
    #expect(try store.query(Page.self).where(\.remark, contains: "").count() == 2)
  }

  @Test func `searching a locked field throws, and on plain ones works locked`() throws {
    let folder = try TemporaryFolder()
    let (store, _) = try filled(folder, 10)
    store.lock(.everything)
    #expect(throws: NotelogError(.locked, "")) {
      try store.query(Note.self).where(\.title, contains: "1").parallel(2).count()
    }
    #expect(try store.query(Note.self).parallel(2).count() == 10)
  }

  @Test func `a record that does not check is left out of a scan, and told of`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    try store.putAll((0..<50).map { Note(title: "title \($0)") })
    try store.close()
    try folder.alter("000000000001.journal") { $0[9_000] ^= 4 }
    store = try folder.open()
    var count = 0
    var findings: [Finding] = []
    try store.scan(Note.self, damaged: { findings.append($0) }) { _ in
      count += 1
      return true
    }
    #expect(count == 49 && findings.map(\.isDamage) == [true])
    #expect(store.damage.verdict == .contained && store.info().verdict.isDamaged)
    struct Stop: Error {}
    #expect(throws: Stop.self) { try store.scan(Note.self, damaged: { _ in throw Stop() }) { _ in true } }
  }

  /// One damaged record took its whole collection away: every query of it threw.
  @Test(arguments: [false, true]) func `a query finds what is sound, and tells of the rest`(isIndexed: Bool)
    throws
  {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let times = (0..<200).map { Date(timeIntervalSinceReferenceDate: Double($0)) }
    try store.putAll(times.enumerated().map { Note(time: $1, title: "title \($0)") })
    if isIndexed { _ = try store.query(Note.self).sorted(by: \.time).limit(1).entries() }
    try store.close()
    try folder.alter("000000000001.journal") { $0[9_000] ^= 4 }
    store = try folder.open()
    let told = Lock(0)
    let query = store.query(Note.self).onDamage { _ in told.withLock { $0 += 1 } }
    #expect(try query.entries().count == 199)
    #expect(try query.count() == 199)
    #expect(try query.where(\.title, contains: "title").entries().count == 199)
    #expect(try query.sorted(by: \.time).entries().count == 199)
    #expect(try query.sorted(by: \.time).limit(199).entries().count == 199)
    #expect(try query.sorted(by: \.title).limit(10).entries().count == 10)
    #expect(told.withLock { $0 } == 6)
    #expect(store.damage.lostRecordCount == 1 && store.info().verdict.isDamaged)
  }

  @Test(arguments: [1, 2, 3]) func `verification on several threads finds what it finds on one`(count: Int)
    throws
  {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    for _ in 0..<10 {
      try store.putAll(
        (0..<50).map { Note(title: "title \($0)", body: String(repeating: "\($0)", count: 50)) })
    }
    try store.close()
    func verify() throws -> Verification {
      try Store.verify(at: folder.path, unlocking: TemporaryFolder.key, threadCount: count)
    }
    let sound = try verify()
    #expect(sound.verdict == .sound && sound.recordCount == 500 && sound.openedCount == 1_000)
    #expect(sound.frameCount > 500 && sound.segmentCount > 5)
    try folder.alter("000000000003.journal") { $0[9_000] ^= 4 }
    let damaged = try verify()
    #expect(damaged.verdict.isDamaged && damaged.recordCount == 499)
    #expect(damaged.findings.count(where: { $0.record != nil }) == 1)
    var calls = 0
    #expect(throws: NotelogError(.cancelled, "")) {
      try Store.verify(at: folder.path, threadCount: count) { _, _ in
        calls += 1
        return false
      }
    }
    #expect(calls == 1)
  }
}
