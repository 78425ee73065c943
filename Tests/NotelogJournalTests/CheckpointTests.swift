// The checkpoint: whatever becomes of it, the store says the same. docs/format-derived.md §31.

@testable import NotelogBase
@testable import Notelog
@testable import NotelogFormat
@testable import NotelogStorage
import Foundation
import NotelogTestSupport
import Synchronization
import Testing

@Suite struct CheckpointTests {
  private func body(_ number: Int, version: Int = 0) -> [UInt8] {
    [UInt8](count: 20 + number % 90, from: number &* 31 &+ version &* 7)
  }

  private func bytes(of store: TemporaryStore, _ name: String = "index") throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: store.storage.path + "/" + name)))
  }

  private func replace(_ store: TemporaryStore, _ name: String = "index", with bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: store.storage.path + "/" + name))
  }

  /// A closed store with a checkpoint of some records and deletions.
  private func closedStore(_ count: Int = 400, _ options: JournalOptions = .small) throws -> TemporaryStore {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: options)
    for number in 0..<count { try journal.put(key(number), body(number), .buffered) }
    for number in 0..<count where number % 10 == 0 { try journal.delete(key(number), .buffered) }
    try journal.checkpoint()
    try journal.close()
    return store
  }

  private func check(_ journal: Journal, _ count: Int = 400) throws {
    for number in 0..<count {
      let expected = number % 10 == 0 ? nil : body(number)
      if try journal.body(of: key(number)) != expected { Issue.record("record \(number) reads wrongly") }
    }
    #expect(journal.catalog.index.recordCount == count - (count + 9) / 10)
    #expect(try journal.records().count == count - (count + 9) / 10)
  }

  @Test(arguments: [64, 9, 2]) func `a store opens from its checkpoint`(bitCount: Int) throws {
    var options = JournalOptions.small
    options.fingerprintBitCount = bitCount
    let store = try closedStore(2000, options)
    for _ in 0..<2 {
      let journal = try Journal.open(in: store.storage, options: options)
      #expect(journal.report.checkpoint == .used)
      #expect(journal.report.verdict == .sound)
      #expect(journal.catalog.changeCount == 0)
      try check(journal, 2000)
      try journal.close()
    }
    #expect(try Journal.verify(store.storage).report.checkpoint == .used)
  }

  @Test func `live bytes are the same from a checkpoint and from the segments`() throws {
    let store = try closedStore()
    let fromCheckpoint = try Journal.open(in: store.storage, options: .small)
    let figures = fromCheckpoint.statistics.segments.map(\.liveByteCount)
    try fromCheckpoint.close()
    try store.storage.unlink("index")
    let fromSegments = try Journal.open(in: store.storage, options: .small)
    #expect(fromSegments.report.checkpoint == .missing)
    #expect(fromSegments.statistics.segments.map(\.liveByteCount) == figures)
    #expect(fromSegments.catalog.segments.liveByteCount == figures.reduce(0, +))
  }

  @Test func `closing a small store writes a checkpoint of each change`() throws {
    let store = try closedStore(40)
    let before = try bytes(of: store)
    let journal = try Journal.open(in: store.storage, options: .small)
    try journal.close()
    #expect(try bytes(of: store) == before)
    let again = try Journal.open(in: store.storage, options: .small)
    try again.put(key(1), body(1), .buffered)
    try again.close()
    #expect(try bytes(of: store) != before)
    let last = try Journal.open(in: store.storage, options: .small)
    #expect(last.catalog.changeCount == 0)
    try last.close()
  }

  @Test func `closing a large store writes a checkpoint when much has changed, and not otherwise`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    var batch = Batch()
    for number in 0..<17_000 {
      batch.put(key(number), collection: 1, bodyByteCount: 1) { $0.store(UInt8(1), at: 0) }
      if batch.byteCount > 1 << 20 { try journal.commit(&batch, .buffered) }
    }
    try journal.commit(&batch, .buffered)
    try journal.close()
    let before = try bytes(of: store)
    let again = try Journal.open(in: store.storage, options: .small)
    #expect(again.report.checkpoint == .used)
    try again.put(key(1), body(1), .buffered)
    try again.close()
    #expect(try bytes(of: store) == before)
    #expect(try Journal.open(in: store.storage, options: .small).body(of: key(1)) == body(1))
  }

  /// Each bit of a small checkpoint, alone: never a wrong answer.
  @Test func `a checkpoint with any bit flipped changes no answer`() throws {
    let store = try closedStore(40)
    let sound = try bytes(of: store)
    #expect(sound.count == 3 * 4096)
    // Of what is zero for sure, one bit in 61.
    let bits = (0..<sound.count * 8).filter { bit in
      sound[bit / 8] != 0 || bit / 8 % 4096 >= 4080 || bit % 61 == 0
    }
    for bit in TestEffort.sample(bits, 1_000) {
      var damaged = sound
      damaged[bit / 8] ^= 1 << (bit % 8)
      try replace(store, with: damaged)
      let journal = try Journal.open(in: store.storage, options: .small)
      #expect(journal.report.damages == [])
      for number in 0..<40 {
        let expected = number % 10 == 0 ? nil : body(number)
        if try journal.body(of: key(number)) != expected {
          Issue.record("bit \(bit): record \(number) reads wrongly")
        }
      }
      #expect(journal.report.checkpoint == .damaged || journal.catalog.checkpointHealth.isDamaged)
      #expect(try Journal.verify(store.storage).report.checkpoint == .damaged)
      // Nothing was written: the store is not closed in order again, only let go.
      try journal.abandon()
    }
  }

  /// What was built from the segments is handed over once; a read that fails right after that must not lose
  /// it.
  @Test func `a read that fails while a damaged checkpoint is made up for loses nothing`() throws {
    let disk = SimulatedDisk()
    let writer = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<400 { try writer.put(key(number), body(number), .buffered) }
    try writer.checkpoint()
    for number in 0..<400 where number % 3 == 0 {
      try writer.put(key(number), body(number, version: 1), .buffered)
    }
    try writer.close()
    var index = try #require(disk.contents(FileName.index))
    for block in 2..<index.count / 4096 { index[block * 4096 + 5] ^= 1 }
    disk.replace(FileName.index, with: index)
    var firedCount = 0
    for passing in 0... {
      let copy = disk.copy()
      let journal = try Journal.open(in: copy, options: .small)
      #expect(journal.report.checkpoint == .used)
      copy.plan(Fault(.error(SystemErrno.inputOutput), of: [.read], passing: passing))
      _ = try? journal.body(of: key(passing % 400))
      let hasFired = !copy.firedFaults.isEmpty
      copy.forgetFaults()
      for number in 0..<400 {
        let expected = body(number, version: number % 3 == 0 ? 1 : 0)
        if try journal.body(of: key(number)) != expected {
          Issue.record("read \(passing) failed: record \(number) reads wrongly")
        }
      }
      #expect(journal.catalog.index.recordCount == 400 && journal.catalog.checkpointHealth.isDamaged)
      try journal.close()
      guard hasFired else { break }
      firedCount += 1
    }
    #expect(firedCount >= 10)
  }

  /// The next opening takes the checkpoint that was made instead.
  @Test func `after a damaged checkpoint a new one is as good as any`() throws {
    let store = try closedStore(2000)
    var index = try bytes(of: store)
    index[3 * 4096] ^= 1
    try replace(store, with: index)
    let journal = try Journal.open(in: store.storage, options: .small)
    for number in 0..<2000 { _ = try journal.body(of: key(number)) }
    #expect(journal.catalog.checkpointHealth.isDamaged)
    try journal.checkpoint()
    for number in 0..<800 { try journal.put(key(number), body(number), .buffered) }
    try journal.abandon()
    let again = try Journal.open(in: store.storage, options: .small)
    #expect(again.report.checkpoint == .used)
    for number in 0..<800 { #expect(try again.body(of: key(number)) == body(number)) }
    #expect(!again.catalog.checkpointHealth.isDamaged)
    try again.close()
  }

  @Test func `a checkpoint cut at any block is built again`() throws {
    let store = try closedStore()
    let sound = try bytes(of: store)
    for byteCount in stride(from: 0, to: sound.count, by: 1000) {
      try replace(store, with: Array(sound.prefix(byteCount)))
      let journal = try Journal.open(in: store.storage, options: .small)
      #expect(journal.report.checkpoint == .damaged)
      try check(journal)
      try journal.abandon()
    }
  }

  @Test func `a checkpoint of an earlier moment, and one of another store, are told apart`() throws {
    let store = try closedStore()
    let early = try bytes(of: store)
    let journal = try Journal.open(in: store.storage, options: .small)
    for number in 0..<400 { try journal.put(key(number), body(number, version: 1), .buffered) }
    for number in 0..<50 { try journal.delete(key(number), .buffered) }
    _ = try journal.compact()
    for number in 100..<200 { try journal.put(key(number), body(number, version: 2), .buffered) }
    try journal.close()
    try replace(store, with: early)
    let again = try Journal.open(in: store.storage, options: .small)
    #expect(again.report.checkpoint == .used)
    #expect(again.report.verdict == .sound)
    for number in 0..<400 {
      let version = (100..<200).contains(number) ? 2 : 1
      #expect(try again.body(of: key(number)) == (number < 50 ? nil : body(number, version: version)))
    }
    #expect(again.catalog.index.recordCount == 350)
    try again.close()
    let other = try TemporaryStore()
    try Journal.create(in: other.storage, storeID: key(98), options: .small).close()
    try replace(other, with: early)
    let fromOther = try Journal.open(in: other.storage, options: .small)
    #expect(fromOther.report.checkpoint == .stale)
    #expect(fromOther.report.verdict == .sound)
    #expect(try fromOther.records() == [])
  }

  /// The model, with checkpoints, crashes of the process (the journal is dropped, not closed), and
  /// compactions.
  @Test(arguments: 0..<16) func `a journal with checkpoints says what a dictionary says`(seed: UInt64) throws
  {
    var generator = SeededGenerator(seed: seed)
    let store = try TemporaryStore()
    var options = JournalOptions.small
    options.fingerprintBitCount = seed % 3 == 0 ? 5 : 64
    var journal = try Journal.create(in: store.storage, storeID: key(99), options: options)
    var model: [ID16: [UInt8]] = [:]
    let idCount = 200
    for step in 0..<1500 {
      let id = key(Int.random(in: 0..<idCount, using: &generator))
      switch Int.random(in: 0..<300, using: &generator) {
      case 0..<180:
        let body = (0..<Int.random(in: 0..<200, using: &generator)).map {
          UInt8(truncatingIfNeeded: $0 &+ step)
        }
        try journal.put(id, body, .flushed)
        model[id] = body
      case 180..<230:
        try journal.delete(id, .flushed)
        model[id] = nil
      case 230..<286: #expect(try journal.body(of: id) == model[id])
      case 286..<289: _ = try journal.compact()
      case 289..<292: try journal.checkpoint()
      case 292..<296:
        try journal.close()
        journal = try Journal.open(in: store.storage, options: options)
        #expect(journal.report.verdict == .sound)
      default:
        try journal.abandon()
        journal = try Journal.open(in: store.storage, options: options)
        #expect(journal.report.damages == [])
      }
    }
    for number in 0..<idCount { #expect(try journal.body(of: key(number)) == model[key(number)]) }
    #expect(try journal.records() == model.keys.sorted())
    #expect(journal.catalog.index.recordCount == model.count)
    // What is counted as live is what a reading of all segments counts.
    try journal.catalog.index.loadAll()
    let counted = journal.catalog.segments.all.map(\.liveBytes)
    try journal.close()
    try? store.storage.unlink("index")
    let fresh = try Journal.open(in: store.storage, options: options)
    #expect(fresh.catalog.segments.all.map(\.liveBytes) == counted)
    #expect(try Journal.verify(store.storage).report.verdict == .sound)
  }

  /// A checkpoint that held the log's gate would never return here.
  @Test func `writers go on while a checkpoint gets to the medium`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99))
    for number in 0..<300 { try journal.put(key(number), [1]) }
    let written = Atomic(0)
    disk.afterEachCall { call, name in
      guard call == .sync, written.add(1, ordering: .relaxed).oldValue < 50 else { return }
      // While it is synced, and while what it covers is.
      try? journal.put(key(1000 + written.load(ordering: .relaxed)), [2], .buffered)
    }
    try journal.checkpoint()
    disk.afterEachCall(nil)
    #expect(written.load(ordering: .relaxed) >= 2)
    #expect(journal.catalog.changeCount == written.load(ordering: .relaxed))
    try journal.synchronize()
    let again = try Journal.open(in: disk.crashImageNow(.allLost))
    #expect(again.report.checkpoint == .used)
    #expect(try again.records().count == 300 + written.load(ordering: .relaxed))
  }

  @Test func `whoever writes makes a checkpoint when one is due`() throws {
    let disk = SimulatedDisk()
    var options = JournalOptions.small
    options.checkpointTail = 500
    let journal = try Journal.create(in: disk, storeID: key(99), options: options)
    for number in 0..<3000 { try journal.put(key(number), [UInt8](repeating: 1, count: 60)) }
    #expect(journal.catalog.changeCount < 1600)
    let again = try Journal.open(in: disk.crashImageNow(.processKilled), options: options)
    #expect(again.report.checkpoint == .used)
    #expect(try again.records().count == 3000)
  }
}

extension Journal {
  /// Lets go of the store as a process does that is killed: nothing more is written.
  func abandon() throws {
    lock.withLock { $0?.close() }
    for segment in catalog.segments.all { segment.file.close() }
  }
}
