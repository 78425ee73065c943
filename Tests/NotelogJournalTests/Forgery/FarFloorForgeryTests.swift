// A log whose durable floor lies further back than any writer leaves it. FORMAT.md §22, line 9.

@testable import NotelogStorage
@testable import NotelogBase
@testable import NotelogFormat
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct `A forged log far above its floor` {
  /// Log segments of one transaction each, none of which says that anything is durable; the last is
  /// unfinished.
  private func disk(segmentCount: UInt32) throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    var live = LiveSet()
    for number in 1...segmentCount {
      let salt = UInt64(100 + number)
      var builder = try SegmentBuilder(in: disk, number: number, salt: salt)
      try builder.append(live, firstSequence: UInt64(number))
      let start = builder.end
      var payload = Buffer()
      payload.appendZeros(8)
      let header = FrameHeader(
        .record, collection: 1, payloadByteCount: payload.count, sequence: UInt64(number),
        id: key(Int(number)), payloadChecksum: Checksum.of(payload.bytes))
      try builder.append(header, payload.bytes)
      var mark = Buffer()
      mark.appendZeros(CommitMark.byteCount)
      var bytes = mark.mutableBytes
      CommitMark(frameCount: 1, firstOffset: start, floor: .zero).write(into: &bytes, at: 0)
      try builder.append(
        FrameHeader(
          .commit, payloadByteCount: mark.count, sequence: UInt64(number),
          payloadChecksum: Checksum.of(mark.bytes)), mark.bytes)
      let end = builder.end
      let entry = try builder.publish { _ in
        SegmentHeader(
          .log, number: number, storeID: key(99), branch: Branch(id: key(7), keepsTimes: false), salt: salt,
          firstSequence: UInt64(number), floor: .zero, live: live)
      }
      live.insert(entry)
      if number == segmentCount {
        try disk.open(FileName.segment(number), .update).truncate(to: end)
      }
    }
    return disk
  }

  /// A recovered segment's header names 50 sources, and what was made of more trapped.
  @Test func `what a recovered segment can't take the place of is refused, and left as it is`() throws {
    let most = try disk(segmentCount: UInt32(FormatLimits.maximumSources))
    let journal = try Journal.open(in: most, options: .small)
    for number in 1...FormatLimits.maximumSources { #expect(try journal.body(of: key(number))?.count == 8) }
    try journal.close()

    let more = try disk(segmentCount: UInt32(FormatLimits.maximumSources) + 1)
    let names = more.fileNames
    #expect(throws: NotelogError(.damaged, "")) { try Journal.open(in: more, options: .small) }
    #expect(Set(more.fileNames).subtracting(["lock"]) == Set(names))
  }

  /// The same with what is to be copied: offsets in a segment end at 2 GiB.
  @Test func `more than a segment can hold is refused, and left as it is`() throws {
    let disk = try disk(segmentCount: 2)
    let names = disk.fileNames
    var examination = try Examination(disk, storeID: nil)
    let kept = try #require(examination.kept.first)
    #expect(examination.kept.count == 2)
    let range = TransactionRange(
      sequence: kept.range.sequence, start: kept.range.start, markStart: kept.range.markStart,
      end: kept.range.start + FormatLimits.maximumSegmentByteCount / 2, mark: kept.range.mark)
    examination.kept[0] = (kept.segment, range)
    #expect(throws: NotelogError(.damaged, "")) {
      try Recovery(storage: disk, examination: examination).run(number: 3, salt: 7)
    }
    #expect(disk.fileNames == names)
  }
}
