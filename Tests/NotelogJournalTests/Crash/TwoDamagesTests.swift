// Two places damaged at once: what the one says of the other can't be read.

import NotelogBase
import NotelogFormat
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct `Two damages of one store` {
  /// A store with a compacted segment, updates and removals, closed or killed, and what it holds.
  private struct Sample {
    let disk: SimulatedDisk
    let revisions: [ID16: UInt64]
    let ids: [ID16]
    let head: String

    init(closed: Bool, compactedLate: Bool) throws {
      let disk = SimulatedDisk()
      var options = JournalOptions.small
      options.segmentByteCount = 16 << 10
      let journal = try Journal.create(in: disk, storeID: key(99), options: options)
      let ids = (0..<60).map { key($0) }
      func update(_ numbers: some Sequence<Int>) throws {
        for number in numbers {
          try journal.put(ids[number], [UInt8](repeating: UInt8(number), count: 700), .durable)
        }
      }
      try update(0..<60)
      try update(stride(from: 0, to: 60, by: 2))
      for number in 0..<5 { _ = try journal.delete(ids[number]) }
      if !compactedLate { _ = try journal.compact() }
      try update(10..<50)
      if compactedLate { _ = try journal.compact() }
      try update(20..<24)
      var revisions: [ID16: UInt64] = [:]
      for id in ids { revisions[id] = try journal.revision(of: id) }
      if closed { try journal.close() }
      let image = closed ? disk : disk.crashImageNow(.processKilled)
      let segments = image.fileNames.filter { $0.hasSuffix(".journal") }
      try #require(segments.count > 4)
      let log = segments.filter { name in image.contents(name).map { $0[10] == 1 } ?? false }
      self.disk = image
      self.revisions = revisions
      self.ids = ids
      // The last one of kind log: compacted segments have numbers among those.
      head = try #require(log.max())
    }

    /// What a damaged copy of it says that is not so, if anything.
    func lie(of disk: SimulatedDisk) -> String? {
      var options = JournalOptions.small
      options.isReadOnly = true
      options.acceptsUnprovenDamage = true
      guard let journal = try? Journal.open(in: disk, options: options) else { return nil }
      var buffer = ReadBuffer()
      var lost = 0
      for (number, id) in ids.enumerated() {
        do throws(NotelogError) {
          let found = try journal.records.read(id, into: &buffer)
          if found?.revision == revisions[id] || found?.isPossiblyStale == true { continue }
          if found == nil, !journal.knowsWhatIsCurrent { continue }
          return "\(number) is \(found.map { "at revision \($0.revision)" } ?? "missing") without a word"
        } catch { lost += 1 }
      }
      guard journal.knowsWhatIsCurrent, let counted = try? journal.lostRecordCount(in: journal.damages)
      else { return nil }
      return counted == lost ? nil : "\(counted) records are called lost, and \(lost) are"
    }
  }

  /// The bug: a live set that can't be read was taken to be all segments that are there. One that was missing
  /// was missed by nobody: its records were gone, or served in older versions, and 'no record is lost'.
  @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
  func `a live set that is guessed is believed where something proves it`(closed: Bool, compactedLate: Bool)
    throws
  {
    let sample = try Sample(closed: closed, compactedLate: compactedLate)
    var head = try #require(sample.disk.contents(sample.head))
    head[Layout.firstFrameOffset + 45] ^= 4
    var lies: [String] = []
    var tried = 0
    for name in sample.disk.fileNames where name.hasSuffix(".journal") && name != sample.head {
      let bytes = try #require(sample.disk.contents(name))
      let cuts = [nil, 0, 4_700, bytes.count / 2, bytes.count - 1] as [Int?]
      for cut in cuts {
        for hasIndex in [true, false] {
          let disk = sample.disk.copy()
          disk.replace(sample.head, with: head)
          disk.replace(name, with: cut.map { Array(bytes[..<$0]) })
          if !hasIndex { disk.replace(FileName.index, with: nil) }
          tried += 1
          if let lie = sample.lie(of: disk) {
            lies.append("\(name) \(cut.map { "cut at \($0)" } ?? "missing"), index \(hasIndex): \(lie)")
          }
        }
      }
    }
    #expect(tried > 30)
    #expect(lies.isEmpty, "\(lies.count) of \(tried): \(lies.prefix(5))")
  }

  /// Of one damage that the header of the head proves to be nothing else, nobody has to suffer. (With a
  /// checkpoint, it is not even read.)
  @Test func `a live set that can't be read costs no record where nothing else is damaged`() throws {
    let sample = try Sample(closed: true, compactedLate: true)
    for hasIndex in [true, false] {
      let disk = sample.disk.copy()
      var head = try #require(disk.contents(sample.head))
      head[Layout.firstFrameOffset + 45] ^= 4
      disk.replace(sample.head, with: head)
      if !hasIndex { disk.replace(FileName.index, with: nil) }
      let journal = try Journal.open(in: disk, options: .small)
      #expect(journal.knowsWhatIsCurrent && journal.isDamaged != hasIndex)
      for id in sample.ids { #expect(try journal.revision(of: id) == sample.revisions[id]) }
    }
  }

  /// The bug: a file that was cut in the middle of a record's frame lost one record more than it was said to.
  @Test func `a frame that the end of a cut file goes through is counted`() throws {
    let sample = try Sample(closed: true, compactedLate: false)
    var lies: [String] = []
    for name in sample.disk.fileNames where name.hasSuffix(".journal") && name != sample.head {
      let bytes = try #require(sample.disk.contents(name))
      for cut in stride(from: Layout.firstFrameOffset, to: bytes.count, by: 328) {
        let disk = sample.disk.copy()
        disk.replace(name, with: Array(bytes[..<cut]))
        if let lie = sample.lie(of: disk) { lies.append("\(name) at \(cut): \(lie)") }
      }
    }
    #expect(lies.isEmpty, "\(lies.count): \(lies.prefix(5))")
  }
}
