// Readers in other processes see whole transactions, in order, whatever the writer does meanwhile.

import NotelogJournal
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
    #expect(reader.report.verdict == .clean)
    #expect(try reader.body(of: key(1)) == [1])
    #expect(try reader.body(of: key(2)) == nil)
  }

  /// Between publishing the recovered segment and cutting its sources, a source holds more frames than its footer will list: they
  /// were read as the source's own, and reported as damage.
  @Test func `a recovery that was killed at any call is no damage to a reader`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<40 { try journal.put(key(number), [UInt8](repeating: 1, count: 300), .durable) }
    for number in 20..<60 { try journal.put(key(number), [UInt8](repeating: 2, count: 100), .buffered) }
    let killed = disk.crashImageNow(.processKilled)
    // What was open before goes on as it was.
    let before = try read(killed)
    let recovered = try Journal.open(in: killed, options: .small)
    #expect(recovered.report.verdict != .contained)
    try recovered.put(key(60), [3], .durable)
    for number in 0..<60 {
      let body = number < 20 ? [UInt8](repeating: 1, count: 300) : [UInt8](repeating: 2, count: 100)
      #expect(try before.body(of: key(number)) == body)
    }
    #expect(try before.snapshot().records().count == 60 && before.damages == [])
    var images = 0
    for point in killed.crashPoints {
      let image = killed.crashImage(after: point, .processKilled)
      let reader = try read(image)
      #expect(try reader.snapshot().records().count >= 60, "\(point)")
      #expect(reader.damages == [], "\(point)")
      images += 1
    }
    #expect(images > 10)
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
    #expect(throws: JournalError(.readOnly, "")) { try reader.put(key(1), [1]) }
  }
}
