// Verification while another process goes on: FORMAT.md §25, "Readers".

@testable import Notelog
@testable import NotelogStorage
@testable import NotelogFormat
import NotelogBase
import NotelogTestSupport
import Testing

/// The bug: a segment that was unlinked or finished while a store was verified was called missing, or an
/// error that named no file ended it: in 3 of some 60 runs beside a writer that compacts.
@Suite struct `Verification beside a writer` {
  private static func put(_ numbers: some Sequence<Int>, in journal: Journal, _ version: UInt8) throws {
    for number in numbers { try journal.put(key(number), [UInt8](repeating: version, count: 200)) }
  }

  /// Verifies a store whose writer goes on once, after one of the calls that verifying makes.
  ///
  /// - Returns: Whether verifying made so many calls.
  private func verify(writingAfter target: Int, _ write: @escaping @Sendable (Journal) throws -> Void) throws
    -> Bool
  {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try Self.put(0..<200, in: journal, 1)
    try journal.checkpoint()
    try Self.put(stride(from: 0, to: 200, by: 2), in: journal, 2)
    _ = try journal.compact()
    try Self.put(0..<10, in: journal, 3)
    let calls = Lock(0)
    disk.afterEachCall { _, _ in
      guard
        calls.withLock({
          $0 += 1; return $0
        }) == target
      else { return }
      do { try write(journal) } catch { Issue.record("\(error)") }
    }
    defer { disk.afterEachCall(nil) }
    let verification = try Journal.verify(disk)
    #expect(verification.isSound, "call \(target): \(verification.report.damages) \(verification.index)")
    #expect(verification.report.torn == [], "call \(target)")
    disk.afterEachCall(nil)
    #expect(try !disk.names(in: "").contains("pins") || disk.names(in: "pins").isEmpty)
    try? journal.close()
    return calls.withLock { $0 } >= target
  }

  @Test func `finds no damage where segments are replaced and unlinked at any moment`() throws {
    var target = 1
    while try verify(writingAfter: target, { _ = try $0.compact() }) { target += TestEffort.isSoak ? 1 : 7 }
    #expect(target > 100)
  }

  @Test func `finds no damage where the head is finished at any moment`() throws {
    var target = 1
    while try verify(writingAfter: target, { try Self.put(200..<300, in: $0, 3) }) {
      target += TestEffort.isSoak ? 1 : 7
    }
    #expect(target > 100)
  }

  /// The head is not always the segment with the highest number: what compaction made since it was created
  /// has higher ones.
  @Test func `finds no damage where the head is closed at any moment`() throws {
    var target = 1
    while try verify(writingAfter: target, { try $0.close() }) { target += TestEffort.isSoak ? 1 : 7 }
    #expect(target > 100)
  }

  @Test func `still finds what is damaged, and writes nothing where nobody else does`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try Self.put(0..<200, in: journal, 1)
    try journal.close()
    disk.replace(FileName.segment(2), with: nil)
    let names = disk.fileNames
    #expect(try Journal.verify(disk).report.damages.map(\.kind) == [.missingSegment])
    #expect(disk.fileNames == names)
    #expect(try !disk.names(in: "").contains("pins"))
  }

  /// Damage that is there is told although the writer never rests.
  @Test func `still finds what is damaged beside a writer that never rests`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try Self.put(0..<200, in: journal, 1)
    try journal.close()
    var file = try ForgedFile(FileName.segment(2), on: disk)
    let frame = try #require(
      FrameMap(disk).frames.first { $0.segment == file.name && $0.kind == MappedFrame.record })
    file.bytes[frame.range.lowerBound + 90] ^= 1
    file.put(on: disk)
    let writer = try Journal.open(in: disk, options: .small)
    let calls = Lock(0)
    disk.afterEachCall { _, _ in
      let count = calls.withLock {
        $0 += 1; return $0
      }
      guard count % 1000 == 0 else { return }
      do { try Self.put(300..<400, in: writer, UInt8(truncatingIfNeeded: count)) } catch {
        Issue.record("\(error)")
      }
    }
    defer { disk.afterEachCall(nil) }
    let damages = try Journal.verify(disk).report.damages
    disk.afterEachCall(nil)
    #expect(damages.count == 1 && damages.first?.segment == 2)
    try writer.close()
  }

  @Test func `an error names the file that got shorter`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try Self.put(0..<200, in: journal, 1)
    try journal.close()
    let file = try disk.open(FileName.segment(2), .read)
    defer { file.close() }
    var reader = SegmentReader(file, salt: SegmentSalt(0), end: 1 << 20)
    do {
      _ = try reader.bytes(1 << 19..<1 << 19 + 8)
      Issue.record("nothing was thrown")
    } catch { #expect(error.name == FileName.segment(2)) }
  }
}
