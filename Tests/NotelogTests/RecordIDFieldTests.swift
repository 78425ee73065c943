// A record's id as a field of another: kept, found, sorted and unique as any value, and read as a UUID too.

import Foundation
import NotelogTestSupport
import Testing

import Notelog

private struct Folder: Record {
  var id = RecordID()
  var name = ""
  static let schema = Schema<Folder>("folder") { Sealed("name", \.name) }
}

/// What lies in a folder, or in none.
private struct Sheet: Record, Equatable {
  var id = RecordID()
  var folder: RecordID?
  var author = noAuthor
  var reader: RecordID?
  static let schema = Schema<Sheet>("sheet") {
    Plain("folder", \.folder, indexed: true)
    Plain("author", \.author, indexed: true)
    Sealed("reader", \.reader)
  }
  static let noAuthor = RecordID(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
}

/// The same collection, as an app has it that kept ids as UUIDs.
private struct OlderSheet: Record {
  var id = RecordID()
  var folder: UUID?
  var author = Sheet.noAuthor.uuid
  var reader: UUID?
  static let schema = Schema<OlderSheet>("sheet") {
    Plain("folder", \.folder, indexed: true)
    Plain("author", \.author, indexed: true)
    Sealed("reader", \.reader)
  }
}

/// Without an index.
private struct LooseSheet: Record {
  var id = RecordID()
  var folder: RecordID?
  var author = Sheet.noAuthor
  static let schema = Schema<LooseSheet>("loose") {
    Plain("folder", \.folder)
    Plain("author", \.author)
  }
}

/// One key a door, and nobody sees whose.
private struct DoorKey: Record {
  var id = RecordID()
  var door: RecordID?
  var owner = RecordID()
  static let schema = Schema<DoorKey>("door key") {
    Plain("door", \.door, indexed: true)
    Sealed("owner", \.owner).revealingEquality()
    Unique(\.door)
    Unique(\.owner)
  }
}

@Suite struct RecordIDFieldTests {
  @Test func `a record names another by its id, and finds it while it is there`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let letters = Folder(name: "letters")
    let sheet = Sheet(folder: letters.id, author: RecordID(), reader: RecordID())
    let loose = Sheet()
    try store.write { tx in
      try tx.put(letters)
      try tx.put(sheet)
      try tx.put(loose)
    }
    try store.close()
    let reopened = try folder.open()
    #expect(try reopened.get(Sheet.self, sheet.id)?.record() == sheet)
    #expect(try reopened.get(Sheet.self, loose.id)?.record() == loose)
    let found = try #require(try reopened.get(Sheet.self, sheet.id)?.folder)
    #expect(try reopened.get(Folder.self, found)?.name == "letters")
    #expect(try reopened.query(Sheet.self).where(\.folder, is: letters.id).entries().map(\.id) == [sheet.id])
    // Nothing goes with a record that others name.
    try reopened.write { tx in
      try tx.delete(Folder.self, letters.id)
      try tx.update(Sheet.self, sheet.id) { $0.set(\.reader, nil) }
    }
    #expect(try reopened.get(Sheet.self, sheet.id)?.folder == letters.id)
    #expect(try reopened.get(Sheet.self, sheet.id)?.reader == nil)
    #expect(try reopened.get(Folder.self, letters.id) == nil)
  }

  @Test func `an id and a UUID are one field, under the type that the store keeps`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let older = OlderSheet(folder: UUID(), author: UUID(), reader: UUID())
    let newer = Sheet(folder: RecordID(), author: RecordID(), reader: RecordID())
    try store.write { tx in try tx.put(older) }
    try store.write { tx in try tx.put(newer) }
    let read = try #require(try store.get(Sheet.self, older.id)).record()
    #expect(read.folder?.uuid == older.folder && read.author.uuid == older.author)
    #expect(read.reader?.uuid == older.reader)
    #expect(try store.get(OlderSheet.self, newer.id)?.reader == newer.reader?.uuid)
    let entry = try #require(try store.collection("sheet").get(newer.id))
    #expect(try entry.value("author") == .uuid(newer.author.uuid))
    #expect(try entry.value("reader") == .uuid(#require(newer.reader).uuid))
    try store.collection("sheet").update(newer.id, ["author": .uuid(older.id.uuid)])
    #expect(try store.get(Sheet.self, newer.id)?.author == older.id)
  }

  @Test func `conditions, orders and figures are those of the bytes, with an index and without`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var random = SeededGenerator(seed: 12)
    let ids = (0..<40).map { _ in RecordID() }.sorted()
    let sheets = (0..<200).map { _ in
      Sheet(
        folder: random.oneIn(4) ? nil : ids[random.pick(0..<40)], author: ids[random.pick(0..<40)],
        reader: nil)
    }
    try store.putAll(sheets)
    try store.putAll(sheets.map { LooseSheet(folder: $0.folder, author: $0.author) })
    store.lock(.everything)
    func check(
      _ words: String, _ indexed: QueryCondition<Sheet>, _ loose: QueryCondition<LooseSheet>,
      _ holds: (Sheet) -> Bool
    ) throws {
      let expected = Set(sheets.filter(holds).map(\.id))
      #expect(try Set(store.query(Sheet.self).where(indexed).entries().map(\.id)) == expected, "\(words)")
      #expect(try store.query(LooseSheet.self).where(loose).count() == expected.count, "\(words)")
    }
    for (low, high) in [(0, 0), (0, 39), (3, 5), (38, 39), (20, 20)] {
      let (first, last) = (ids[low], ids[high])
      let few = [first, last]
      try check("is", .field(\.author, is: first), .field(\.author, is: first)) { $0.author == first }
      try check("in", .field(\.author, in: few), .field(\.author, in: few)) { few.contains($0.author) }
      try check("range", .field(\.author, in: first..<last), .field(\.author, in: first..<last)) {
        first <= $0.author && $0.author < last
      }
      try check("range of optional", .field(\.folder, in: first...last), .field(\.folder, in: first...last)) {
        $0.folder.map { first <= $0 && $0 <= last } ?? false
      }
      try check("isNot", .field(\.folder, isNot: first), .field(\.folder, isNot: first)) {
        $0.folder != first
      }
    }
    try check("nil", .field(\.folder, is: nil), .field(\.folder, is: nil)) { $0.folder == nil }
    let query = store.query(Sheet.self)
    let range = try query.where(\.author, in: ids[2]...ids[4]).explain()
    #expect(range.indexes.map(\.fields) == [["author"]])
    let sorted = query.sorted(by: \.author, .descending).sorted(by: \.folder)
    let expected = sheets.sorted {
      ($1.author, $0.folder?.description ?? "", $0.id) < ($0.author, $1.folder?.description ?? "", $1.id)
    }
    #expect(try sorted.entries().map(\.id) == expected.map(\.id))
    let page = query.sorted(by: \.author).limit(20)
    #expect(try !page.explain().sortsInMemory)
    let next = try page.after(page.cursor(at: #require(page.entries().last))).entries()
    #expect(
      next.map(\.id) == Array(sheets.sorted { ($0.author, $0.id) < ($1.author, $1.id) }.map(\.id)[20..<40]))
    #expect(try query.min(of: \.author) == sheets.map(\.author).min())
    #expect(try query.max(of: \.folder) == sheets.compactMap(\.folder).max())
  }

  @Test func `no two records share an id, plain or sealed, where the schema says so`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let key = DoorKey(door: RecordID(), owner: RecordID())
    try store.write { tx in
      try tx.put(key)
      // Those of no door don't meet.
      try tx.put(DoorKey())
      try tx.put(DoorKey())
    }
    #expect(throws: NotelogError(.notUnique, "")) {
      try store.write { tx in try tx.put(DoorKey(door: key.door)) }
    }
    #expect(throws: NotelogError(.notUnique, "")) {
      try store.write { tx in try tx.put(DoorKey(door: RecordID(), owner: key.owner)) }
    }
    let found = store.query(DoorKey.self).where(\.owner, is: key.owner)
    #expect(try found.entries().map(\.id) == [key.id])
    var buffer = ValueBuffer()
    let owner = try store.field(\DoorKey.owner)
    #expect(try store.get(owner, of: key.id, using: &buffer) == key.owner)
  }
}
