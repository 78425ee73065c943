// The ordered index: the set that it is, and what queries make of it.

@testable import NotelogBase
import NotelogStorage
import Foundation
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct OrderedIndexTests {
  private func entry(_ key: UInt16, _ id: UInt64) -> Notelog.OrderedEntry {
    let bytes = [UInt8(key >> 8), UInt8(key & 255)]
    return Notelog.OrderedEntry(key: bytes.rawSpan, RecordID(high: id, low: 0))
  }

  private func groups(_ index: OrderedIndex, _ direction: SortDirection) throws -> [[Notelog.OrderedEntry]] {
    var groups: [[Notelog.OrderedEntry]] = []
    try index.forEachGroup(direction) { group in
      groups.append(Array(group))
      return true
    }
    return groups
  }

  @Test(arguments: 0..<8) func `an index is a sorted set, however it was filled`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let start = (0..<Int.random(in: 0...3_000, using: &generator)).map { _ in
      entry(.random(in: 0...500, using: &generator), .random(in: 0...5, using: &generator))
    }
    var index = OrderedIndex(start)
    var model = Set(start)
    for _ in 0..<3_000 {
      let new = entry(.random(in: 0...500, using: &generator), .random(in: 0...50, using: &generator))
      let isThere = index.insert(new)
      #expect(isThere)
      model.insert(new)
    }
    let ascending = try groups(index, .ascending)
    #expect(index.count == model.count)
    #expect(ascending.flatMap { $0 } == model.sorted())
    #expect(ascending.allSatisfy { group in group.allSatisfy { $0.ties(with: group[0]) } })
    #expect(try groups(index, .descending) == ascending.reversed())
  }

  @Test func `an index that is distrusted while it is made is made again, and not of what is stored`() throws
  {
    let indexes = FieldIndexes()
    var mayUseStored: [Bool] = []
    let made = try indexes.make(OrderName(collection: 1, field: 1)) { isPermitted in
      mayUseStored.append(isPermitted)
      if mayUseStored.count == 1 { indexes.distrustAll() }
      return FieldIndexes.Made(index: OrderedIndex(), since: 1, isStored: isPermitted)
    }
    #expect(mayUseStored == [true, false])
    #expect(made?.isStored == false)
  }

  @Test func `walking stops when it is told to`() throws {
    let index = OrderedIndex((0..<2_000).map { entry(UInt16($0), 0) })
    var seen = 0
    try index.forEachGroup(.descending) { _ in
      seen += 1
      return seen < 3
    }
    #expect(seen == 3)
  }
}

@Suite struct IndexedQueryTests {
  /// The ids of all notes in the order of their times, as a scan finds them.
  private func expected(_ store: Store, _ direction: SortDirection) throws -> [RecordID] {
    try store.query(Note.self).sorted(by: \.time, direction).entries().map(\.id)
  }

  private func check(_ store: Store) throws {
    for direction in [SortDirection.ascending, .descending] {
      let all = try expected(store, direction)
      for limit in [1, 5, 1_000] {
        let found = try store.query(Note.self).sorted(by: \.time, direction).limit(limit).entries().map(\.id)
        #expect(found == Array(all.prefix(limit)))
      }
    }
  }

  @Test func `an index finds what a scan finds, after every kind of write`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    func time(_ seconds: Double) -> Date { Date(timeIntervalSinceReferenceDate: seconds) }
    var notes = (0..<300).map { Note(time: time(Double($0 * 7 % 50))) }
    try store.putAll(notes)
    try check(store)
    try store.write { tx in
      for note in notes.prefix(20) { try tx.update(Note.self, note.id) { $0.set(\.time, time(1_000)) } }
      for note in notes[20..<40] { try tx.delete(Note.self, note.id) }
      try tx.put(Note(time: time(-1)))
    }
    try check(store)
    for note in notes.prefix(10) {
      try store.write { tx in try tx.update(Note.self, note.id) { $0.set(\.time, note.time) } }
    }
    notes.removeAll()
    try check(store)
    // A transaction that fails leaves keys behind that no record has.
    _ = try? store.write { tx in
      try tx.put(Note(time: .distantFuture))
      throw CancellationError()
    }
    try check(store)
    try store.close()
    store = try folder.open(nil)
    try check(store)
  }

  @Test func `an index is made of footers, not of records`() throws {
    let folder = try TemporaryFolder()
    let storage = CountingStorage(SystemStorage(path: folder.path))
    try SystemStorage(path: folder.path).makeStoreFolder()
    var options = Store.Options()
    options.segmentByteCount = 64 << 10
    var store = try Store.create(in: storage, unlocking: TemporaryFolder.key, options: options)
    var random = SeededGenerator(seed: 3)
    func time() -> Date { Date(timeIntervalSinceReferenceDate: Double(random.pick(0..<500))) }
    let notes = (0..<600).map { _ in
      Note(
        time: time(), body: String(decoding: random.bytes(count: 1_000).map { $0 & 63 + 48 }, as: UTF8.self))
    }
    for start in stride(from: 0, to: notes.count, by: 20) { try store.putAll(notes[start..<start + 20]) }
    for note in notes.prefix(100) {
      try store.write { tx in try tx.update(Note.self, note.id) { $0.set(\.time, time()) } }
    }
    for note in notes[150..<200] { try store.write { tx in try tx.delete(Note.self, note.id) } }
    _ = try store.compact()
    for note in notes.suffix(30) {
      try store.write { tx in try tx.update(Note.self, note.id) { $0.set(\.time, time()) } }
    }
    try store.close()
    store = try Store.open(in: storage, unlocking: TemporaryFolder.key, options: options)
    // This loads all of the index from its checkpoint, which is not what is measured.
    try store.journal.checkpoint()
    let before = storage.reads.byteCount
    let newest = try store.query(Note.self).sorted(by: \.time, .descending).limit(5).entries().map(\.id)
    let byteCount = storage.reads.byteCount - before
    // The head has no footer yet: its frames are gone through.
    #expect(byteCount < 2 * 64 << 10, "\(byteCount) bytes were read")
    #expect(newest == Array(try expected(store, .descending).prefix(5)))
    try check(store)
  }

  @Test func `records that lack the field are found all the same`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll((0..<10).map { Note(time: Date(timeIntervalSinceReferenceDate: Double($0))) })
    try check(store)
    let id = try store.collection("note").add(["title": .text("without a time")])
    try check(store)
    #expect(try store.query(Note.self).sorted(by: \.time, .descending).limit(1).entries().map(\.id) == [id])
  }

  @Test func `the newest of many are found by reading few`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll(
      (0..<2_000).map { Note(time: Date(timeIntervalSinceReferenceDate: Double($0)), title: "\($0)") })
    let query = store.query(Note.self).sorted(by: \.time, .descending).limit(50)
    #expect(try query.entries().count == 50)
    #expect(store.metrics.fieldsOpened == 0)
    #expect(
      try query.filter(\.title) { $0.hasSuffix("7") }.limit(3).entries().map { try $0.title }
        == ["1997", "1987", "1977"])
    // 23 titles were looked at, and three read again.
    #expect(store.metrics.fieldsOpened == 26)
  }
}
