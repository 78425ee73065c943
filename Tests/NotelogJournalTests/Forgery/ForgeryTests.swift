// Each check by itself: bytes in which one thing is wrong and every other check holds. FORMAT.md §4 to §6,
// §12.

import NotelogBase
@testable import Notelog
@testable import NotelogStorage
@testable import NotelogFormat
import NotelogTestSupport
import Testing

@Suite struct ForgeryTests {
  private func journal(on disk: SimulatedDisk) throws -> Journal {
    try Journal.create(in: disk, storeID: key(99), options: .small)
  }

  private func frames(_ disk: SimulatedDisk, _ kind: UInt8 = MappedFrame.record) -> [MappedFrame] {
    FrameMap(disk).frames.filter { $0.kind == kind }
  }

  private func damages(_ disk: SimulatedDisk) throws -> [Finding.Kind] {
    try Journal.verify(disk).report.damages.map(\.kind)
  }

  // MARK: - Frames

  @Test func `a payload that does not check is not handed out, by reading, scanning or a snapshot`() throws {
    let disk = SimulatedDisk()
    let journal = try journal(on: disk)
    for number in 0..<3 { try journal.put(key(number), [UInt8](repeating: 7, count: 101)) }
    try journal.close()
    var file = try ForgedFile(FileName.segment(1), on: disk)
    let frame = try #require(frames(disk).first { $0.key == key(1) })
    file.bytes[frame.range.lowerBound + 40 + 50] ^= 1
    file.put(on: disk)
    let reopened = try Journal.open(in: disk, options: .small)
    #expect(throws: NotelogError(.damaged, "")) { try reopened.body(of: key(1)) }
    #expect(try reopened.body(of: key(2)) != nil)
    let snapshot = reopened.snapshot()
    var buffer = ReadBuffer()
    #expect(throws: NotelogError(.damaged, "")) { try snapshot.read(key(1), into: &buffer) }
    #expect(try damages(disk) == [.payload])
  }

  /// The bug: scans, and with them queries, refused what a single read served. Padding holds nothing, so
  /// nothing is lost with it: everybody serves the record, and verification says that its bytes are not what
  /// was written.
  @Test func `padding that is not zero is damage, and costs no record`() throws {
    let disk = SimulatedDisk()
    let journal = try journal(on: disk)
    try journal.put(key(1), [UInt8](repeating: 7, count: 101))
    try journal.close()
    var file = try ForgedFile(FileName.segment(1), on: disk)
    let frame = try #require(frames(disk).first)
    #expect(frame.range.upperBound > file.payload(at: frame.range.lowerBound).upperBound)
    file.bytes[frame.range.upperBound - 1] = 1
    file.put(on: disk)
    #expect(try Journal.verify(disk).report.damages.map(\.kind) == [.notZero])
    #expect(try Journal.verify(disk).report.damages.map(\.record?.bytes) == [key(1)])
    let reopened = try Journal.open(in: disk, options: .small)
    #expect(try reopened.body(of: key(1)) == [UInt8](repeating: 7, count: 101))
    var scanned: [ID16] = []
    try reopened.snapshot().forEach(
      onDamage: recordIssue,
      { record, _, _ in
        scanned.append(record.id)
        return true
      })
    #expect(scanned == [key(1)])
    // A copy has the padding that it should have.
    for number in 0..<200 { try reopened.put(key(2), [UInt8](repeating: UInt8(number), count: 200)) }
    #expect(try reopened.compact().damagedSegments == [])
    try reopened.close()
    #expect(try damages(disk).isEmpty)
  }

  @Test func `a frame that ends behind its segment's end is none`() throws {
    let disk = SimulatedDisk()
    let journal = try journal(on: disk)
    try journal.put(key(1), [UInt8](repeating: 7, count: 101))
    let frame = try #require(frames(disk).first)
    var file = try ForgedFile(FileName.segment(1), on: disk)
    file.set(UInt64(file.bytes.count), at: frame.range.lowerBound + 4, count: 4)
    file.set(0, at: frame.range.lowerBound + 36, count: 4)
    let salt = file.salt
    let place = frame.range.lowerBound
    let checksum = file.bytes[place..<place + 36].withContiguous { salt.headerChecksum($0, place: place) }
    file.set(UInt64(checksum), at: place + 36, count: 4)
    file.put(on: disk)
    let opened = try disk.open(file.name, .read)
    var reader = SegmentReader(opened, salt: salt, end: file.bytes.count)
    let found = try reader.frame(at: place)
    #expect(found == nil)
    #expect(try Journal.verify(disk).report.verdict != .sound)
  }

  @Test func `an envelope that does not fill its length is damage`() throws {
    let disk = SimulatedDisk()
    let journal = try journal(on: disk)
    try journal.put(key(1), [UInt8](repeating: 0, count: 64))
    try journal.close()
    var file = try ForgedFile(FileName.segment(1), on: disk)
    let place = try #require(frames(disk).first?.range.lowerBound)
    // Says that it has an envelope, of 20 bytes, with two value ids, which take 32.
    file.bytes[place + 1] = 1
    file.set(20, at: place + 40, count: 2)
    file.set(2, at: place + 42, count: 2)
    file.seal(frameAt: place)
    file.put(on: disk)
    #expect(try damages(disk).contains(.payload))
    let reopened = try Journal.open(in: disk, options: .small)
    #expect(throws: NotelogError(.damaged, "")) { try reopened.body(of: key(1)) }
  }

  @Test func `reserved flags are refused`() throws {
    let disk = SimulatedDisk()
    let journal = try journal(on: disk)
    try journal.put(key(1), [UInt8](repeating: 0, count: 64))
    try journal.close()
    var file = try ForgedFile(FileName.segment(1), on: disk)
    let place = try #require(frames(disk).first?.range.lowerBound)
    file.bytes[place + 1] = 4
    file.seal(frameAt: place)
    file.put(on: disk)
    #expect(try damages(disk).contains(.lostFrames))
  }

  // MARK: - Transactions

  /// Forges the newest of three transactions, none of them synced, and returns which records are served
  /// afterwards.
  private func servedAfterForging(
    _ forge: (inout ForgedFile, _ record: Int, _ mark: Int) -> Void
  ) throws -> [ID16] {
    let disk = SimulatedDisk()
    let journal = try journal(on: disk)
    for number in 0..<3 { try journal.put(key(number), [UInt8](repeating: 7, count: 64)) }
    var file = try ForgedFile(FileName.segment(1), on: disk)
    let record = try #require(frames(disk).last?.range.lowerBound)
    let mark = try #require(frames(disk, MappedFrame.commit).last?.range.lowerBound)
    forge(&file, record, mark)
    file.seal(frameAt: record)
    file.seal(frameAt: mark)
    let crashed = disk.crashImageNow(.allKept)
    file.put(on: crashed)
    return try Journal.open(in: crashed, options: .small).records().sorted { $0.low < $1.low }
  }

  @Test func `with nothing forged all transactions are kept`() throws {
    #expect(try servedAfterForging { _, _, _ in } == [key(0), key(1), key(2)])
  }

  @Test func `a commit mark that counts other frames closes nothing`() throws {
    #expect(
      try servedAfterForging { file, _, mark in file.set(2, at: mark + 40, count: 4) } == [key(0), key(1)])
  }

  @Test func `a commit mark that names another beginning closes nothing`() throws {
    let served = try servedAfterForging { file, record, mark in
      file.set(UInt64(record - 8), at: mark + 44, count: 4)
    }
    #expect(served == [key(0), key(1)])
  }

  @Test func `a commit mark of another transaction closes nothing`() throws {
    #expect(
      try servedAfterForging { file, _, mark in file.set(4, at: mark + 8, count: 8) } == [key(0), key(1)])
  }

  @Test func `a commit mark does not close frames of another transaction`() throws {
    #expect(
      try servedAfterForging { file, record, _ in file.set(2, at: record + 8, count: 8) } == [key(0), key(1)])
  }

  @Test func `a transaction whose number does not follow ends the log`() throws {
    let served = try servedAfterForging { file, record, mark in
      file.set(4, at: record + 8, count: 8)
      file.set(4, at: mark + 8, count: 8)
    }
    #expect(served == [key(0), key(1)])
  }

  @Test func `verify notices a commit mark below the floor that does not fit`() throws {
    for (offset, value) in [(40, 2), (44, 8)] {
      let disk = SimulatedDisk()
      let journal = try journal(on: disk)
      for number in 0..<3 { try journal.put(key(number), [UInt8](repeating: 7, count: 64)) }
      try journal.close()
      var file = try ForgedFile(FileName.segment(1), on: disk)
      let mark = try #require(frames(disk, MappedFrame.commit).first?.range.lowerBound)
      file.set(UInt64(value), at: mark + offset, count: 4)
      file.seal(frameAt: mark)
      file.put(on: disk)
      #expect(try damages(disk) == [.commitMark])
    }
  }

  @Test func `a close mark copied from elsewhere closes nothing`() throws {
    let disk = SimulatedDisk()
    let journal = try journal(on: disk)
    try journal.put(key(1), [UInt8](repeating: 7, count: 64), .durable)
    try journal.close()
    var file = try ForgedFile(FileName.segment(1), on: disk)
    let mark = try #require(frames(disk, 7).last?.range.lowerBound)
    file.set(UInt64(mark - 8), at: mark + 44, count: 4)
    file.seal(frameAt: mark)
    file.put(on: disk)
    #expect(try Journal.verify(disk).report.verdict != .sound)
  }

  // MARK: - Segments

  /// A store of several finished segments and a head.
  private func finishedStore() throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    let journal = try journal(on: disk)
    for number in 0..<200 { try journal.put(key(number), [UInt8](repeating: 1, count: 300)) }
    try journal.close()
    return disk
  }

  @Test func `a header whose checksum does not fit is none`() throws {
    let disk = try finishedStore()
    var file = try ForgedFile(FileName.segment(2), on: disk)
    let footer = file.footer
    // The floor in all three copies, and nothing else.
    for place in [0, 4096, footer + 40] { file.bytes[place + 60] ^= 8 }
    file.seal(frameAt: footer)
    let isHeader = file.bytes[..<512].withContiguous { (try? SegmentHeader($0, at: 0)) != nil }
    #expect(!isHeader)
    file.put(on: disk)
    #expect(try damages(disk).contains(.unreadableSegment))
    for place in [0, 4096] { file.seal(headerAt: place) }
    #expect(file.bytes[..<512].withContiguous { (try? SegmentHeader($0, at: 0)) != nil })
  }

  @Test func `header copies that differ are damage`() throws {
    let disk = try finishedStore()
    for place in [0, 4096] {
      let copy = disk.copy()
      var file = try ForgedFile(FileName.segment(2), on: copy)
      file.bytes[place + 60] ^= 8
      file.seal(headerAt: place)
      file.put(on: copy)
      #expect(try damages(copy).contains(.headerCopy))
    }
  }

  /// The bug: the header's count was compared, and not the checksum.
  @Test(arguments: [64, 68])
  func `a live set of which its segment's header says otherwise is damage`(place: Int) throws {
    let disk = try finishedStore()
    #expect(try damages(disk).isEmpty)
    let newest = try #require(disk.fileNames.last { $0.hasSuffix(".journal") })
    var file = try ForgedFile(newest, on: disk)
    #expect(file.integer(64, 4) > 0)
    for copy in [0, 4096] {
      file.bytes[copy + place] ^= 1
      file.seal(headerAt: copy)
    }
    file.put(on: disk)
    #expect(try damages(disk) == [.liveSet])
  }

  @Test func `a trailer whose checksum does not fit is none`() throws {
    let disk = try finishedStore()
    let file = try ForgedFile(FileName.segment(2), on: disk)
    for offset in 0..<24 {
      var trailer = Array(file.bytes.suffix(24))
      #expect(trailer.withContiguous { Trailer($0, at: 0) != nil })
      trailer[offset] ^= 1
      #expect(trailer.withContiguous { Trailer($0, at: 0) == nil })
    }
  }

  @Test func `a footer that lists other frames than there are is damage`() throws {
    let disk = try finishedStore()
    var file = try ForgedFile(FileName.segment(2), on: disk)
    file.bytes[file.footer + 40 + 520 + 16] ^= 1
    file.sealFooter()
    file.put(on: disk)
    #expect(try damages(disk).contains(.footer))
  }

  @Test(arguments: [(0 as UInt64, SegmentReader.FooterState.complete), (1, .incomplete), (2, .unreadable)])
  func `a footer says whether it is complete, and nothing else`(
    value: UInt64, state: SegmentReader.FooterState
  ) throws {
    let disk = try finishedStore()
    var file = try ForgedFile(FileName.segment(2), on: disk)
    file.set(value, at: file.footer + 40 + 516, count: 4)
    file.sealFooter()
    file.put(on: disk)
    let stored = try disk.open(file.name, .read)
    let trailer = try #require(file.bytes.suffix(24).withContiguous { Trailer($0, at: 0) })
    var reader = SegmentReader(stored, salt: file.salt, end: file.bytes.count)
    var count = 0
    #expect(try reader.forEachFooterEntry(trailer) { _, _ in count += 1 } == state)
    #expect((count > 0) == (state == .complete))
  }

  /// The bug: where the medium refused what a footer says of itself, the segment looked whole.
  @Test func `a footer whose state can't be read is an error to a writer`() throws {
    let disk = try finishedStore()
    let file = try ForgedFile(FileName.segment(2), on: disk)
    let stored = try disk.open(file.name, .read)
    #expect(try Survey.read(stored, 2)?.isIncomplete == false)
    let state = file.footer + 40 + 516
    let error = #expect(throws: StorageError.self) {
      try Survey.read(2, in: UnreadableStorage(disk, file.name, state..<state + 4))
    }
    #expect(error?.errno == SystemErrno.inputOutput)
  }

  /// A finished segment from an older copy of the store that went another way since: its number fits, and all
  /// of its checksums.
  @Test func `a finished segment that is not the one of the live set is noticed`() throws {
    let disk = SimulatedDisk()
    let first = try journal(on: disk)
    for number in 0..<20 { try first.put(key(number), [UInt8](repeating: 1, count: 300), .durable) }
    let other = disk.crashImageNow(.allKept)
    let otherJournal = try Journal.open(in: other, options: .small)
    for journal in [first, otherJournal] {
      for number in 0..<200 {
        try journal.put(key(number), [UInt8](repeating: journal === first ? 2 : 3, count: 300), .durable)
      }
      try journal.close()
    }
    let shared = disk.fileNames.filter { name in
      name.hasSuffix(".journal") && other.contents(name).map { $0 != disk.contents(name) } == true
    }
    #expect(shared.count > 2)
    for name in shared {
      let copy = disk.copy()
      copy.replace(name, with: other.contents(name))
      #expect(try Journal.verify(copy).report.isDamaged, "\(name)")
    }
  }
}
