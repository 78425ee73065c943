// Compaction frees what is dead and loses nothing, whatever happens meanwhile.

import NotelogBase
@testable import NotelogFormat
@testable import Notelog
import NotelogTestSupport
import Synchronization
import Testing

@Suite struct `Compaction` {
  static func body(_ number: Int, _ version: Int) -> [UInt8] {
    var random = SeededGenerator(mixing: UInt64(number), UInt64(version))
    return random.bytes(count: 100 + number % 200)
  }

  /// A store half of whose bytes are dead, with some records deleted.
  static func fill(_ journal: Journal) throws -> [Int: [UInt8]] {
    var model: [Int: [UInt8]] = [:]
    for version in 0..<3 {
      for number in 0..<100 where version == 0 || (number + version) % 3 == 0 {
        try journal.put(key(number), body(number, version))
        model[number] = body(number, version)
      }
    }
    for number in 0..<100 where number % 5 == 0 {
      try journal.delete(key(number))
      model[number] = nil
    }
    return model
  }

  static func contents(_ journal: Journal) throws -> [Int: [UInt8]] {
    var contents: [Int: [UInt8]] = [:]
    for id in try journal.records() { contents[Int(id.low)] = try journal.body(of: id) }
    return contents
  }

  private static func segmentNames(_ disk: SimulatedDisk) -> [String] {
    disk.fileNames.filter { $0.hasSuffix(".journal") }
  }

  @Test func `small steps do what one large one does`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let model = try Self.fill(journal)
    let estimate = journal.compactionForecast
    #expect(estimate.freedByteCount > 0)
    var steps = 0
    var copied = 0
    while true {
      let result = try journal.compact(WorkBudget(byteCount: 2000))
      // A step takes no more than its budget and one frame, or one footer.
      #expect(result.copiedByteCount <= 2000 + 4000)
      copied += result.copiedByteCount
      steps += 1
      #expect(try Self.contents(journal) == model)
      guard result.isUnfinished else { break }
      try #require(steps < 1000)
    }
    #expect(steps > 5)
    #expect(copied >= journal.statistics.segments.liveByteCount / 2)
    try journal.close()
    #expect(disk.fileNames.allSatisfy { !$0.hasSuffix(".partial") })
    let again = try Journal.open(in: disk, options: .small)
    #expect(try Self.contents(again) == model)
    #expect(try Journal.verify(disk).report.damages == [])
  }

  @Test func `time that is up ends a step, and the next goes on`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let model = try Self.fill(journal)
    let result = try journal.compact(WorkBudget(byteCount: 1000) { true })
    #expect(result.isUnfinished)
    #expect(try !journal.compact().isUnfinished)
    #expect(try Self.contents(journal) == model)
  }

  @Test func `a compaction that is cancelled leaves the old state`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let model = try Self.fill(journal)
    let before = Self.segmentNames(disk)
    let result = try journal.compact { _, _ in false }
    #expect(result.isUnfinished)
    #expect(result.addedSegments == 0)
    #expect(Set(before).isSubset(of: Self.segmentNames(disk)))
    #expect(disk.fileNames.allSatisfy { !$0.hasSuffix(".partial") })
    #expect(try Self.contents(journal) == model)
  }

  /// A damaged frame made a whole group of segments stay as it was.
  @Test func `a damaged segment is set aside alone, and still reported afterwards`() throws {
    let disk = SimulatedDisk()
    var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let model = try Self.fill(journal)
    try journal.close()
    let before = disk.usedByteCount
    // A record that is live: its body is found in the second segment.
    let name = Self.segmentNames(disk)[1]
    var bytes = try #require(disk.contents(name))
    let victim = try #require(
      model.first { number, body in bytes.indices.contains { bytes[$0...].starts(with: body) } })
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: victim.value) })
    bytes[place + 5] ^= 1
    disk.replace(name, with: bytes)
    journal = try Journal.open(in: disk, options: .small)
    let result = try journal.compact()
    #expect(result.damagedSegments == [2])
    #expect(result.removedSegments > 1)
    #expect(throws: NotelogError(.damaged, "")) { try journal.body(of: key(victim.key)) }
    for (number, body) in model where number != victim.key {
      #expect(try journal.body(of: key(number)) == body)
    }
    try journal.close()
    #expect(disk.usedByteCount < before)
    let damages = try Journal.verify(disk).report.damages
    #expect(damages.map(\.segment) == [2])
    #expect(damages.map(\.record?.bytes) == [key(victim.key)])
  }

  /// What a segment holds whose footer can't be read, or that is not there, nobody knows: deletions stay,
  /// lest what they deleted comes back with it.
  @Test(arguments: [true, false])
  func `no deletion is dropped beside a segment that does not say what it holds`(isThere: Bool) throws {
    let disk = SimulatedDisk()
    var options = JournalOptions()
    options.segmentByteCount = 16 << 10
    var journal = try Journal.create(in: disk, storeID: key(99), options: options)
    for number in 0..<60 { try journal.put(key(number), [UInt8](repeating: 1, count: 1_000), .flushed) }
    let first = "000000000001.journal"
    #expect(disk.fileNames.contains("000000000003.journal"))
    for number in 0..<60 { try journal.delete(key(number), .flushed) }
    for number in 100..<130 { try journal.put(key(number), [UInt8](repeating: 2, count: 1_000), .flushed) }
    try journal.close()
    // Where the segment is gone, the checkpoint says what was in it: otherwise nothing would be written.
    if isThere { disk.replace("index", with: nil) }
    let whole = try #require(disk.contents(first))
    var damaged = whole
    damaged[whole.count - 100] ^= 1
    disk.replace(first, with: isThere ? damaged : nil)
    journal = try Journal.open(in: disk, options: options)
    #expect(!journal.report.damages.isEmpty)
    _ = try journal.compact()
    #expect(!disk.fileNames.contains("000000000003.journal"))
    try journal.close()
    disk.replace("index", with: nil)
    disk.replace(first, with: whole)
    journal = try Journal.open(in: disk, options: options)
    #expect(Set(try journal.records()) == Set((100..<130).map { key($0) }))
    try journal.close()
  }

  /// The reserve lets a full disk be emptied.
  @Test func `a full disk is emptied by compaction`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    var model = try Self.fill(journal)
    try journal.synchronize()
    disk.capacity = disk.usedByteCount
    #expect(throws: NotelogError(.full, "")) {
      for number in 1000..<2000 {
        try journal.put(key(number), Self.body(number, 0))
        model[number] = Self.body(number, 0)
      }
    }
    let result = try journal.compact()
    #expect(result.byteCountAfter < result.byteCountBefore)
    #expect(try Self.contents(journal) == model)
    try journal.put(key(3000), [1])
    try journal.close()
    #expect(try Journal.verify(disk).report.damages == [])
  }

  @Test func `writers and readers go on while compaction runs, and lose nothing`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    for number in 0..<200 { try journal.put(key(number), Self.body(number, 0)) }
    let running = Atomic(2)
    try Threads.run(4) { thread in
      switch thread {
      case 0, 1:
        defer { running.subtract(1, ordering: .relaxed) }
        for version in 1...15 {
          for number in stride(from: thread, to: 200, by: 2) {
            try journal.put(key(number), Self.body(number, version))
          }
        }
      case 2:
        while running.load(ordering: .relaxed) > 0 {
          _ = try journal.compact(WorkBudget(byteCount: 5000))
        }
      default:
        while running.load(ordering: .relaxed) > 0 {
          for number in 0..<200 where try journal.body(of: key(number)) == nil {
            Issue.record("record \(number) is gone")
          }
        }
      }
    }
    for number in 0..<200 { #expect(try journal.body(of: key(number)) == Self.body(number, 15)) }
    try journal.close()
    let again = try Journal.open(in: store.storage, options: .small)
    for number in 0..<200 { #expect(try again.body(of: key(number)) == Self.body(number, 15)) }
    #expect(try Journal.verify(store.storage).report.damages == [])
  }
}
