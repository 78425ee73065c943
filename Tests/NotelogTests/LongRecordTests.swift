// Fields of records so long that not all of them is read for one field.

@testable import NotelogBase
@testable import NotelogFormat
@testable import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

private struct Page: Record, Equatable {
  var id = RecordID()
  var number = 0
  var title = ""
  var text = ""
  static let schema = Schema<Page>("page") {
    Plain("number", \.number, indexed: true)
    Sealed("title", \.title)
    Sealed("text", \.text)
  }

  /// A page with a text of so many letters, and a title of others.
  init(_ number: Int, titleCount: Int = 12, textCount: Int) {
    self.number = number
    title = Self.letters(titleCount, after: number)
    text = Self.letters(textCount, after: number + 1)
  }
  init() {}

  private static func letters(_ count: Int, after seed: Int) -> String {
    var random = SeededGenerator(seed: UInt64(seed))
    return random.letters(count: count)
  }
}

@Suite struct LongRecordTests {
  /// What a byte on the disk is changed to.
  private let otherByte: [UInt8] = [0xFF]

  private static func options(cacheByteCount: Int) -> Store.Options {
    var options = Store.Options()
    options.cacheByteCount = cacheByteCount
    options.segmentByteCount = 256 << 10
    return options
  }

  /// A store with pages, opened anew.
  private func open(_ pages: [Page], in storage: any Storage, cacheByteCount: Int) throws -> Store {
    let options = Self.options(cacheByteCount: cacheByteCount)
    let store = try Store.create(in: storage, unlocking: TemporaryFolder.key, options: options)
    try store.putAll(pages)
    try store.close()
    // Looking up in the checkpoint's file would be counted too.
    try storage.unlink("index")
    return try Store.open(in: storage, unlocking: TemporaryFolder.key, options: options)
  }

  @Test func `a short field is read without what is long in its record, and that when it is asked for`()
    throws
  {
    let folder = try TemporaryFolder()
    try SystemStorage(path: folder.path).makeStoreFolder()
    let storage = CountingStorage(SystemStorage(path: folder.path))
    let pages = (0..<20).map { Page($0, textCount: 60_000) }
    let store = try open(pages, in: storage, cacheByteCount: 0)
    let (title, text) = (try store.field(\Page.title), try store.field(\Page.text))
    var buffer = ValueBuffer()
    // What looking up takes once, it has taken then.
    for page in pages { #expect(try store.get(title, of: page.id, using: &buffer) == page.title) }
    for page in pages {
      let before = storage.reads.byteCount
      #expect(try store.get(title, of: page.id, using: &buffer) == page.title)
      let titleByteCount = storage.reads.byteCount - before
      #expect(titleByteCount > 0 && titleByteCount <= 4096)
      try buffer.open(text)
      let opened = buffer.bytes.array()
      #expect(opened == Array(page.text.utf8))
      let all = storage.reads.byteCount - before
      #expect(all > 60_000 && all < 64_000)
    }
  }

  @Test(arguments: [0, 16 << 20])
  func `what was left out is of the version that was read, whatever came after it`(cacheByteCount: Int) throws
  {
    let folder = try TemporaryFolder()
    try SystemStorage(path: folder.path).makeStoreFolder()
    let pages = (0..<40).map { Page($0, textCount: 20_000) }
    let store = try open(pages, in: SystemStorage(path: folder.path), cacheByteCount: cacheByteCount)
    let (title, text) = (try store.field(\Page.title), try store.field(\Page.text))
    var buffer = ValueBuffer()
    for _ in 0..<3 {
      for page in pages { #expect(try store.get(title, of: page.id, using: &buffer) == page.title) }
    }
    #expect(try store.get(title, of: pages[0].id, using: &buffer) == pages[0].title)
    let segment = try #require(try store.journal.catalog.location(of: pages[0].id.bytes)).segment
    for page in pages {
      var newer = page
      newer.text = "newer"
      try store.write { tx in try tx.put(newer) }
    }
    _ = try store.compact()
    #expect(store.journal.catalog.segments[segment] == nil)
    try buffer.open(text)
    let opened = buffer.bytes.array()
    #expect(opened == Array(pages[0].text.utf8))
    #expect(try store.get(text, of: pages[0].id, using: &buffer) == "newer")
  }

  @Test(arguments: [0, 16 << 20])
  func `fields of many records come whole, however different they are in length`(cacheByteCount: Int) throws {
    let folder = try TemporaryFolder()
    try SystemStorage(path: folder.path).makeStoreFolder()
    var random = SeededGenerator(seed: 3)
    let pages = (0..<500).map {
      Page(
        $0, titleCount: $0 % 50 == 0 ? 3000 : .random(in: 0...300, using: &random),
        textCount: $0 % 3 == 0
          ? .random(in: 0...60_000, using: &random) : .random(in: 0...700, using: &random))
    }
    let store = try open(pages, in: SystemStorage(path: folder.path), cacheByteCount: cacheByteCount)
    let (number, title, text) = (
      try store.field(\Page.number), try store.field(\Page.title), try store.field(\Page.text)
    )
    var buffer = ValueBuffer()
    for _ in 0..<4 {
      let picked = pages.shuffled(using: &random)
      let ids = picked.map(\.id)
      var found = 0
      try store.getMany(title, of: ids, using: &buffer) { place, value in
        #expect(value == picked[place].title)
        found += 1
      }
      try store.getMany(text, of: ids, using: &buffer) { #expect($1 == picked[$0].text) }
      try store.getMany(number, of: ids, using: &buffer) { #expect($1 == picked[$0].number) }
      #expect(found == pages.count)
      for page in picked.prefix(100) {
        #expect(try store.get(text, of: page.id, using: &buffer) == page.text)
      }
    }
  }

  @Test
  func `a record that is cut off gives the fields that are there, and says that the others are damaged`()
    throws
  {
    let folder = try TemporaryFolder()
    try SystemStorage(path: folder.path).makeStoreFolder()
    let storage = SystemStorage(path: folder.path)
    let page = Page(1, textCount: 60_000)
    let store = try open(
      [page] + (2..<20).map { Page($0, textCount: 60_000) }, in: storage, cacheByteCount: 0)
    let place = try #require(try store.journal.catalog.location(of: page.id.bytes)).place
    let file = try storage.open(FileName.segment(place.segment), .update)
    try file.truncate(to: place.offset + 5000)
    file.close()
    let (title, text) = (try store.field(\Page.title), try store.field(\Page.text))
    var buffer = ValueBuffer()
    #expect(try store.get(title, of: page.id, using: &buffer) == page.title)
    for _ in 0..<2 { #expect(throws: NotelogError(.damaged, "")) { try buffer.open(text) } }
    #expect(throws: NotelogError(.damaged, "")) { try store.get(text, of: page.id, using: &buffer) }
    #expect(throws: NotelogError(.damaged, "")) { try store.get(Page.self, page.id) }
  }

  @Test func `a read that fails leaves no record in the buffer`() throws {
    let folder = try TemporaryFolder()
    try SystemStorage(path: folder.path).makeStoreFolder()
    let storage = SystemStorage(path: folder.path)
    let pages = (0..<20).map { Page($0, textCount: 3000) }
    let store = try open(pages, in: storage, cacheByteCount: 0)
    let place = try #require(try store.journal.catalog.location(of: pages[1].id.bytes)).place
    let file = try storage.open(FileName.segment(place.segment), .update)
    // A byte of the header's id.
    try file.writeAll(otherByte.rawSpan, at: place.offset + 20)
    file.close()
    let (title, text) = (try store.field(\Page.title), try store.field(\Page.text))
    var buffer = ValueBuffer()
    for _ in 0..<2 {
      #expect(try store.get(title, of: pages[0].id, using: &buffer) == pages[0].title)
      #expect(throws: NotelogError(.damaged, "")) {
        try store.get(text, of: pages[1].id, using: &buffer)
      }
      #expect(throws: NotelogError(.notFound, "")) { try buffer.open(text) }
      #expect(throws: NotelogError(.damaged, "")) { try store.read(title, of: pages[1].id, into: &buffer) }
      #expect(throws: NotelogError(.notFound, "")) { try buffer.open(text) }
    }
  }

  @Test(arguments: [0, 16 << 20])
  func `a field opens beside damage also where the directory is longer than what is read first`(
    cacheByteCount: Int
  ) throws {
    let folder = try TemporaryFolder()
    try SystemStorage(path: folder.path).makeStoreFolder()
    let storage = SystemStorage(path: folder.path)
    var store = try open([Page(1, textCount: 5000)], in: storage, cacheByteCount: cacheByteCount)
    let page = try #require(try store.query(Page.self).entries().first).record()
    var stored = ReadBuffer()
    let found = try #require(try store.journal.records.read(page.id.bytes, into: &stored))
    // The same with sixty fields more, of a schema to come.
    let body = try widened(stored.body, by: 60)
    var batch = Batch()
    batch.put(page.id.bytes, collection: found.collection, bodyByteCount: body.count) { target in
      for (offset, byte) in body.enumerated() {
        target.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
      }
    }
    try store.journal.commit(&batch, .buffered)
    try store.putAll((2..<200).map { Page($0, textCount: 5000) })
    let place = try #require(try store.journal.catalog.location(of: page.id.bytes)).place
    try store.close()
    let file = try storage.open(FileName.segment(place.segment), .update)
    let last = place.offset + Layout.frameHeaderByteCount + body.count - 1
    try file.writeAll(otherByte.rawSpan, at: last)
    file.close()
    let options = Self.options(cacheByteCount: cacheByteCount)
    store = try Store.open(in: storage, unlocking: TemporaryFolder.key, options: options)
    let (title, text) = (try store.field(\Page.title), try store.field(\Page.text))
    var buffer = ValueBuffer()
    for _ in 0..<5 {
      #expect(try store.get(title, of: page.id, using: &buffer) == page.title)
      #expect(try store.get(text, of: page.id, using: &buffer) == page.text)
      #expect(throws: NotelogError(.damaged, "")) { try store.get(Page.self, page.id) }
    }
  }

  /// A body with more fields behind its own, of eight bytes each.
  private func widened(_ bytes: RawSpan, by count: Int) throws -> [UInt8] {
    let entries = try RecordBody(checking: bytes).entries()
    let values = entries.reduce(0) { $0 + $1.range.count } + 8 * count
    let byteCount = DirectoryWriter.byteCount(fieldCount: entries.count + count) + values
    var body = [UInt8](repeating: 0, count: byteCount)
    body.withBytes(in: 0..<byteCount) { span in
      var writer = DirectoryWriter(fieldCount: entries.count + count, into: &span)
      for entry in entries {
        let range = writer.add(entry, into: &span)
        span.copy(bytes.extracting(entry.range), at: range.lowerBound)
      }
      for number in 0..<count {
        let entry = FieldEntry(
          number: UInt16(1000 + number), type: .integer, flags: [], keyReference: 0, range: 0..<8)
        _ = writer.add(entry, into: &span)
      }
    }
    return body
  }

  @Test func `a store that was closed reads no rest, and not of a file that has its number now`() throws {
    let folder = try TemporaryFolder()
    let storage = SystemStorage(path: folder.path)
    try storage.makeStoreFolder()
    let page = Page(1, textCount: 60_000)
    let store = try open([page], in: storage, cacheByteCount: 0)
    var buffer = ValueBuffer()
    #expect(try store.get(try store.field(\Page.title), of: page.id, using: &buffer) == page.title)
    let text = try store.field(\Page.text)
    try store.close()
    let others = try (0..<64).map { _ in try storage.open(FileName.lock, .read) }
    #expect { try buffer.open(text) } throws: { ($0 as? NotelogError)?.code == .closed }
    for other in others { other.close() }
  }

  @Test func `the rest of a record comes from the cache where that has it`() throws {
    let folder = try TemporaryFolder()
    let storage = CountingStorage(SystemStorage(path: folder.path))
    try SystemStorage(path: folder.path).makeStoreFolder()
    let pages = (0..<100).map { Page($0, textCount: 3000) }
    let store = try open(pages, in: storage, cacheByteCount: 64 << 20)
    let (title, text) = (try store.field(\Page.title), try store.field(\Page.text))
    var buffer = ValueBuffer()
    for _ in 0..<5 {
      for page in pages { #expect(try store.get(Page.self, page.id)?.record() == page) }
    }
    var uncached = 0
    for page in pages {
      // The index may be asked in its file for this.
      #expect(try store.get(title, of: page.id, using: &buffer) == page.title)
      let before = storage.reads.callCount
      try buffer.open(text)
      let opened = buffer.bytes.array()
      #expect(opened == Array(page.text.utf8))
      if storage.reads.callCount > before { uncached += 1 }
    }
    // The last block of a segment that is still written to is not kept.
    #expect(uncached < 10)
  }

  @Test func `a buffer forgets a record when the next is looked for, whatever comes of it`() throws {
    let folder = try TemporaryFolder()
    try SystemStorage(path: folder.path).makeStoreFolder()
    let page = Page(1, textCount: 60_000)
    let store = try open([page], in: SystemStorage(path: folder.path), cacheByteCount: 0)
    var buffer = ReadBuffer()
    #expect(try store.journal.records.readUnchecked(page.id.bytes, into: &buffer) != nil)
    let isWhole = buffer.isWhole
    #expect(!isWhole)
    #expect(try store.journal.records.readUnchecked(RecordID().bytes, into: &buffer) == nil)
    let isForgotten = buffer.isWhole && buffer.bodyByteCount == 0
    #expect(isForgotten)
  }
}
