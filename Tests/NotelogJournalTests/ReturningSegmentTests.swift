// Segments that were missing when a store was recovered, and are there again: FORMAT.md §12.

@testable import NotelogStorage
import Foundation
import NotelogBase
import NotelogFormat
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct ReturningSegmentTests {
  /// INV-R11: while the head is missing nobody knows which sequence numbers were given out. Nothing is
  /// written then, so that none is given out twice; with the head back, the store goes on as if nothing had
  /// been.
  @Test func `sequence numbers of a head that comes back are not used again`() throws {
    let store = try TemporaryStore()
    let first = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    for number in 0..<40 { try first.put(key(number), [UInt8](repeating: 1, count: 2000), .flushed) }
    for number in 0..<3 { try first.put(key(number), [4], .flushed) }
    // What compaction makes has a higher number than the head.
    #expect(try first.compact().addedSegments > 0)
    let next = first.log.state.withLock { $0.nextSequence }
    let head = try #require(first.log.state.withLock { $0.head?.segment.name })
    try first.abandon()
    let url = URL(fileURLWithPath: store.storage.path + "/" + head)
    let bytes = try Data(contentsOf: url)
    try FileManager.default.removeItem(at: url)
    let names = Set(try store.storage.names(in: ""))
    #expect(throws: NotelogError(.damaged, "")) { try Journal.open(in: store.storage, options: .small) }
    #expect(Set(try store.storage.names(in: "")) == names)
    try bytes.write(to: url)
    let again = try Journal.open(in: store.storage, options: .small)
    #expect(again.report.verdict == .sound && again.log.state.withLock { $0.nextSequence } >= next)
    try again.abandon()
  }

  /// The bug: a finished segment's successor was taken for the segment of the next number, which a compaction
  /// had made and a checkpoint knew. Nothing seemed lost, and the writer gave the successor's sequence numbers
  /// out again.
  @Test func `a missing head is nothing that a checkpoint knows by another segment's number`() throws {
    let disk = SimulatedDisk()
    var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<60 { try journal.put(key(number % 20), [UInt8](repeating: 1, count: 900), .durable) }
    _ = try journal.compact()
    // What compaction makes has the number behind the head's.
    let head = journal.log.state.withLock { $0.head?.segment.number ?? 0 }
    #expect(disk.fileNames.contains(FileName.segment(head + 1)))
    try journal.close()
    journal = try Journal.open(in: disk, options: .small)
    var newest = head
    while newest == head {
      try journal.put(key(100), [UInt8](repeating: 2, count: 900), .durable)
      newest = journal.log.state.withLock { $0.head?.segment.number ?? 0 }
    }
    #expect(newest > head + 1)
    try journal.put(key(101), [3], .durable)
    try journal.abandon()
    try disk.remove(FileName.segment(newest))
    let names = disk.fileNames
    #expect(throws: NotelogError(.damaged, "")) { try Journal.open(in: disk, options: .small) }
    #expect(disk.fileNames == names)
  }

  /// The bug: a source of the newest segment was not looked at, as recovery may not have cut it yet. One that
  /// another branch of the store had written was left out, and nothing was said.
  @Test func `a recovered segment's source of another branch is damage`() throws {
    func writeUntil(_ head: UInt32, _ disk: SimulatedDisk) throws -> Journal {
      let journal = try Journal.open(in: disk, options: .small)
      for number in 0..<1000 where journal.log.state.withLock({ $0.head?.segment.number ?? 0 }) < head {
        try journal.put(key(number), [UInt8](repeating: 1, count: 900), .durable)
      }
      return journal
    }
    let disk = SimulatedDisk()
    try Journal.create(in: disk, storeID: key(99), options: .small).close()
    try writeUntil(2, disk).close()
    let branch = disk.copy()
    try writeUntil(4, branch).close()
    let journal = try writeUntil(3, disk)
    for number in 0..<3 { try journal.put(key(number), [2], .durable) }
    for number in 0..<3 { try journal.put(key(number), [3], .flushed) }
    try journal.abandon()
    try Journal.open(in: disk, options: .small).abandon()
    disk.replace("index", with: nil)
    let newest = try #require(disk.fileNames.filter { $0.hasSuffix(".journal") }.sorted().last)
    #expect(disk.contents(newest)?[10] == 2)
    disk.replace(FileName.segment(3), with: branch.contents(FileName.segment(3)))
    #expect(throws: NotelogError(.damaged, "")) { try Journal.open(in: disk, options: .small) }
  }
}
