// Segment numbers and sequence numbers at their limits: refused or used up, never a trap. FORMAT.md,
// "Limits", INV-F2.

@testable import Notelog
@testable import NotelogFormat
import NotelogBase
import NotelogTestSupport
import Testing

@Suite struct LimitTests {
  private let tooHighNumber = UInt32(FormatLimits.maximumSegmentNumber) + 1
  private let lastSequence = UInt64(FormatLimits.maximumSequence)

  /// The bug: a frame that names sequence number 2⁶⁴ − 1 with checksums that fit made the next number
  /// overflow.
  @Test func `a frame with a sequence number above the limit is none`() {
    let salt = SegmentSalt(7)
    for (sequence, isFrame) in [(lastSequence, true), (lastSequence + 1, false), (.max, false)] {
      let header = FrameHeader(.record, sequence: sequence, id: key(1))
      var buffer = Buffer()
      buffer.appendZeros(Layout.frameHeaderByteCount)
      var bytes = buffer.mutableBytes
      header.write(into: &bytes, at: 0, salt: salt, place: 4608)
      #expect((FrameHeader(buffer.bytes, at: 0, salt: salt, place: 4608) != nil) == isFrame)
    }
  }

  @Test func `a frame with a payload above its kind's limit is none`() {
    let salt = SegmentSalt(7)
    for kind in (UInt8(1)...8).compactMap(FrameKind.init) {
      for (byteCount, isFrame) in [
        (kind.maximumPayloadByteCount, true), (kind.maximumPayloadByteCount + 1, false),
        (Int(UInt32.max), false),
      ] {
        let header = FrameHeader(kind, payloadByteCount: byteCount)
        var buffer = Buffer()
        buffer.appendZeros(Layout.frameHeaderByteCount)
        var bytes = buffer.mutableBytes
        header.write(into: &bytes, at: 0, salt: salt, place: 4608)
        #expect((FrameHeader(buffer.bytes, at: 0, salt: salt, place: 4608) != nil) == isFrame)
      }
    }
  }

  private func isAccepted(_ change: (inout SegmentHeader) -> Void) -> Bool {
    var header = SegmentHeader(
      .recovered, number: 1, storeID: key(99), branch: Branch(id: key(7), keepsTimes: true), salt: 3,
      firstSequence: 1, floor: .zero, live: LiveSet())
    change(&header)
    var buffer = Buffer()
    buffer.appendZeros(Layout.headerByteCount)
    var bytes = buffer.mutableBytes
    header.write(into: &bytes, at: 0)
    return (try? SegmentHeader(buffer.bytes, at: 0)) != nil
  }

  @Test func `a header that names numbers above the limits is none`() {
    #expect(isAccepted { _ in })
    #expect(!isAccepted { $0.number = tooHighNumber })
    #expect(!isAccepted { $0.number = 0 })
    #expect(!isAccepted { $0.firstSequence = lastSequence + 1 })
    #expect(!isAccepted { $0.floor = LogPosition(segment: tooHighNumber, offset: 8) })
    #expect(!isAccepted { $0.sources = [LogPosition(segment: tooHighNumber, offset: 0)] })
    #expect(!isAccepted { $0.sources = [LogPosition(segment: 0, offset: 0)] })
  }

  private func isMark(_ floor: LogPosition) -> (commit: Bool, close: Bool) {
    var buffer = Buffer()
    buffer.appendZeros(24)
    var bytes = buffer.mutableBytes
    CommitMark(frameCount: 1, firstOffset: 4608, floor: floor).write(into: &bytes, at: 0)
    CloseMark(place: floor, live: LiveSet(), nextSequence: 0).appendFrame(to: &buffer, salt: SegmentSalt(0))
    return (
      CommitMark(payload: buffer.bytes.extracting(0..<24)) != nil,
      CloseMark(FrameHeader(.close), payload: buffer.bytes.extracting(64..<80)) != nil
    )
  }

  @Test func `marks that name a segment number above the limit are none`() {
    #expect(isMark(LogPosition(segment: tooHighNumber - 1, offset: 0)) == (true, true))
    #expect(isMark(LogPosition(segment: tooHighNumber, offset: 0)) == (false, false))
  }

  /// What a later version puts behind a mark, a seal for instance, is not this one's to refuse.
  @Test func `a commit mark may be longer than this version writes it, up to 128 bytes`() {
    var buffer = Buffer()
    buffer.appendZeros(136)
    var bytes = buffer.mutableBytes
    let mark = CommitMark(frameCount: 2, firstOffset: 4608, floor: .zero, time: 77)
    mark.write(into: &bytes, at: 0)
    for byteCount in 0...136 {
      let read = CommitMark(payload: buffer.bytes.extracting(first: byteCount))
      #expect(read == ((24...128).contains(byteCount) ? mark : nil))
    }
    #expect(FrameKind.commit.maximumPayloadByteCount == CommitMark.byteCountMax)
  }

  @Test(arguments: [0, UInt32(FormatLimits.maximumSegmentNumber) + 1])
  func `live sets and changes that name no segment number are none`(number: UInt32) {
    let entry = LiveEntry(number: number, byteCount: 8192, salt: 1, footerChecksum: 2)
    var set = LiveSet()
    set.insert(entry)
    var buffer = Buffer()
    set.append(to: &buffer)
    #expect(LiveSet(payload: buffer.bytes) == nil)
    var change = Buffer()
    LiveChange(added: [entry], removed: []).append(to: &change)
    #expect(LiveChange(payload: change.bytes) == nil)
    var removal = Buffer()
    LiveChange(added: [], removed: [1, number]).append(to: &removal)
    #expect(LiveChange(payload: removal.bytes) == nil)
  }

  @Test func `file names above the limit are none of the store's`() {
    #expect(FileName.segmentNumber("004000000000.journal") == 4_000_000_000)
    #expect(FileName.segmentNumber("004000000001.journal") == nil)
    #expect(FileName.tailSegmentNumber("4000000000-8.tail") == 4_000_000_000)
    #expect(FileName.tailSegmentNumber("4000000000-8-1.tail") == 4_000_000_000)
    #expect(FileName.tailSegmentNumber("4294967295-8.tail") == nil)
  }

  @Test func `a store whose sequence numbers are used up can be read, not written`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(1), [1], .durable)
    journal.log.state.withLock { state in
      state.nextSequence = lastSequence - 1
      state.nextVisible = lastSequence - 1
      state.nextDurable = lastSequence - 1
    }
    // A gap in the numbers is a break in the log: what follows stands in a segment of its own.
    let held = journal.log.enterGate()
    try journal.log.switchSegment(held, needing: 0)
    journal.log.leaveGate()
    try journal.put(key(2), [2], .durable)
    expectUsedUp { try journal.put(key(3), [3], .durable) }
    try journal.close()
    let again = try Journal.open(in: disk, options: .small)
    #expect(try again.body(of: key(1)) == [1] && again.body(of: key(2)) == [2])
    expectUsedUp { try again.put(key(3), [3], .durable) }
    try again.close()
    #expect(try Journal.verify(disk).report.damages.isEmpty)
  }

  @Test func `a store whose segment numbers are used up can be read, not written`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    journal.log.state.withLock { $0.highestNumber = UInt32(FormatLimits.maximumSegmentNumber) }
    var count = 0
    expectUsedUp {
      for number in 0..<100 {
        try journal.put(key(number), [UInt8](repeating: 1, count: 1000), .durable)
        count += 1
      }
    }
    #expect(count > 5)
    for number in 0..<count { #expect(try journal.body(of: key(number))?.count == 1000) }
    expectUsedUp { _ = try journal.compact() }
    try journal.close()
    #expect(try Journal.open(in: disk, options: .small).body(of: key(0))?.count == 1000)
  }

  private func expectUsedUp(_ body: () throws -> Void) {
    #expect { try body() } throws: { ($0 as? NotelogError)?.code == .limitExceeded }
  }
}
