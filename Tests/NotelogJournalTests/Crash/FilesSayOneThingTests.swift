// What reads a store's files agrees on what they say: opening, following, verifying, scanning, salvaging.
// FORMAT.md §12.

@testable import NotelogBase
@testable import Notelog
import NotelogFormat
import NotelogTestSupport
import Testing

@Suite struct `What the files say` {
  private static func segmentNames(_ disk: SimulatedDisk, kind: UInt8? = nil) -> [String] {
    disk.fileNames.filter { $0.hasSuffix(".journal") && (kind == nil || disk.contents($0)?[10] == kind) }
  }

  private static func change(_ disk: SimulatedDisk, _ name: String, _ body: (inout [UInt8]) -> Void) throws {
    var bytes = try #require(disk.contents(name))
    body(&bytes)
    disk.replace(name, with: bytes)
  }

  /// The store as whoever only reads sees it, also where it is past writing.
  private static func read(_ disk: SimulatedDisk) throws -> Journal {
    var options = JournalOptions()
    options.isReadOnly = true
    options.acceptsUnprovenDamage = true
    let journal = try Journal.open(in: disk, options: options)
    _ = try? journal.refresh()
    return journal
  }

  /// The bug: where the trailer of a finished segment above the floor did not check, opening and `verify`
  /// broke the log off there, and whoever followed went on behind it: readers served records that the next
  /// writer cut away.
  @Test func `INV-R5 a trailer that does not check above the floor ends the log for whoever reads it`() throws
  {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(1000), [1], .durable)
    for number in 0..<100 { try journal.put(key(number), [UInt8](repeating: 1, count: 400), .buffered) }
    let killed = disk.crashImageNow(.processKilled)
    let names = Self.segmentNames(killed)
    try #require(names.count > 2)
    // When the head was made, the segment before the one that was full then was durable.
    let full = names[names.count - 2]
    for place in [1, 9, 20] {
      let image = killed.copy()
      try Self.change(image, full) { $0[$0.count - place] ^= 1 }
      let reader = try Self.read(image)
      let (seen, isDamaged) = (try reader.records(), reader.isDamaged)
      try reader.close()
      let report = try Journal.verify(image).report
      #expect(!isDamaged && !report.isDamaged)
      let writer = try Journal.open(in: image, options: .small)
      let kept = try writer.records()
      try writer.close()
      #expect(seen == kept && kept.count > 10, "\(place) bytes before its end")
    }
  }

  /// The bug: with the live change damaged that published a compaction, and its sources gone, opening served
  /// what it made, and salvage called that replaced.
  @Test func `a compacted segment that nothing lists is saved where it is served`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    var model = try `Compaction`.fill(journal)
    // Somebody writes meanwhile, and the log goes on in a segment with a higher number than the output has.
    var step = 0
    _ = try journal.compact { _, _ in
      for number in 0..<20 {
        model[1000 + 20 * step + number] = `Compaction`.body(number, step)
        try? journal.put(key(1000 + 20 * step + number), `Compaction`.body(number, step), .buffered)
      }
      step += 1
      return true
    }
    try journal.put(key(5000), [1], .durable)
    model[5000] = [1]
    let whole = disk.crashImageNow(.allKept)
    let changes = FrameMap(whole).frames.filter { $0.kind == MappedFrame.liveChange }
    let compacted = try #require(Self.segmentNames(whole, kind: 3).first)
    #expect(changes.contains { compacted < $0.segment })
    for frame in changes {
      let image = whole.copy()
      try Self.change(image, frame.segment) { $0[frame.range.lowerBound + 44] ^= 1 }
      let reader = try Self.read(image)
      #expect(try model.allSatisfy { try reader.body(of: key($0.key)) == $0.value })
      try reader.close()
      let target = SimulatedDisk()
      let report = try Journal.salvage(from: image, to: target, options: .small)
      #expect(report.recordCount == model.count && report.losses.isEmpty)
      let saved = try Self.read(target)
      #expect(try model.allSatisfy { try saved.body(of: key($0.key)) == $0.value })
      try saved.close()
    }
  }

  /// The bug: `verify` and salvage called a gap lost frames that had no room for anything but a commit mark,
  /// and salvage then said that older versions may have come back.
  @Test func `a commit mark below the floor that does not check costs nothing, whoever reads it`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<100 { try journal.put(key(number), [UInt8](repeating: 1, count: 400)) }
    try journal.close()
    let marks = FrameMap(disk).frames.filter { $0.kind == MappedFrame.commit }
    for frame in [marks[3], marks[40], marks[marks.count - 2]] {
      let copy = disk.copy()
      try Self.change(copy, frame.segment) { $0[frame.range.lowerBound + 36] ^= 1 }
      let report = try Journal.verify(copy).report
      #expect(report.verdict == .contained && !report.damages.contains { $0.kind == .lostFrames })
      let reader = try Self.read(copy)
      let listed = try reader.records().count
      #expect(listed == 100)
      var findings: [Finding] = []
      var count = 0
      try reader.snapshot().forEach(onDamage: { findings.append($0) }) { _, _, _ in
        count += 1
        return true
      }
      #expect(findings.isEmpty && count == 100)
      try reader.close()
      let saved = try Journal.salvage(from: copy, to: SimulatedDisk(), options: .small)
      #expect(saved.losses.isEmpty && saved.possiblyStaleBelow == 0 && saved.recordCount == 100)
    }
  }

  /// The bug: beside a trailer that does not check, a commit mark that does not check either was lost frames
  /// to an opening where a footer or more frames followed it, and to salvage; alone, neither of the two costs
  /// anything.
  @Test(arguments: [true, false])
  func `a mark costs nothing, though the trailer does not check either`(isLast: Bool) throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<100 { try journal.put(key(number), [UInt8](repeating: 1, count: 400)) }
    try journal.close()
    let first = try #require(Self.segmentNames(disk).first)
    let marks = FrameMap(disk).frames.filter { $0.segment == first && $0.kind == MappedFrame.commit }
    try #require(marks.count > 2)
    let mark = marks[isLast ? marks.count - 1 : 1].range
    try Self.change(disk, first) { bytes in
      bytes[mark.lowerBound + 36] ^= 1
      bytes[bytes.count - 1] ^= 1
    }
    let report = try Journal.verify(disk).report
    #expect(report.verdict == .contained)
    #expect(!report.damages.contains { $0.kind == .lostFrames && $0.offset == mark.lowerBound })
    let reader = try Self.read(disk)
    let (listed, verdict) = (try reader.records().count, reader.report.verdict)
    try reader.close()
    #expect(listed == 100 && verdict == .contained)
    let saved = try Journal.salvage(from: disk, to: SimulatedDisk(), options: .small)
    #expect(saved.recordCount == 100 && saved.losses.isEmpty && saved.possiblyStaleBelow == 0)
  }

  /// The bug: salvage looked at frames and headers only, and gave numbers out again that the last close, or
  /// the checkpoint, says were given out: what is lost had them.
  @Test(arguments: ["lock", "index"])
  func `INV-R11 numbers of what is lost are given out again by nobody`(witness: String) throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<100 { try journal.put(key(number), [UInt8](repeating: 1, count: 400)) }
    let next = journal.log.state.withLock { $0.nextSequence }
    try journal.checkpoint()
    try journal.close()
    for name in ["lock", "index"] where name != witness { disk.replace(name, with: nil) }
    let head = try #require(Self.segmentNames(disk).last)
    disk.replace(head, with: nil)
    let opened = try Examination(disk, storeID: nil).nextSequence
    #expect(opened == next)
    let target = SimulatedDisk()
    _ = try Journal.salvage(from: disk, to: target, options: .small)
    let saved = try Journal.open(in: target, options: .small)
    #expect(saved.log.state.withLock { $0.nextSequence } == next)
    try saved.close()
  }

  /// The bug: a finished segment that was cut, and had lost its header copies too, was one loss, and the
  /// records that were in its end were not counted.
  @Test func `what a segment without headers has lost at its end is counted`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<200 { try journal.put(key(number), [UInt8](repeating: 1, count: 300)) }
    try journal.checkpoint()
    try journal.close()
    let name = Self.segmentNames(disk)[1]
    try Self.change(disk, name) { $0.removeSubrange(($0.count / 2)...) }
    let cut = try Journal.salvage(from: disk, to: SimulatedDisk(), options: .small)
    try Self.change(disk, name) { bytes in for place in 0..<4608 { bytes[place] = 0 } }
    let headless = try Journal.salvage(from: disk, to: SimulatedDisk(), options: .small)
    #expect(headless.headerless == [name])
    for report in [cut, headless] {
      #expect(report.recordCount < 190)
      #expect(
        report.recordCount + report.unnamedRecordCount + report.losses.count { $0.kind == .record } == 200)
    }
  }

  /// The bug: a store whose log was lost, and whose records were in compacted segments, was refused to
  /// whoever only reads.
  @Test(arguments: ["its own", "another store's", nil] as [String?])
  func `compacted segments are served where the log is gone`(index: String?) throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    let model = try `Compaction`.fill(journal)
    _ = try journal.compact()
    try journal.checkpoint()
    try journal.close()
    for name in Self.segmentNames(disk) where disk.contents(name)?[10] != 3 { disk.replace(name, with: nil) }
    if index != "its own" { disk.replace("index", with: nil) }
    if index == "another store's" {
      let other = SimulatedDisk()
      let stranger = try Journal.create(in: other, storeID: key(98), options: .small)
      _ = try `Compaction`.fill(stranger)
      _ = try stranger.compact()
      try stranger.checkpoint()
      try stranger.close()
      disk.replace("index", with: other.contents("index"))
    }
    #expect(throws: NotelogError(.damaged, "")) { try Journal.open(in: disk, options: .small) }
    let reader = try Self.read(disk)
    let verdict = reader.report.verdict
    #expect(verdict == .unproven)
    var buffer = ReadBuffer()
    for (number, body) in model {
      let found = try #require(try reader.records.read(key(number), into: &buffer))
      #expect(found.isPossiblyStale && buffer.body.array() == body)
    }
    let listed = try reader.records().count
    #expect(listed == model.count)
    try reader.close()
  }

  /// The bug: salvage passed over a head that had lost both copies of its header and its name, though its
  /// frames check.
  @Test func `a head without headers and without its name is saved`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<100 { try journal.put(key(number), [UInt8](repeating: 1, count: 300), .durable) }
    let image = disk.crashImageNow(.allKept)
    let head = try #require(Self.segmentNames(image).last)
    var bytes = try #require(image.contents(head))
    for place in 0..<4608 { bytes[place] = 0 }
    image.replace(head, with: nil)
    image.replace("FILE0001.CHK", with: bytes)
    image.replace("photo.jpg", with: [UInt8](repeating: 7, count: 20_000))
    let target = SimulatedDisk()
    let report = try Journal.salvage(from: image, to: target, options: .small)
    #expect(report.headerless == ["FILE0001.CHK"] && report.losses.isEmpty && report.possiblyStaleBelow == 0)
    #expect(report.recordCount == 100)
  }

  /// The bug: the copy in the footer was asked only where the others did not check.
  @Test func `a header with another number leaves it to the third copy`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<60 { try journal.put(key(number), [UInt8](repeating: 1, count: 900), .durable) }
    try journal.close()
    disk.replace("index", with: nil)
    let names = Self.segmentNames(disk)
    try #require(names.count > 2)
    var bytes = disk.contents(names[0]) ?? []
    bytes.replaceSubrange(0..<512, with: disk.contents(names[1])?.prefix(512) ?? [])
    for place in 4096..<4608 { bytes[place] = 0 }
    disk.replace(names[0], with: bytes)
    let again = try Journal.open(in: disk, options: .small)
    #expect(again.report.verdict == .contained)
    #expect(try again.records().count == 60)
    try again.close()
  }

  /// The bug: recovery had begun, here and where the lock is taken back, though it was clear already that
  /// something is lost which nothing names.
  @Test(arguments: [false, true])
  func `nothing is recovered where nobody knows which segments live`(isTakenBack: Bool) throws {
    let disk = SimulatedDisk()
    var options = JournalOptions.small
    options.isLeased = isTakenBack
    var journal = try Journal.create(in: disk, storeID: key(99), options: options)
    for number in 0..<60 { try journal.put(key(number % 20), [UInt8](repeating: 1, count: 900), .durable) }
    try journal.close()
    // A compaction of another branch, of all that this one still has.
    let branch = disk.copy()
    let other = try Journal.open(in: branch, options: .small)
    #expect(try other.compact().addedSegments > 0)
    try other.close()
    journal = try Journal.open(in: disk, options: options)
    if isTakenBack { try journal.suspend() } else { try journal.close() }
    let writer = try Journal.open(in: disk, options: .small)
    for number in 0..<3 { try writer.put(key(number), [2], .durable) }
    for number in 0..<3 { try writer.put(key(number), [3], .flushed) }
    try writer.abandon()
    for name in branch.fileNames where branch.contents(name)?[10] == 3 {
      disk.replace(name, with: branch.contents(name))
    }
    let head = try #require(Self.segmentNames(disk).last { disk.contents($0)?[10] == 1 })
    var bytes = disk.contents(head) ?? []
    bytes[Layout.firstFrameOffset + 50] ^= 1
    disk.replace(head, with: bytes)
    disk.replace("index", with: nil)
    let before = disk.fileNames
    #expect(throws: NotelogError(.damaged, "")) {
      if isTakenBack { try journal.resume() } else { _ = try Journal.open(in: disk, options: .small) }
    }
    #expect(disk.fileNames == before)
  }
}
