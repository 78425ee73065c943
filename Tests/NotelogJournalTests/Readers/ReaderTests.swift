// Readers in other processes see whole transactions, in order, whatever the writer does meanwhile.

import Foundation
import NotelogJournal
import NotelogTestSupport
import Testing

@Suite struct `Readers` {
  @Test func `a reader follows the tail, across segments and compactions`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(0), [0])
    let reader = try JournalReader(in: disk)
    for number in 1..<200 {
      try journal.put(key(number), [UInt8](repeating: UInt8(number), count: 300))
      if number % 3 == 0 { try journal.delete(key(number - 1)) }
      if number % 50 == 0 { _ = try journal.compact() }
      #expect(try reader.refresh())
      #expect(try reader.journal.body(of: key(number)) == journal.body(of: key(number)))
      #expect(try reader.journal.records().count == journal.records().count)
    }
    #expect(try !reader.refresh())
    #expect(reader.journal.report.damages == [])
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
    let reader = try JournalReader(in: image)
    #expect(reader.journal.report.verdict == .clean)
    #expect(try reader.journal.body(of: key(1)) == [1])
    #expect(try reader.journal.body(of: key(2)) == nil)
  }

  @Test func `damage is still damage to a reader`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<200 { try journal.put(key(number), [UInt8](repeating: 1, count: 300)) }
    try journal.close()
    disk.replace("000000000002.journal", with: nil)
    let reader = try JournalReader(in: disk)
    #expect(reader.journal.report.damages.map(\.kind) == [.missingSegment])
  }

  @Test func `a reader writes nothing`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<100 { try journal.put(key(number), [1, 2, 3]) }
    let image = disk.crashImageNow(.allKept)
    let before = image.crashPoints.count
    let reader = try JournalReader(in: image)
    #expect(try reader.journal.records().count == 100)
    #expect(image.crashPoints.count == before)
    #expect(throws: JournalError(.readOnly, "")) { try reader.journal.put(key(1), [1]) }
  }

  /// An executable beside the bundle or program that runs the tests.
  private static func child(_ name: String) throws -> URL {
    let bundle = CommandLine.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
    var folder = URL(fileURLWithPath: bundle)
    while folder.path != "/" {
      folder.deleteLastPathComponent()
      let url = folder.appendingPathComponent(name)
      if FileManager.default.isExecutableFile(atPath: url.path) { return url }
    }
    return try #require(nil as URL?, "\(name) is not beside \(bundle)")
  }

  @Test func `processes that read while another writes and compacts see no half and nothing go backwards`()
    throws
  {
    let store = try TemporaryStore()
    var options = JournalOptions.small
    options.compactsAutomatically = true
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: options)
    let (groups, members) = (10, 5)
    func write(_ version: UInt64) throws {
      for group in 0..<groups {
        var batch = Batch()
        for member in 0..<members {
          batch.put(key(group * members + member), collection: 1, bodyByteCount: 200) {
            $0.store(version, at: 0)
          }
        }
        try journal.commit(&batch, .flushed)
      }
    }
    try write(1)
    let readers = try (0..<(TestEffort.isSoak ? 8 : 3)).map { _ in
      let process = Process()
      process.executableURL = try Self.child("ReaderChild")
      process.arguments = [store.storage.path, "\(groups)", "\(members)"]
      let output = Pipe()
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      return (process, output)
    }
    let clock = ContinuousClock()
    let end = clock.now.advanced(by: TestEffort.isSoak ? .seconds(600) : .seconds(4))
    var version: UInt64 = 1
    while clock.now < end {
      version += 1
      try write(version)
      if version % 20 == 0 { _ = try journal.compact() }
    }
    try store.storage.open("stop", .createNew).close()
    for (process, output) in readers {
      let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
      #expect(said.hasPrefix("ok"), "\(said)")
    }
    #expect(version > 20)
    try journal.close()
  }
}
