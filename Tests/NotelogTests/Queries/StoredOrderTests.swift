// Ordered indexes in the checkpoint's file: they save the making, and whatever becomes of them changes no
// answer. docs/format-derived.md §32.

@testable import NotelogBase
@testable import NotelogStorage
import Foundation
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct StoredOrderTests {
  /// Notes with random times, some of them equal, in a store that is at hand as a folder.
  fileprivate final class Notebook {
    let folder: TemporaryFolder
    let storage: CountingStorage
    var store: Store
    private(set) var ids: [RecordID] = []
    private var random = SeededGenerator(seed: 11)

    init(count: Int, segmentByteCount: Int? = nil) throws {
      folder = try TemporaryFolder()
      let base = SystemStorage(path: folder.path)
      try base.makeStoreFolder()
      storage = CountingStorage(base)
      var options = Store.Options()
      options.segmentByteCount = segmentByteCount
      store = try Store.create(in: storage, unlocking: TemporaryFolder.key, options: options)
      try add(count)
    }

    func time() -> Date { Date(timeIntervalSinceReferenceDate: Double(random.pick(0..<100_000))) }

    func add(_ count: Int) throws {
      let notes = (0..<count).map { _ in Note(time: time()) }
      for start in stride(from: 0, to: count, by: 500) {
        try store.putAll(notes[start..<min(start + 500, count)])
      }
      ids += notes.map(\.id)
    }

    /// Updates some, deletes some and adds some.
    func change() throws {
      try store.write { tx in
        for _ in 0..<20 {
          let id = ids[random.pick(0..<ids.count)]
          if try tx.get(Note.self, id) != nil { try tx.update(Note.self, id) { $0.set(\.time, time()) } }
        }
        for _ in 0..<5 { try tx.delete(Note.self, ids[random.pick(0..<ids.count)]) }
      }
      try add(10)
    }

    func reopen(closing: Bool = true) throws {
      if closing { try store.close() } else { try store.journal.abandon() }
      try openAgain()
    }

    /// Opens the store, which nobody has open.
    func openAgain() throws {
      store = try Store.open(in: storage, unlocking: TemporaryFolder.key, options: Store.Options())
    }

    var newest: [RecordID] {
      get throws {
        try store.query(Note.self).sorted(by: \.time, .descending).limit(50).entries().map(\.id)
      }
    }

    /// Holds what an index finds against what a scan finds.
    func check() throws {
      for direction in [SortDirection.ascending, .descending] {
        let all = try store.query(Note.self).sorted(by: \.time, direction).entries().map(\.id)
        for limit in [1, 200, all.count] {
          let found = try store.query(Note.self).sorted(by: \.time, direction).limit(limit).entries().map(
            \.id)
          #expect(found == Array(all.prefix(limit)))
        }
      }
      let range = time(20_000)..<time(22_000)
      let some = try store.query(Note.self).where(\.time, in: range).entries().map(\.id)
      let all = try store.query(Note.self).filter(\.time) { range.contains($0) }.entries().map(\.id)
      #expect(some.sorted() == all.sorted())
    }

    private func time(_ seconds: Double) -> Date { Date(timeIntervalSinceReferenceDate: seconds) }

    var name: OrderName {
      get throws { try #require(try indexName(of: \Note.time, in: store)) }
    }

    /// Whether the index that is in memory now is in the checkpoint too; nil where there is none.
    var isStored: Bool? {
      get throws { store.indexes.index(try name)?.isStored }
    }

    /// The bytes of the checkpoint's file, and where the orders begin in it.
    func checkpoint() throws -> (bytes: [UInt8], ordersStart: Int) {
      let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: folder.path + "/index")))
      let head = try #require(store.journal.catalog.checkpointHealth.head)
      return (bytes, head.blockCount * CheckpointBlock.byteCount)
    }
  }

  @Test(arguments: [true, false]) func `an order is read instead of all footers`(isClosed: Bool) throws {
    let notebook = try Notebook(count: 10_000)
    #expect(try notebook.newest.count == 50)
    #expect(try notebook.isStored == false)
    if !isClosed { try notebook.store.journal.checkpoint() }
    try notebook.reopen(closing: isClosed)
    let before = notebook.storage.reads.byteCount
    let index = try #require(try notebook.store.index(notebook.name, at: notebook.store.journal.snapshot()))
    let byteCount = notebook.storage.reads.byteCount - before
    #expect(try notebook.isStored == true)
    #expect(index.count == 10_000)
    // The order takes 320 KB, footers more than 700; of a store that was not closed, recovery has copied a
    // segment.
    #expect(byteCount < (isClosed ? 30_000 : 200_000), "\(byteCount) bytes were read")
    let newest = try notebook.newest
    let all = try notebook.store.query(Note.self).sorted(by: \.time, .descending).entries().map(\.id)
    #expect(newest == Array(all.prefix(50)))
    try notebook.check()
    #expect(try notebook.isStored == true)
  }

  /// Additions go into blocks that are read for them; compaction moves records; checkpoints come and go.
  @Test func `what comes after an order is found too`() throws {
    let notebook = try Notebook(count: 1_500, segmentByteCount: 128 << 10)
    _ = try notebook.newest
    try notebook.store.journal.checkpoint()
    try notebook.check()
    #expect(try notebook.isStored == true)
    for round in 0..<8 {
      for _ in 0..<10 { try notebook.change() }
      if round % 3 == 0 { try notebook.store.compact() }
      if round % 4 == 0 { try notebook.store.journal.checkpoint() }
      // As an order was left, and with an index in memory.
      if round % 2 == 0 { try notebook.check() }
      try notebook.reopen(closing: round % 3 > 0)
      try notebook.check()
      #expect(try notebook.isStored == true)
    }
  }

  /// A checkpoint takes over orders that nobody asked for since the last: who opens a store to write does not
  /// ask.
  @Test func `an order goes from checkpoint to checkpoint`() throws {
    let notebook = try Notebook(count: 1_000)
    _ = try notebook.newest
    try notebook.store.journal.checkpoint()
    for _ in 0..<12 {
      try notebook.reopen()
      try notebook.change()
      try notebook.store.journal.checkpoint()
      #expect(try notebook.store.journal.storedOrder(notebook.name) != nil)
    }
    try notebook.check()
    #expect(try notebook.isStored == true)
  }

  /// A process that is killed, as those of telephones are, need not close the store for it.
  @Test func `an index that was made is stored by who writes`() throws {
    let notebook = try Notebook(count: 1_000)
    try notebook.store.journal.checkpoint()
    _ = try notebook.newest
    #expect(try notebook.isStored == false)
    try notebook.add(200)
    #expect(try notebook.isStored == true)
    try notebook.reopen(closing: false)
    try notebook.check()
    #expect(try notebook.isStored == true)
  }

  @Test func `a record that lacks the field makes an order useless, and it is not asked again`() throws {
    let notebook = try Notebook(count: 1_000)
    _ = try notebook.newest
    try notebook.reopen()
    #expect(try notebook.newest.count == 50)
    #expect(try notebook.isStored == true)
    _ = try notebook.store.collection("note").add(["title": .text("without a time")])
    try notebook.check()
    #expect(try notebook.isStored == nil)
    try notebook.reopen()
    try notebook.check()
    #expect(try notebook.isStored == nil)
  }

  @Test func `a reader uses an order and writes none`() throws {
    let notebook = try Notebook(count: 1_000)
    try notebook.store.journal.checkpoint()
    let without = try notebook.checkpoint().bytes
    var options = Store.Options()
    options.isReadOnly = true
    func read() throws -> Bool? {
      let reader = try Store.open(in: notebook.storage, unlocking: nil, options: options)
      defer { try? reader.close() }
      #expect(try reader.query(Note.self).sorted(by: \.time).limit(1).entries().count == 1)
      return reader.indexes.index(try notebook.name)?.isStored
    }
    #expect(try read() == false)
    #expect(try notebook.checkpoint().bytes == without)
    _ = try notebook.newest
    try notebook.store.close()
    #expect(try read() == true)
  }

  /// The index was made of what the reader can't see, and lacks what was gone by then.
  @Test func `a reader from before an order does without it`() throws {
    let notebook = try Notebook(count: 1_000)
    try notebook.store.journal.checkpoint()
    var options = Store.Options()
    options.isReadOnly = true
    let reader = try Store.open(in: notebook.storage, unlocking: nil, options: options)
    for _ in 0..<5 { try notebook.change() }
    _ = try notebook.newest
    notebook.store.journal.storeOrders()
    #expect(notebook.store.journal.storedOrder(try notebook.name) != nil)
    let all = try reader.query(Note.self).sorted(by: \.time).entries().map(\.id)
    #expect(try reader.query(Note.self).sorted(by: \.time).limit(all.count).entries().map(\.id) == all)
    #expect(reader.indexes.index(try notebook.name)?.isStored == false)
    try reader.close()
  }

  /// A field that often changes leaves keys behind that no record has: when they are in the way, the index is
  /// made anew, and the order goes with its checkpoint.
  @Test func `keys that are no longer any record's go`() throws {
    let notebook = try Notebook(count: 1_500)
    _ = try notebook.newest
    try notebook.reopen()
    for _ in 0..<3 {
      try notebook.store.write { tx in
        for id in notebook.ids { try tx.update(Note.self, id) { $0.set(\.time, notebook.time()) } }
      }
    }
    _ = try notebook.newest
    try notebook.store.journal.checkpoint()
    #expect(try #require(try notebook.store.journal.storedOrder(notebook.name)).keyCount > 4_000)
    for _ in 0..<2 {
      _ = try notebook.store.query(Note.self).sorted(by: \.time).limit(1_500).entries()
    }
    let index = try #require(try notebook.store.index(notebook.name, at: notebook.store.journal.snapshot()))
    #expect(index.count == 1_500)
    try notebook.reopen()
    #expect(try #require(try notebook.store.journal.storedOrder(notebook.name)).keyCount == 1_500)
    try notebook.check()
    #expect(try notebook.isStored == true)
  }

  @Test func `nothing is written into a file that took the checkpoint's place`() throws {
    let notebook = try Notebook(count: 1_000)
    try notebook.store.journal.checkpoint()
    let other = try notebook.checkpoint().bytes
    try notebook.change()
    try notebook.store.journal.checkpoint()
    _ = try notebook.newest
    try Data(other).write(to: URL(fileURLWithPath: notebook.folder.path + "/index"))
    notebook.store.journal.storeOrders()
    #expect(try notebook.checkpoint().bytes == other)
  }

  /// They have the same place in the same file, and may be what a crash left there.
  @Test func `blocks of an order that was begun before are not this one's`() throws {
    let notebook = try Notebook(count: 1_000)
    try notebook.store.journal.checkpoint()
    let name = try notebook.name
    func store(isWhole: Bool) throws {
      try notebook.store.journal.storeOrder(name, since: 0) { writer throws(NotelogError) in
        for number in 0..<300 {
          var key = [UInt8](repeating: 0, count: StoredOrder.keyByteCount)
          key[0] = UInt8(number >> 8)
          key[1] = UInt8(number & 255)
          try writer.append(key.rawSpan)
        }
        if !isWhole {
          do throws(StorageError) { try writer.finishBlocks() } catch { throw NotelogError(error) }
        }
        return isWhole
      }
    }
    try store(isWhole: false)
    #expect(notebook.store.journal.storedOrder(name) == nil)
    let (before, start) = try notebook.checkpoint()
    try store(isWhole: true)
    var bytes = try notebook.checkpoint().bytes
    #expect(try #require(notebook.store.journal.storedOrder(name)).read(1) { _ in })
    bytes.replaceSubrange(
      start + 2 * 4096..<start + 3 * 4096, with: before[start + 2 * 4096..<start + 3 * 4096])
    try Data(bytes).write(to: URL(fileURLWithPath: notebook.folder.path + "/index"))
    let order = try #require(notebook.store.journal.storedOrder(name))
    #expect(order.read(0) { _ in } && !order.read(1) { _ in } && order.read(2) { _ in })
  }

  /// One bit of every hundredth byte, each alone, and of all that the head says.
  @Test func `an order with any byte changed changes no answer`() throws {
    let notebook = try Notebook(count: 1_000)
    _ = try notebook.newest
    try notebook.reopen()
    _ = try notebook.newest
    let (sound, start) = try notebook.checkpoint()
    let expected = try notebook.store.query(Note.self).sorted(by: \.time).entries().map(\.id)
    try notebook.store.close()
    var unusedCount = 0
    for place in start..<sound.count where place % 101 == 0 || place < start + 32 {
      var damaged = sound
      damaged[place] ^= 1 << (place % 8)
      try Data(damaged).write(to: URL(fileURLWithPath: notebook.folder.path + "/index"))
      try notebook.openAgain()
      #expect(notebook.store.journal.report.damages.isEmpty)
      let found = try notebook.store.query(Note.self).sorted(by: \.time).limit(expected.count).entries()
      if found.map(\.id) != expected { Issue.record("byte \(place - start) of the orders") }
      if try notebook.isStored != true { unusedCount += 1 }
      // As if killed: what is written by closing is another test's.
      try notebook.store.journal.abandon()
    }
    // All blocks but the last have no byte that isn't looked at.
    #expect(unusedCount > (sound.count - start) / 101 * 9 / 10)
    try Data(sound).write(to: URL(fileURLWithPath: notebook.folder.path + "/index"))
    try notebook.openAgain()
    try notebook.check()
    #expect(try notebook.isStored == true)
  }

  /// A part that can't be read is found out while something is added to it, or while it is walked; the index
  /// is made from the records then, and stored behind the one that is not sound.
  @Test(arguments: [false, true]) func `a damaged order is made anew`(isFoundByWriting: Bool) throws {
    let notebook = try Notebook(count: 2_000)
    _ = try notebook.newest
    try notebook.reopen()
    _ = try notebook.newest
    var (bytes, start) = try notebook.checkpoint()
    try notebook.store.close()
    for block in 1..<8 { bytes[start + block * 4096 + 5] ^= 1 }
    try Data(bytes).write(to: URL(fileURLWithPath: notebook.folder.path + "/index"))
    try notebook.openAgain()
    if isFoundByWriting {
      // The newest lie in other blocks.
      #expect(try notebook.newest.count == 50)
      #expect(try notebook.isStored == true)
      for _ in 0..<5 { try notebook.change() }
      #expect(try notebook.isStored == nil)
    }
    try notebook.check()
    #expect(try notebook.isStored == false)
    try notebook.reopen()
    try notebook.check()
    #expect(try notebook.isStored == true)
    // In another checkpoint, which is rid of the damage.
    #expect(try notebook.checkpoint().bytes.prefix(4096) != bytes.prefix(4096))
  }

  @Test func `a damaged order is not carried to the next checkpoint`() throws {
    let notebook = try Notebook(count: 2_000)
    _ = try notebook.newest
    try notebook.reopen()
    var (bytes, start) = try notebook.checkpoint()
    try notebook.store.close()
    bytes[start + 4 * 4096 + 5] ^= 1
    try Data(bytes).write(to: URL(fileURLWithPath: notebook.folder.path + "/index"))
    try notebook.openAgain()
    try notebook.store.journal.checkpoint()
    #expect(try notebook.store.journal.storedOrder(notebook.name) == nil)
    try notebook.check()
  }

  @Test func `orders that were cut, or are another checkpoint's, are passed over`() throws {
    let notebook = try Notebook(count: 800)
    _ = try notebook.newest
    try notebook.reopen()
    _ = try notebook.newest
    let (sound, start) = try notebook.checkpoint()
    try notebook.store.close()
    for byteCount in stride(from: start, to: sound.count, by: 2500) {
      for rest in [[], [UInt8](repeating: 0, count: 9_000)] {
        try Data(sound[..<byteCount] + rest).write(to: URL(fileURLWithPath: notebook.folder.path + "/index"))
        try notebook.openAgain()
        #expect(notebook.store.journal.report.checkpoint == .used)
        try notebook.check()
        try notebook.store.journal.abandon()
      }
    }
    // What is behind the entries of another checkpoint has another salt.
    try Data(sound).write(to: URL(fileURLWithPath: notebook.folder.path + "/index"))
    try notebook.openAgain()
    try notebook.change()
    try notebook.store.journal.checkpoint()
    let (other, otherStart) = try notebook.checkpoint()
    try notebook.store.close()
    try Data(other[..<otherStart] + sound[start...]).write(
      to: URL(fileURLWithPath: notebook.folder.path + "/index"))
    try notebook.openAgain()
    try notebook.check()
    #expect(try notebook.isStored == false)
  }

  /// Where there is no room for it, or the device fails, the store goes on as without.
  @Test func `an order that can't be written is none`() throws {
    let disk = SimulatedDisk()
    var store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    try store.putAll((0..<600).map { Note(time: Date(timeIntervalSinceReferenceDate: Double($0))) })
    try store.journal.checkpoint()
    _ = try store.query(Note.self).sorted(by: \.time).limit(1).entries()
    disk.capacity = disk.usedByteCount
    try store.close()
    disk.capacity = nil
    store = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    #expect(store.journal.report.wasClosed)
    #expect(try store.query(Note.self).sorted(by: \.time).limit(1).entries().count == 1)
    let name = try #require(try indexName(of: \Note.time, in: store))
    #expect(store.indexes.index(name)?.isStored == false)
  }
}

extension Journal {
  /// Lets go of the store as a process does that is killed: nothing more is written.
  fileprivate func abandon() throws {
    lock.withLock { $0?.close() }
    for segment in catalog.segments.all { segment.file.close() }
  }
}

/// The index of a field.
func indexName<R: Record>(of path: PartialKeyPath<R>, in store: Store) throws -> OrderName? {
  let plan = try store.reader(for: R.self).plan
  return try plan.collection.indexName(of: plan.index(of: path))
}
