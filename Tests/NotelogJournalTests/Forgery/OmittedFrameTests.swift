// Footers that check, and leave frames out: FORMAT.md §21.1, INV-S2, and §24.

@testable import Notelog
@testable import NotelogFormat
import NotelogBase
import NotelogTestSupport
import Testing

/// The bug: compaction copied what a source's footer lists, and removed the rest with the source.
@Suite struct `A footer that leaves frames out` {
  /// A store whose first segment's footer lacks the first so many records, of transactions of so many; half
  /// of all records have newer versions.
  private func store(omitting count: Int, of perTransaction: Int) throws -> (SimulatedDisk, Journal) {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    func put(_ numbers: Range<Int>) throws {
      for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: perTransaction) {
        var batch = Batch()
        for number in start..<start + perTransaction {
          batch.put(key(number), collection: 1, bodyByteCount: 100) { $0.store(UInt64(number), at: 0) }
        }
        try journal.commit(&batch, .flushed)
      }
    }
    try put(0..<count)
    if count > 0 {
      // What the head's footer will list is forgotten.
      journal.log.state.withLock { $0.footer = FooterBuilder() }
    }
    try put(count..<240)
    for number in stride(from: 20, to: 240, by: 2) { try journal.put(key(number), [2, 2]) }
    return (disk, journal)
  }

  @Test(arguments: [(1, 1), (2, 1), (4, 4), (8, 4)])
  func `is of a segment that compaction leaves as it is`(count: Int, perTransaction: Int) throws {
    let (disk, journal) = try store(omitting: count, of: perTransaction)
    let result = try journal.compact()
    #expect(result.damagedSegments == [1] && result.removedSegments > 0)
    for number in 0..<240 { #expect(try journal.body(of: key(number)) != nil, "record \(number)") }
    try journal.close()
    #expect(disk.fileNames.contains(FileName.segment(1)))
    #expect(try Journal.verify(disk).report.damages.map(\.kind) == [.footer])
  }

  @Test(arguments: [1, 4]) func `is told from one that lists all`(perTransaction: Int) throws {
    let (disk, journal) = try store(omitting: 0, of: perTransaction)
    let result = try journal.compact()
    #expect(result.damagedSegments == [] && result.removedSegments > 1)
    // Once more: what compaction made has no commit marks.
    for number in stride(from: 21, to: 200, by: 2) { try journal.delete(key(number)) }
    #expect(try journal.compact().damagedSegments == [])
    try journal.close()
    #expect(try Journal.verify(disk).isSound)
  }

  /// The bug: beside any other damage in the segment, a footer that checks was not compared with the frames.
  @Test func `is found beside other damage`() throws {
    let (disk, journal) = try store(omitting: 1, of: 1)
    try journal.close()
    var file = try ForgedFile(FileName.segment(1), on: disk)
    let frames = FrameMap(disk).frames.filter { $0.segment == file.name && $0.kind == MappedFrame.record }
    file.bytes[frames[5].range.lowerBound + 50] ^= 1
    file.put(on: disk)
    #expect(Set(try Journal.verify(disk).report.damages.map(\.kind)) == [.payload, .footer])
  }

  @Test func `a damaged frame is no fault of the footer that lists it`() throws {
    let (disk, journal) = try store(omitting: 0, of: 1)
    try journal.close()
    for place in [8, 50] {
      let copy = disk.copy()
      var file = try ForgedFile(FileName.segment(1), on: copy)
      let frames = FrameMap(copy).frames.filter { $0.segment == file.name && $0.kind == MappedFrame.record }
      file.bytes[frames[5].range.lowerBound + place] ^= 1
      file.put(on: copy)
      #expect(try Journal.verify(copy).report.damages.map(\.kind) == [place == 8 ? .lostFrames : .payload])
    }
  }
}
