// Readers in other processes see whole transactions, in order, whatever the writer does meanwhile.

import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct `Readers` {
  /// The store as a process sees it that only reads, beside one that writes.
  private func read(_ disk: SimulatedDisk) throws -> Journal {
    var options = JournalOptions()
    options.isReadOnly = true
    return try Journal.open(in: disk, options: options)
  }

  @Test func `a reader follows the tail, across segments and compactions`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(0), [0])
    let first = try read(disk)
    for number in 1..<200 {
      try journal.put(key(number), [UInt8](repeating: UInt8(number), count: 300))
      if number % 3 == 0 { try journal.delete(key(number - 1)) }
      if number % 50 == 0 { _ = try journal.compact() }
      let reader = try read(disk)
      #expect(try reader.body(of: key(number)) == journal.body(of: key(number)))
      #expect(try reader.records().count == journal.records().count)
      #expect(reader.report.damages == [])
    }
    // What was opened before stays as it was.
    #expect(try first.records() == [key(0)])
    try journal.close()
  }

  /// A write that is under way looks to a reader like one that a crash tore.
  @Test func `what is not whole yet is not shown, and is no verdict`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99))
    try journal.put(key(1), [1], .durable)
    try journal.put(key(2), [2])
    let image = disk.crashImageNow(.allKept)
    let name = "000000000001.journal"
    var bytes = try #require(image.contents(name))
    let end = try #require(bytes.lastIndex { $0 != 0 })
    for place in end - 20...end { bytes[place] = 0 }
    image.replace(name, with: bytes)
    let reader = try read(image)
    #expect(reader.report.verdict == .sound)
    #expect(try reader.body(of: key(1)) == [1])
    #expect(try reader.body(of: key(2)) == nil)
  }

  /// Between publishing the recovered segment and cutting its sources, a source holds more frames than its
  /// footer will list: they were read as the source's own, and reported as damage.
  @Test func `a recovery that was killed at any call is no damage to a reader`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<40 { try journal.put(key(number), [UInt8](repeating: 1, count: 300), .durable) }
    for number in 20..<60 { try journal.put(key(number), [UInt8](repeating: 2, count: 100), .buffered) }
    let killed = disk.crashImageNow(.processKilled)
    let recovered = try Journal.open(in: killed, options: .small)
    #expect(recovered.report.verdict != .contained)
    try recovered.put(key(60), [3], .durable)
    var images = 0
    for point in killed.crashPoints {
      let image = killed.crashImage(after: point, .processKilled)
      try expectSound(image, "\(point)")
      // And so is the recovery that follows, which writes the footers of cut sources again.
      try Journal.open(in: image, options: .small).abandon()
      for next in image.crashPoints {
        try expectSound(image.crashImage(after: next, .processKilled), "\(point), \(next)")
        images += 1
      }
    }
    #expect(images > 50, "\(images)")
  }

  /// What a recovery moves to another segment, and the footer that it writes once more, are there for who has
  /// the file open.
  @Test(arguments: [1, 2]) func `who is open reads on through each call of a recovery`(_ recoveries: Int)
    throws
  {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<40 { try journal.put(key(number), [UInt8](repeating: 1, count: 300), .durable) }
    for number in 20..<60 { try journal.put(key(number), [UInt8](repeating: 2, count: 100), .buffered) }
    let killed = disk.crashImageNow(.processKilled)
    if recoveries == 2 { try Journal.open(in: killed, options: .small).abandon() }
    let reader = try read(killed)
    let looks = Lock((count: 0, isLooking: false))
    killed.afterEachCall { call, _ in
      let isLooking = looks.withLock { looks in
        defer { looks.isLooking = true }
        return looks.isLooking
      }
      if isLooking { return }
      do {
        #expect(try reader.snapshot().records().count == 60, "\(call)")
        for number in 0..<60 {
          #expect(try reader.body(of: key(number))?.count == (number < 20 ? 300 : 100), "\(call)")
        }
      } catch { Issue.record("\(call): \(error)") }
      looks.withLock { $0 = ($0.count + 1, false) }
    }
    defer { killed.afterEachCall(nil) }
    try Journal.open(in: killed, options: .small).abandon()
    killed.afterEachCall(nil)
    #expect(reader.damages == [])
    #expect(looks.withLock { $0.count } > 10)
  }

  private func expectSound(_ image: SimulatedDisk, _ moment: String) throws {
    let reader = try read(image)
    #expect(try reader.snapshot().records().count >= 60, "\(moment)")
    #expect(reader.damages == [], "\(moment)")
  }

  @Test func `damage is still damage to a reader`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<200 { try journal.put(key(number), [UInt8](repeating: 1, count: 300)) }
    try journal.close()
    disk.replace("000000000002.journal", with: nil)
    let reader = try read(disk)
    #expect(reader.report.damages.map(\.kind) == [.missingSegment])
  }

  @Test func `a reader writes nothing`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<100 { try journal.put(key(number), [1, 2, 3]) }
    let image = disk.crashImageNow(.allKept)
    let before = image.crashPoints.count
    let reader = try read(image)
    #expect(try reader.records().count == 100)
    #expect(image.crashPoints.count == before)
    #expect(throws: NotelogError(.readOnly, "")) { try reader.put(key(1), [1]) }
  }
}
