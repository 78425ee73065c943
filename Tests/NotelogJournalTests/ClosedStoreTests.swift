// The clean open, of a store that was closed in order: it finds what examining finds, or is not taken.
// FORMAT.md §12.

import NotelogBase
@testable import NotelogStorage
@testable import Notelog
import NotelogFormat
import NotelogTestSupport
import Synchronization
import Testing

@Suite struct ClosedStoreTests {
  private static let count = 300

  private func body(_ number: Int, version: Int = 0) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number &+ 7 &* version), count: 100 + number % 90)
  }

  /// A closed store of some segments, with a checkpoint of all that is in it.
  private func closedStore(id: Int = 99) throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(id), options: .small)
    for number in 0..<Self.count { try journal.put(key(number), body(number), .buffered) }
    try journal.checkpoint()
    try journal.close()
    return disk
  }

  private func segments(_ disk: SimulatedDisk) -> [String] {
    disk.fileNames.filter { $0.hasSuffix(".journal") }
  }

  /// Opens a store for writing, and says which of its segments were opened for it.
  private func open(_ disk: SimulatedDisk) throws -> (journal: Journal, opened: Set<String>) {
    let opened = Mutex<Set<String>>([])
    disk.afterEachCall { call, name in
      if call == .open, name.hasSuffix(".journal") { opened.withLock { _ = $0.insert(name) } }
    }
    defer { disk.afterEachCall(nil) }
    let journal = try Journal.open(in: disk, options: .accepting)
    return (journal, opened.withLock { $0 })
  }

  private func check(_ journal: Journal, versions: [Int: Int] = [:]) throws {
    for number in 0..<Self.count {
      let expected = body(number, version: versions[number] ?? 0)
      if try journal.body(of: key(number)) != expected { Issue.record("record \(number) reads wrongly") }
    }
    #expect(try journal.records().count == Self.count)
  }

  /// INV-R8: and what the clean open finds is what is there.
  @Test func `nothing but the head is opened, and everything is there`() throws {
    let disk = try closedStore()
    #expect(segments(disk).count > 4)
    for _ in 0..<2 {
      let (journal, opened) = try open(disk)
      #expect(opened == [try #require(segments(disk).last)])
      #expect(journal.report.verdict == .sound && journal.report.wasClosed)
      #expect(journal.report.checkpoint == .used)
      try check(journal)
      try journal.close()
    }
    #expect(try Journal.verify(disk).report.verdict == .sound)
  }

  /// INV-L1, by the clean open and by examining.
  @Test(arguments: [false, true])
  func `a number that only a tail kept aside bears is not used again`(isExamined: Bool) throws {
    let disk = try closedStore()
    try disk.makeFolder("torn")
    disk.replace("torn/500-8192.tail", with: [1, 2, 3])
    if isExamined { disk.replace("index", with: nil) }
    let before = Set(segments(disk))
    let (journal, opened) = try open(disk)
    #expect(opened.isSuperset(of: before) == isExamined)
    for number in 0..<Self.count { try journal.put(key(number), body(number), .flushed) }
    try journal.close()
    let new = Set(segments(disk)).subtracting(before)
    #expect(!new.isEmpty && new.allSatisfy { $0 > FileName.segment(500) })
  }

  @Test func `what is newer than the checkpoint is read, and goes on`() throws {
    let disk = try closedStore()
    var versions: [Int: Int] = [:]
    for round in 1...3 {
      // Few enough that no checkpoint is written, and enough for segments to be finished and compacted.
      let (journal, opened) = try open(disk)
      #expect(opened.count < segments(disk).count)
      for number in stride(from: round, to: Self.count, by: 4) {
        try journal.put(key(number), body(number, version: round), .flushed)
        versions[number] = round
      }
      if round == 2 { _ = try journal.compact() }
      try check(journal, versions: versions)
      try journal.close()
    }
    let (journal, opened) = try open(disk)
    #expect(opened.count < segments(disk).count)
    try check(journal, versions: versions)
    try journal.close()
    let reader = try Journal.open(in: disk, options: .reading)
    try check(reader, versions: versions)
    #expect(try Journal.verify(disk).report.verdict == .sound)
  }

  /// The live set that a compaction published since the checkpoint is in the head's live changes alone.
  @Test func `a compaction after the checkpoint is found`() throws {
    let disk = try closedStore()
    let (journal, _) = try open(disk)
    for number in 0..<100 { try journal.put(key(number), body(number), .flushed) }
    let before = segments(disk)
    _ = try journal.compact()
    try journal.close()
    #expect(!before.allSatisfy(segments(disk).contains))
    let (again, opened) = try open(disk)
    #expect(opened.count < segments(disk).count)
    try check(again)
  }

  @Test func `a checkpoint of a store in which nothing was written leaves it closed`() throws {
    let disk = try closedStore()
    let journal = try Journal.open(in: disk, options: .small)
    try journal.checkpoint()
    try journal.close()
    let (again, opened) = try open(disk)
    #expect(again.report.wasClosed && opened.count == 1)
    try check(again)
  }

  /// What makes a store one that has to be examined.
  enum Deviation: String, CaseIterable {
    case noCheckpoint, flippedCheckpoint, otherCheckpoint, staleCheckpoint, partialOutput, partialCheckpoint
    case strayName, strayCopy, segmentGone, lastSegmentGone, segmentRenamed
    case sourceBack, sourceExchanged, newerTrailer
    case headShort, headLong, headHeader, headCopy, headOlder
  }

  private func deviate(_ deviation: Deviation, _ disk: SimulatedDisk) throws {
    let names = segments(disk)
    let (first, head) = (try #require(names.first), try #require(names.last))
    func change(_ name: String, _ body: (inout [UInt8]) -> Void) throws {
      var bytes = try #require(disk.contents(name))
      body(&bytes)
      disk.replace(name, with: bytes)
    }
    switch deviation {
    case .noCheckpoint: disk.replace("index", with: nil)
    case .flippedCheckpoint: try change("index") { $0[200] ^= 1 }
    case .otherCheckpoint: disk.replace("index", with: try closedStore(id: 98).contents("index"))
    case .staleCheckpoint:
      let index = disk.contents("index")
      let journal = try Journal.open(in: disk, options: .small)
      _ = try journal.compact()
      for number in 0..<Self.count { try journal.put(key(number), body(number), .flushed) }
      try journal.close()
      let later = try Journal.open(in: disk, options: .small)
      try later.close()
      disk.replace("index", with: index)
    case .partialOutput: disk.replace("000000000077.journal.partial", with: [1, 2, 3])
    case .partialCheckpoint: disk.replace("index.partial", with: [])
    case .strayName: disk.replace("000000000077.journal", with: [])
    case .strayCopy: disk.replace("000000000077.journal", with: disk.contents(first))
    case .segmentGone: disk.replace(first, with: nil)
    case .lastSegmentGone: disk.replace(try #require(names.dropLast().last), with: nil)
    case .segmentRenamed:
      disk.replace("000000000077.journal", with: disk.contents(first))
      disk.replace(first, with: nil)
    case .sourceBack, .sourceExchanged:
      let journal = try Journal.open(in: disk, options: .small)
      for number in 0..<100 { try journal.put(key(number), body(number), .flushed) }
      let before = names.map { ($0, disk.contents($0)) }
      // Bit by bit, so that others stay.
      while names.allSatisfy(disk.fileNames.contains) {
        _ = try journal.compact(WorkBudget(byteCount: 1))
      }
      try journal.close()
      let gone = try #require(before.first { !disk.fileNames.contains($0.0) })
      if deviation == .sourceExchanged {
        disk.replace(try #require(names.dropLast().first { disk.fileNames.contains($0) }), with: nil)
      }
      disk.replace(gone.0, with: gone.1)
    case .newerTrailer:
      let index = disk.contents("index")
      let journal = try Journal.open(in: disk, options: .small)
      for number in 0..<200 { try journal.put(key(number), body(number), .flushed) }
      try journal.close()
      // A checkpoint that covered it would make reading it needless.
      disk.replace("index", with: index)
      try change(try #require(segments(disk).dropLast().last)) { $0[$0.count - 20] ^= 1 }
    case .headShort: try change(head) { $0.removeLast() }
    case .headLong: try change(head) { $0 += [UInt8](repeating: 0, count: 8) }
    case .headHeader: try change(head) { $0[30] ^= 1 }
    case .headCopy: try change(head) { $0[4096 + 30] ^= 1 }
    case .headOlder:
      let bytes = disk.contents(head)
      let journal = try Journal.open(in: disk, options: .small)
      try journal.put(key(0), body(0, version: 1), .flushed)
      try journal.checkpoint()
      try journal.close()
      disk.replace(head, with: bytes)
    }
  }

  @Test(arguments: Deviation.allCases)
  func `anything that is not as it should be is examined`(_ deviation: Deviation) throws {
    let disk = try closedStore()
    try deviate(deviation, disk)
    let names = Set(segments(disk))
    // What another process would read is what examining finds.
    let expected = try Journal.open(in: disk.copy(), options: .reading)
    let (journal, opened) = try open(disk)
    #expect(opened.isSuperset(of: names), "\(deviation): the clean open was taken")
    #expect(journal.report.damages == expected.report.damages)
    var buffer = ReadBuffer()
    for number in 0..<Self.count {
      let (found, wanted) = (try? journal.body(of: key(number)), try? expected.body(of: key(number)))
      if found == wanted { continue }
      // A checkpoint knows that there was a later version, and the frames only that there may have been.
      let isStale = try expected.records.read(key(number), into: &buffer)?.isPossiblyStale
      #expect(found == nil && isStale == true)
    }
  }

  /// What a header says that checks: the first byte of a field, and another value for it.
  @Test(arguments: [(field: 16, "write flags"), (20, "number"), (24, "store id"), (57, "floor")])
  func `a head that says something else is examined`(field: Int, name: String) throws {
    let disk = try closedStore()
    let names = Set(segments(disk))
    let head = try #require(segments(disk).last)
    var file = try ForgedFile(head, on: disk)
    for start in [0, 4_096] {
      file.bytes[start + field] ^= 1
      file.seal(headerAt: start)
    }
    file.put(on: disk)
    let reader = try Journal.open(in: disk.copy(), options: .reading)
    if name == "write flags" {
      #expect(throws: NotelogError(.unsupportedVersion, "")) { try Journal.open(in: disk, options: .small) }
      try check(reader)
    } else {
      #expect(!reader.report.damages.isEmpty)
      if let (journal, opened) = try? open(disk) {
        #expect(opened.isSuperset(of: names) && !journal.report.damages.isEmpty)
      }
    }
  }

  // The clean open trusts names; what the files hold is found out when they are read.

  @Test func `a segment that is another is refused when it is read`() throws {
    try refuse { disk, name in
      let bytes = try #require(disk.contents(name))
      let lost = keys(of: name, disk) { _ in true }
      let other = try #require(try closedStore(id: 98).contents(name))
      try #require(other.count == bytes.count && !lost.isEmpty)
      disk.replace(name, with: other)
      return lost
    }
  }

  @Test(arguments: [0, 100, 5_000, 6_000, -1])
  func `what a segment lost at its end is refused when it is read`(end: Int) throws {
    try refuse { disk, name in
      let bytes = try #require(disk.contents(name))
      let kept = end < 0 ? bytes.count + end : end
      let lost = keys(of: name, disk) { $0 > kept }
      // The last byte is the trailer's: without it all frames are there.
      try #require(lost.isEmpty == (end < 0))
      disk.replace(name, with: Array(bytes.prefix(kept)))
      return lost
    }
  }

  /// The records of a segment whose frames end where they are lost.
  private func keys(of name: String, _ disk: SimulatedDisk, _ isLost: (Int) -> Bool) -> Set<ID16> {
    Set(
      FrameMap(disk).frames.filter {
        $0.segment == name && $0.kind == MappedFrame.record && isLost($0.range.upperBound)
      }
      .map(\.key))
  }

  /// Damages a store's first segment so that records are lost; none but these is, and everybody who looks can
  /// tell.
  private func refuse(_ damage: (SimulatedDisk, String) throws -> Set<ID16>) throws {
    let disk = try closedStore()
    let lost = try damage(disk, try #require(segments(disk).first))
    let (journal, opened) = try open(disk)
    #expect(opened.count == 1)
    for number in 0..<Self.count {
      if lost.contains(key(number)) {
        #expect(throws: NotelogError(.damaged, "")) { try journal.body(of: key(number)) }
      } else {
        #expect(try journal.body(of: key(number)) == body(number))
      }
    }
    #expect(try Set(journal.scrub().findings.map(\.segment)) == [1])
    #expect(try journal.compact().damagedSegments == [1])
    try journal.close()
    #expect(try Journal.verify(disk).report.isDamaged)
    disk.replace("index", with: nil)
    let examined = try Journal.open(in: disk, options: .accepting)
    #expect(examined.report.isDamaged)
  }
}

extension JournalOptions {
  fileprivate static var reading: JournalOptions {
    var options = accepting
    options.isReadOnly = true
    return options
  }

  /// For what is damaged, and nobody can say how far.
  fileprivate static var accepting: JournalOptions {
    var options = small
    options.acceptsUnprovenDamage = true
    return options
  }
}
