// A full disk: nothing is lost, and removing and compacting make room again. FORMAT.md §23.

@testable import Notelog
@testable import NotelogStorage
import NotelogTestSupport
import Testing

@Suite struct FullDiskTests {
  private static let capacity = 260_000

  private static func body(_ number: Int) -> [UInt8] {
    var random = SeededGenerator(seed: UInt64(number))
    return random.bytes(count: 100 + random.pick(0..<900))
  }

  /// A disk that a store has filled, closed in order, and how many records there are.
  private static func full() throws -> (disk: SimulatedDisk, count: Int) {
    let disk = SimulatedDisk()
    disk.capacity = capacity
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    var count = 0
    do {
      while true {
        try journal.put(key(count), body(count), count % 3 == 0 ? .durable : .flushed)
        count += 1
      }
    } catch let error as NotelogError {
      try #require(error.code == .full && count > 50)
    }
    try journal.close()
    return (disk, count)
  }

  /// INV-H2. The bug: a head that was closed has given up the room for its footer. The next one took what was
  /// left, the footer found no room, and neither did the recovery that was needed then: every compaction and
  /// every deletion failed, for good.
  @Test func `the footer of a head that was closed has its room before the next head takes any`() throws {
    let start = SimulatedDisk()
    // Without a checkpoint, whose room would be taken first.
    var options = JournalOptions.small
    options.smallIndex = 0
    var journal = try Journal.create(in: start, storeID: key(99), options: options)
    for number in 0..<60 { try journal.put(key(number % 50), [UInt8](repeating: 1, count: 20)) }
    try journal.close()
    start.replace("reserve", with: nil)
    var fullCount = 0
    for room in stride(from: 0, to: 12_000, by: 96) {
      let disk = start.copy()
      disk.capacity = disk.usedByteCount + room
      journal = try Journal.open(in: disk, options: options)
      do { try journal.finishHeadWithDeadBytes() } catch {
        try #require(error.code == .full, "\(room): \(error)")
        fullCount += 1
      }
      try journal.close()
      journal = try Journal.open(in: disk, options: options)
      #expect(journal.report.wasClosed, "\(room)")
      #expect(try journal.records().count == 50)
      try journal.close()
    }
    #expect(fullCount > 50 && fullCount < 120)
  }

  /// INV-H1: what is set aside is for what frees.
  @Test func `while the reserve is not there in full nothing is added, and deletions are taken`() throws {
    let (disk, count) = try Self.full()
    let journal = try Journal.open(in: disk, options: .small)
    // Deletions take what is set aside for them, and no more.
    var deleted = 0
    do {
      while deleted < count - 1 {
        try journal.delete(key(deleted))
        deleted += 1
      }
    } catch let error as NotelogError { #expect(error.code == .full) }
    #expect(deleted > 40)
    #expect(throws: NotelogError(.full, "")) { try journal.put(key(count), [1]) }
    _ = try journal.compact()
    try journal.put(key(count), [1])
    #expect(try journal.records().count == count - deleted + 1)
    try journal.close()
  }

  /// INV-H3: a store with many bytes above the floor on a full disk: the copy that recovery made found no
  /// room.
  @Test
  func `recovery takes no more room than there is, and makes no segment longer than those that are there`()
    throws
  {
    for loss in [LossModel.processKilled, .allKept, .lastTorn] {
      let disk = SimulatedDisk()
      disk.capacity = Self.capacity
      let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
      var count = 0
      while (try? journal.put(key(count), Self.body(count), .buffered)) != nil { count += 1 }
      let crashed = disk.crashImageNow(loss, seed: 1)
      // Not even the reserve is left.
      crashed.replace("reserve", with: nil)
      crashed.capacity = crashed.usedByteCount + 6_000
      let longest = crashed.fileNames.compactMap { crashed.contents($0)?.count }.max() ?? 0
      let found = try Journal.open(in: crashed, options: .small)
      #expect(!found.report.wasClosed)
      #expect(found.report.damages.isEmpty)
      #expect(try found.records().count >= (loss == .lastTorn ? count - 30 : count))
      #expect(found.catalog.segments.all.allSatisfy { $0.byteCount <= longest })
      let served = Set(try found.records())
      try found.close()
      // It is on the medium now, and serves the same.
      for loss in [LossModel.allLost, .processKilled] {
        let again = try Journal.open(in: crashed.crashImageNow(loss), options: .small)
        #expect(Set(try again.records()) == served)
        #expect(again.report.damages.isEmpty)
        try again.close()
        #expect(try Journal.verify(crashed).report.damages == [])
      }
    }
  }

  /// INV-H4: wherever the room ends in deleting, compacting and closing, and the process or the machine ends
  /// right after.
  @Test func `a crash after any call that finds no room leaves a store that is made free again`() throws {
    let (full, count) = try Self.full()
    let state = full.state
    let doomed = Array(stride(from: 0, to: count, by: 9))
    var struck = 0
    for passing in 0..<10_000 {
      let disk = SimulatedDisk(state)
      disk.capacity = Self.capacity
      disk.plan(Fault(.error(SystemErrno.noSpace), of: .taking, passing: passing, lasts: true))
      var deleted: Set<Int> = []
      var tried: Set<Int> = []
      if let journal = try? Journal.open(in: disk, options: .small) {
        for number in doomed {
          tried.insert(number)
          if (try? journal.delete(key(number), .durable)) != nil { deleted.insert(number) }
        }
        _ = try? journal.compact()
        if passing % 2 == 0 { try? journal.close() }
      }
      if disk.firedFaults.isEmpty { break }
      struck += 1
      for loss in [LossModel.processKilled, .allLost, .subsetKept, .lastTorn] {
        let crashed = disk.crashImageNow(loss, seed: UInt64(passing))
        crashed.capacity = Self.capacity
        do {
          try Self.checkIsMadeFree(crashed, of: count, without: deleted, perhaps: tried)
        } catch { Issue.record("passing \(passing), \(loss): \(error)") }
      }
    }
    #expect(struck > 20)
  }

  private static func checkIsMadeFree(
    _ disk: SimulatedDisk, of count: Int, without deleted: Set<Int>, perhaps tried: Set<Int>
  ) throws {
    var journal = try Journal.open(in: disk, options: .small)
    let found = Set(try journal.records())
    for number in 0..<count where deleted.contains(number) || !tried.contains(number) {
      try #require(found.contains(key(number)) != deleted.contains(number), "record \(number)")
    }
    var isFree = false
    for round in 0..<3 where !isFree {
      do { for number in 0..<8 { try journal.delete(key(round * 8 + number + 1)) } } catch {
        // The share of deletions is used up: compacting makes room for more.
        try #require(error as? NotelogError == NotelogError(.full, ""))
      }
      _ = try journal.compact()
      isFree = (try? journal.put(key(1_000), [1], .durable)) != nil
    }
    try #require(isFree, "nothing can be added")
    try journal.close()
    journal = try Journal.open(in: disk, options: .small)
    try #require(journal.report.wasClosed && journal.report.damages.isEmpty)
    try journal.close()
    try #require(try Journal.verify(disk).report.damages.isEmpty)
  }

  /// The bug: the checkpoint, which can be made anew, took the room that a compaction had freed.
  @Test func `a checkpoint leaves a segment's room`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<200 { try journal.put(key(number), [1]) }
    // What writing has made of its own accord, once there were segments to go through.
    disk.replace("index", with: nil)
    disk.capacity = disk.usedByteCount + 28_000
    #expect(throws: NotelogError(.full, "")) { try journal.checkpoint() }
    #expect(!disk.fileNames.contains { $0.hasPrefix("index") })
    disk.capacity = disk.usedByteCount + 80_000
    try journal.checkpoint()
    #expect(disk.fileNames.contains("index"))
    try journal.close()
  }
}
