// INV-R9: what a damaged store lost, later openings know too.

import NotelogBase
@testable import Notelog
@testable import NotelogStorage
import NotelogFormat
import NotelogTestSupport
import Testing

extension `Damage to a closed store` {
  /// What was durable before a crash is protected as in a store that was closed. That some of it is lost is
  /// known not only to the opening that recovers, but to all later ones.
  @Test func `every byte damaged below the floor of a store that crashed is noticed, now and later`() throws {
    let sample = try Sample()
    let versions = sample.map.versions()
    let undamaged = try Journal.open(in: sample.unclosed.copy(), options: ScriptedStore.options(seed: 1))
    let floor = undamaged.report.floor
    #expect(!undamaged.report.wasClosed && undamaged.report.verdict == .sound)
    let head = try #require(sample.segments.last)
    let bytes = try #require(sample.unclosed.contents(head))
    #expect(floor.offset > 8_000 && floor.offset < bytes.count)
    expectNone(
      try failures(of: TestEffort.sample(4_608..<floor.offset, 1_000)) { offset in
        var bytes = bytes
        bytes[offset] ^= 1 << UInt8(offset % 8)
        let disk = sample.unclosed.copy()
        disk.replace(head, with: bytes)
        for way in [Way.recovering, .recovering, .reading] {
          try Self.check(disk, sample, [way], versions: versions, what: "\(head) at \(offset)") {
            $0.segment != head || !$0.range.contains(offset)
          }
        }
      })
  }

  /// INV-R12: what is dead of such a segment is never worth the trace of what it lost. A checkpoint names the
  /// record, so that the store goes on being written.
  @Test func `compaction leaves a segment that lost frames before it had a footer`() throws {
    let running = SimulatedDisk()
    var journal = try Journal.create(in: running, storeID: key(99), options: .small)
    for number in 0..<30 { try journal.put(key(number), [UInt8](repeating: 1, count: 100), .durable) }
    try journal.checkpoint()
    try journal.put(key(30), [2], .durable)
    let disk = running.crashImageNow(.processKilled)
    let frame = try #require(FrameMap(disk).versions()[key(7)]?.first)
    var bytes = try #require(disk.contents(frame.segment))
    bytes[frame.range.lowerBound] ^= 8
    disk.replace(frame.segment, with: bytes)
    for round in 0..<3 {
      journal = try Journal.open(in: disk, options: .small)
      #expect(round == 0 || journal.report.verdict == .contained)
      for number in 0..<31 where number != 7 {
        #expect(try journal.body(of: key(number)) != nil, "\(number), round \(round)")
      }
      #expect(throws: NotelogError(.damaged, "")) { try journal.body(of: key(7)) }
      for number in 8..<28 { try journal.put(key(number), [UInt8(round)]) }
      if round == 2 { try journal.checkpoint() }
      #expect(try journal.compact().damagedSegments.contains(1) == (round > 0 || disk.fileNames.count > 0))
      try journal.close()
    }
    #expect(try Journal.verify(disk).report.damages.contains { $0.kind == .lostFrames && $0.segment == 1 })
  }

  /// The bug: without a checkpoint nothing looked at the frames, and the store was refused.
  @Test func `a trailer that is lost costs nothing, also without a checkpoint`() throws {
    let disk = SimulatedDisk()
    var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<300 { try journal.put(key(number), [UInt8](repeating: 1, count: 300), .buffered) }
    let finished = try #require(journal.catalog.segments.all.first { $0.entry != nil })
    let lost = try #require(try journal.catalog.location(of: key(5)))
    try #require(lost.segment == finished.number)
    try journal.close()
    try disk.unlink(FileName.index)
    var bytes = try #require(disk.contents(finished.name))
    bytes[bytes.count - 10] ^= 8
    disk.replace(finished.name, with: bytes)
    journal = try Journal.open(in: disk, options: .small)
    #expect(journal.report.verdict == .contained && journal.report.damages.map(\.kind) == [.footer])
    for number in 0..<300 { #expect(try journal.body(of: key(number)) != nil, "\(number)") }
    try journal.put(key(1), [2])
    try journal.close()
    // Without a frame's header, too, nobody knows.
    bytes[Int(lost.offset) + 20] ^= 8
    disk.replace(finished.name, with: bytes)
    try disk.unlink(FileName.index)
    #expect(throws: NotelogError(.damaged, "")) { try Journal.open(in: disk, options: .small) }
  }

  /// The bug: nothing said that the last bytes of a store that was closed in order were others.
  @Test func `a close mark that does not check is found by verifying`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(1), [1])
    try journal.close()
    #expect(try Journal.verify(disk).isSound)
    var bytes = try #require(disk.contents(FileName.segment(1)))
    bytes[bytes.count - 20] ^= 8
    disk.replace(FileName.segment(1), with: bytes)
    #expect(try Journal.verify(disk).report.damages.map(\.kind) == [.closeMark])
    #expect(try Journal.verify(disk).report.torn.isEmpty, "one finding is enough")
    #expect(try Journal.open(in: disk, options: .small).body(of: key(1)) == [1])
  }

  /// The checkpoint is sound, and what it says of the record is older than what was lost.
  @Test func `what a crash and damage took behind a checkpoint is noticed beside it, now and later`() throws {
    let running = SimulatedDisk()
    var journal = try Journal.create(in: running, storeID: key(99), options: .small)
    try journal.put(key(1), [1], .durable)
    try journal.checkpoint()
    for (number, version) in [(1, 2), (2, 3), (3, 4)] {
      try journal.put(key(number), [UInt8(version)], .durable)
    }
    let disk = running.crashImageNow(.processKilled)
    let frame = try #require(FrameMap(disk).versions()[key(1)]?.first)
    var bytes = try #require(disk.contents(frame.segment))
    bytes[frame.range.lowerBound] ^= 8
    disk.replace(frame.segment, with: bytes)
    var accepting = JournalOptions.small
    accepting.acceptsUnprovenDamage = true
    for _ in 0..<3 {
      #expect(throws: NotelogError(.damaged, "")) { try Journal.open(in: disk, options: .small) }
      journal = try Journal.open(in: disk, options: accepting)
      #expect(
        journal.report.verdict == .unproven && journal.report.damages.contains { $0.kind == .lostFrames })
      var buffer = ReadBuffer()
      #expect(try journal.records.read(key(1), into: &buffer)?.isPossiblyStale == true)
      #expect(throws: NotelogError(.readOnly, "")) { try journal.put(key(4), [1]) }
      try journal.close()
    }
  }

  /// A checkpoint would say of what is left that it is current, as if that were known.
  @Test func `a store that lost what may have superseded the rest is not written to`() throws {
    let sample = try Sample()
    sample.disk.replace("index", with: nil)
    let head = try #require(sample.segments.last)
    let versions = sample.map.versions()
    for frame in sample.map.frames where frame.segment == head && frame.kind == MappedFrame.record {
      let disk = sample.disk.copy()
      var bytes = try #require(disk.contents(head))
      bytes[frame.range.lowerBound + 20] ^= 1
      disk.replace(head, with: bytes)
      let journal = try ScriptedStore.open(disk, seed: 1)
      #expect(journal.report.verdict == .unproven)
      #expect(throws: NotelogError(.readOnly, "")) { try journal.put(key(500), [1]) }
      #expect(throws: NotelogError(.readOnly, "")) { try journal.checkpoint() }
      var buffer = ReadBuffer()
      let older = try? journal.records.read(frame.key, into: &buffer)
      #expect(older?.isPossiblyStale ?? true && (older != nil) == (versions[frame.key]?.count ?? 0 > 1))
      try journal.close()
      #expect(disk.contents("index") == nil)
    }
  }

  /// INV-R10: the checkpoint names what the rest of the store can't: nothing but the damaged record is lost.
  @Test func `beside a checkpoint a lost frame is known by its record, and the store is written to`() throws {
    let sample = try Sample()
    let head = try #require(sample.segments.last)
    let versions = sample.map.versions()
    for frame in sample.map.frames where frame.segment == head && frame.kind == MappedFrame.record {
      let disk = sample.disk.copy()
      disk.replace("index", with: sample.checkpoint)
      var bytes = try #require(disk.contents(head))
      bytes[frame.range.lowerBound + 20] ^= 1
      disk.replace(head, with: bytes)
      let journal = try ScriptedStore.open(disk, seed: 1)
      #expect(journal.report.verdict == .sound)
      let isNewest = versions[frame.key]?.first == frame
      if isNewest {
        #expect(throws: NotelogError(.damaged, "")) { try journal.body(of: frame.key) }
        #expect(journal.isDamaged)
      }
      try journal.put(key(500), [1])
      try journal.checkpoint()
      try journal.close()
      let again = try ScriptedStore.open(disk, seed: 2)
      for (id, version) in sample.state where id != frame.key {
        #expect(try again.revision(of: id) == version.revision)
      }
      if isNewest { #expect(throws: NotelogError(.damaged, "")) { try again.body(of: frame.key) } }
      try again.close()
    }
  }

  /// A checkpoint says how much there was: what the head lacks of it is known to be lost, also when the
  /// checkpoint is gone.
  @Test func `the head cut below what a checkpoint covers is noticed, now and later`() throws {
    let sample = try Sample()
    let versions = sample.map.versions()
    let head = try #require(sample.segments.last)
    let bytes = try #require(sample.disk.contents(head))
    let covered = bytes.count - 40 - 24
    expectNone(
      try failures(of: [nil] + TestEffort.sample(0..<covered, 1_000).map(Optional.some)) { length in
        let disk = sample.disk.copy()
        disk.replace(head, with: length.map { Array(bytes[..<$0]) })
        // Recovery is cut off first, once it can't be undone.
        let interrupted = disk.copy()
        interrupted.plan(Fault(.error(5), of: [.truncate], passing: 0))
        interrupted.replace("index", with: sample.checkpoint)
        _ = try? Journal.open(in: interrupted, options: ScriptedStore.options(seed: 1))
        if !interrupted.firedFaults.isEmpty {
          interrupted.forgetFaults()
          try Self.check(
            interrupted, sample, [.reading, .recovering], versions: versions,
            what: "\(head) cut at \(length ?? -1), interrupted"
          ) {
            $0.segment != head || $0.range.upperBound <= length ?? 0
          }
        }
        for way in [Way.following, .writing, .recovering, .reading] {
          try Self.check(
            disk, sample, [way], versions: versions, what: "\(head) cut at \(length ?? -1)"
          ) {
            $0.segment != head || $0.range.upperBound <= length ?? 0
          }
        }
      })
  }

  /// Who reads a head that is shorter than it was goes through what is left.
  @Test func `a head cut below what a checkpoint covers can be scanned`() throws {
    let sample = try Sample()
    let head = try #require(sample.segments.last)
    let bytes = try #require(sample.disk.contents(head))
    for length in stride(from: 4_608, to: bytes.count - 64, by: 40) {
      let disk = sample.disk.copy()
      disk.replace(head, with: Array(bytes[..<length]))
      disk.replace("index", with: sample.checkpoint)
      var options = ScriptedStore.options(seed: 1)
      options.isReadOnly = true
      let journal = try Journal.open(in: disk, options: options)
      var found: Set<ID16> = []
      try journal.snapshot().forEach { record, _, _ in
        found.insert(record.id)
        return true
      }
      #expect(found == Set(try journal.records()), "cut at \(length)")
    }
  }

  /// A checkpoint is not signed: what it says of a segment's length may be more than any segment can have.
  @Test(arguments: [0x7FFF_F000, 0xFFFF_FFF8, 0xFFFF_FFFF] as [UInt64])
  func `a floor that no segment has room for is not filled up to`(offset: UInt64) throws {
    let sample = try Sample()
    let head = try #require(sample.segments.last)
    let disk = sample.disk.copy()
    disk.replace("index", with: sample.checkpoint)
    var index = try ForgedFile("index", on: disk)
    index.set(offset, at: 52, count: 4)
    index.sealFirstBlock()
    index.put(on: disk)
    let byteCount = disk.usedByteCount
    for round in 0..<2 {
      let journal = try ScriptedStore.open(disk, seed: UInt64(round))
      #expect(round > 0 || journal.report.damages.map(\.kind) == [.truncated])
      #expect(try ScriptedStore.state(of: journal) == sample.state)
      try journal.close()
    }
    #expect(disk.usedByteCount < byteCount + 100_000 && disk.contents(head) != nil)
  }

  /// Nothing would name what is left, if a writer made a recovered segment of that.
  @Test func `without the end of the log and the end of what is left, there is no writing`() throws {
    let sample = try Sample()
    let disk = sample.disk.copy()
    let (before, head) = (
      sample.segments[sample.segments.count - 2], sample.segments[sample.segments.count - 1]
    )
    disk.replace("index", with: sample.checkpoint)
    disk.replace(head, with: nil)
    disk.replace(before, with: disk.contents(before)?.dropLast())
    let names = disk.fileNames
    var options = ScriptedStore.options(seed: 1)
    options.acceptsUnprovenDamage = false
    #expect(throws: NotelogError(.damaged, "")) { try Journal.open(in: disk, options: options) }
    #expect(disk.fileNames == names)
    options.acceptsUnprovenDamage = true
    let journal = try Journal.open(in: disk, options: options)
    #expect(!(try journal.records()).isEmpty && !journal.report.damages.isEmpty)
  }
}
