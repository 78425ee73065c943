// Checkpoints that check, and say what is not so: FORMAT.md §24, docs/format-derived.md §31, INV-X1.

@testable import Notelog
@testable import NotelogBase
@testable import NotelogFormat
@testable import NotelogStorage
import NotelogTestSupport
import Testing

/// The bug: the index of a checkpoint whose checksums fit was believed. `verify` called it sound, and
/// compaction removed a record that it called dead, or lacked.
@Suite struct `An index that is wrong` {
  /// What the index says of a record that is there.
  enum Lie: CaseIterable {
    case missing, deleted, anOlderVersion, anothersFrame
  }

  private static let count = 300
  private static let victim = key(7)

  private func body(_ number: Int, _ version: UInt8) -> [UInt8] {
    [UInt8](repeating: version, count: 150 + number % 50)
  }

  /// A store half of whose bytes are dead, each record with the version it should have.
  private func store(_ change: (Journal) throws -> Void) throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<Self.count { try journal.put(key(number), body(number, 1)) }
    for number in 0..<Self.count where number % 2 == 1 { try journal.put(key(number), body(number, 2)) }
    for number in stride(from: 0, to: Self.count, by: 10) { try journal.delete(key(number)) }
    try change(journal)
    try journal.checkpoint()
    try journal.close()
    return disk
  }

  private func check(_ journal: Journal) throws {
    for number in 0..<Self.count {
      let expected = number % 10 == 0 ? nil : body(number, number % 2 == 1 ? 2 : 1)
      #expect(try journal.body(of: key(number)) == expected, "record \(number)")
    }
  }

  private func tell(_ lie: Lie, _ journal: Journal) throws {
    let index = journal.catalog.index
    let fingerprint = index.fingerprint(of: Self.victim)
    let place = try #require(try journal.catalog.location(of: Self.victim)?.place)
    let other: FrameAddress
    switch lie {
    case .missing:
      #expect(try index.remove(fingerprint, at: place))
      return
    case .deleted: other = FrameAddress(segment: place.segment, offset: place.offset, isTombstone: true)
    case .anothersFrame: other = try #require(try journal.catalog.location(of: key(9))?.place)
    case .anOlderVersion:
      var found: FrameAddress?
      for segment in journal.catalog.segments.all {
        try segment.forEachEntry(upTo: segment.byteCount) { entry, _ in
          let place = FrameAddress(segment: segment.number, offset: entry.offset)
          if entry.id == Self.victim, found == nil { found = place }
        }
      }
      other = try #require(found)
    }
    #expect(other != place)
    #expect(try index.replace(fingerprint, at: place, with: other))
  }

  @Test(arguments: Lie.allCases) func `verification holds it against the segments`(lie: Lie) throws {
    let sound = try Journal.verify(try store { _ in })
    #expect(sound.isSound && sound.report.checkpoint == .used)
    let verification = try Journal.verify(try store { try tell(lie, $0) })
    #expect(verification.report.damages == [] && !verification.isSound)
    #expect(verification.index.wrongEntryCount == 1)
    #expect(verification.index.records.contains(Self.victim))
  }

  @Test(arguments: Lie.allCases) func `compaction destroys nothing that it calls dead, and drops it`(lie: Lie)
    throws
  {
    let disk = try store { try tell(lie, $0) }
    var journal = try Journal.open(in: disk, options: .small)
    #expect(journal.report.checkpoint == .used)
    #expect(throws: NotelogError(.damaged, "")) { try journal.compact() }
    #expect(throws: NotelogError(.damaged, "")) { try journal.compact() }
    try journal.put(key(1000), [1])
    try journal.close()
    #expect(!disk.fileNames.contains { $0.hasSuffix("index") })
    journal = try Journal.open(in: disk, options: .small)
    #expect(journal.report.checkpoint == .missing)
    try check(journal)
    #expect(try journal.compact().removedSegments > 0)
    try check(journal)
    try journal.checkpoint()
    try journal.close()
    #expect(try Journal.verify(disk).isSound)
  }

  @Test func `a shard with another number of tombstones than the head says is refused, and all of the file`()
    throws
  {
    let disk = try store { _ in }
    let file = try disk.open(FileName.index, .read)
    let head = try #require(try CheckpointHead(from: file))
    let sound = try Journal.open(in: disk, options: .small)
    try sound.catalog.index.loadAll()
    try sound.close()
    let index = IndexCopy(of: sound.catalog.index)
    var counts = head.tombstoneCounts
    let shard = try #require(counts.indices.first { counts[$0] < head.entryCounts[$0] })
    counts[shard] += 1
    let forged = CheckpointHead(
      storeID: head.storeID, salt: head.salt, key: head.key, covered: head.covered,
      coveredSalt: head.coveredSalt, nextSequence: head.nextSequence, isOfDamagedStore: false,
      entryCounts: head.entryCounts, tombstoneCounts: counts, segments: head.segments, listed: head.listed)
    try CheckpointFile.write(forged, index, leaving: 0, to: disk).close()
    try disk.rename(FileName.index + FileName.partialSuffix, to: FileName.index)
    #expect(try Journal.verify(disk).report.checkpoint == .damaged)
    let journal = try Journal.open(in: disk, options: .small)
    #expect(journal.report.checkpoint == .used && !journal.catalog.checkpointHealth.isDamaged)
    try journal.catalog.index.loadAll()
    #expect(journal.catalog.checkpointHealth.isDamaged)
    try check(journal)
    try journal.close()
  }

  @Test func `verification holds its live bytes and its list of schemas against the segments`() throws {
    let live = try Journal.verify(try store { $0.catalog.segments.addLive(1000, in: $0.catalog.segments[2]) })
    #expect(live.index.segments == [2] && live.index.wrongEntryCount == 0)
    let listed = try Journal.verify(
      try store { journal in
        var batch = Batch()
        batch.put(key(2000), collection: 0, bodyByteCount: 4) { _ in }
        try journal.commit(&batch, .flushed)
        journal.catalog.listed.note(key(2000), sequence: .max, isPresent: false)
      })
    #expect(listed.index.listsOtherSchemas && listed.index.wrongEntryCount == 0)
  }

  /// A compaction whose publication is written and not synced leaves its copies, and the recovery that
  /// follows makes others of the same frames: both are live, and the index names one of them.
  @Test(arguments: [true, false]) func `two copies of one frame are no fault of the index`(
    hasCheckpoint: Bool
  ) throws {
    var passing = 0
    var struckCount = 0
    while true {
      let disk = SimulatedDisk()
      var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
      for number in 0..<60 { try journal.put(key(number), body(number, 1), .buffered) }
      if hasCheckpoint { try journal.checkpoint() }
      for number in 60..<200 { try journal.put(key(number), body(number, 1), .buffered) }
      for number in stride(from: 0, to: 200, by: 2) {
        try journal.put(key(number), body(number, 2), .buffered)
      }
      for number in stride(from: 0, to: 200, by: 10) { try journal.delete(key(number), .buffered) }
      disk.plan(Fault(.error(SystemErrno.inputOutput), of: [.sync], passing: passing, lasts: false))
      _ = try? journal.compact()
      if disk.firedFaults.isEmpty { break }
      disk.forgetFaults()
      try? journal.close()
      journal = try Journal.open(in: disk, options: .small)
      try journal.close()
      #expect(try Journal.verify(disk).isSound, "sync \(passing)")
      journal = try Journal.open(in: disk, options: .small)
      #expect(try journal.compact().damagedSegments == [], "sync \(passing)")
      for number in 0..<200 {
        let expected = number % 10 == 0 ? nil : body(number, number % 2 == 0 ? 2 : 1)
        #expect(try journal.body(of: key(number)) == expected, "sync \(passing), record \(number)")
      }
      try journal.close()
      #expect(try Journal.verify(disk).isSound, "sync \(passing)")
      (passing, struckCount) = (passing + 1, struckCount + 1)
    }
    #expect(struckCount > 3)
  }

  /// An order that lacks a key hid a record from every query of its field.
  @Test(arguments: [false, true]) func `verification holds orders against the records`(isWhole: Bool) throws {
    let disk = SimulatedDisk()
    var options = JournalOptions.small
    options.smallIndex = 0
    let journal = try Journal.create(in: disk, storeID: key(99), options: options)
    func sortKey(_ number: Int) -> [UInt8] { [1, 2, UInt8(number / 256), UInt8(number % 256)] }
    for number in 0..<Self.count {
      var batch = Batch()
      let envelope = WrittenEnvelope(sortKeys: [.init(field: 3, bytes: sortKey(number))])
      batch.put(key(number), collection: 1, envelope: envelope, bodyByteCount: 8) { _ in }
      try journal.commit(&batch, .durable)
    }
    try journal.checkpoint()
    let name = OrderName(collection: 1, field: 3)
    try journal.storeOrder(name, since: UInt64(Self.count)) { writer throws(NotelogError) in
      for number in 0..<Self.count where isWhole || number != 150 {
        var bytes = Buffer()
        bytes.append((sortKey(number) + [UInt8](repeating: 0, count: 12)).rawSpan)
        bytes.appendZeros(16)
        var span = bytes.mutableBytes
        key(number).write(into: &span, at: 16)
        try writer.append(bytes.bytes)
      }
      return true
    }
    // What came later need not be in it.
    var batch = Batch()
    let envelope = WrittenEnvelope(sortKeys: [.init(field: 3, bytes: [9])])
    batch.put(key(1), collection: 1, envelope: envelope, bodyByteCount: 8) { _ in }
    try journal.commit(&batch, .durable)
    try journal.close()
    let verification = try Journal.verify(disk, threadCount: 2)
    #expect(verification.report.checkpoint == .used && verification.report.damages == [])
    #expect(verification.index.orders == (isWhole ? [] : [name]) && verification.isSound == isWhole)
    #expect(!verification.index.hasUnsoundOrder)
    // A block of keys that does not check, and then the block that says what they begin with. It costs nothing.
    let file = try #require(disk.contents(FileName.index))
    for place in [file.count - 2 * CheckpointBlock.byteCount, file.count - CheckpointBlock.byteCount] {
      var altered = file
      altered[place + 100] ^= 1
      disk.replace(FileName.index, with: altered)
      let verification = try Journal.verify(disk, threadCount: 2)
      #expect(verification.index.orders == [] && verification.isSound)
      #expect(
        verification.findings.map(\.message) == ["index: an order in it does not check; it is built anew"])
    }
  }

  /// Counts of its head that are not those of its entries made `info` count other records than there are.
  @Test func `a checkpoint that counts other entries than it has is damaged`() throws {
    let disk = try store { _ in }
    var file = try ForgedFile(FileName.index, on: disk)
    let shard = try #require(
      (0..<256).first { file.integer(128 + 8 * $0, 4) > file.integer(132 + 8 * $0, 4) })
    file.set(file.integer(132 + 8 * shard, 4) + 1, at: 132 + 8 * shard, count: 4)
    file.sealFirstBlock()
    file.put(on: disk)
    #expect(try Journal.verify(disk).report.checkpoint == .damaged)
  }

  /// A chunk dies with the record that refers to it: one that the index wrongly calls dead took its chunks
  /// with it, from segments that it is not in itself.
  @Test func `chunks of a record that it calls dead are kept`() throws {
    let disk = SimulatedDisk()
    var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    var batch = Batch()
    let value = key(500)
    batch.putChunk(ChunkMark(0, isLast: true), of: value, sealedByteCount: 9000) { _ in }
    try journal.commit(&batch, .flushed)
    for number in 0..<200 { try journal.put(key(number), body(number, 1)) }
    batch = Batch()
    batch.put(Self.victim, collection: 1, envelope: WrittenEnvelope(values: [value]), bodyByteCount: 8) { _ in
    }
    try journal.commit(&batch, .flushed)
    for number in 0..<100 where key(number) != Self.victim { try journal.put(key(number), body(number, 2)) }
    try tell(.missing, journal)
    try journal.checkpoint()
    try journal.close()
    journal = try Journal.open(in: disk, options: .small)
    #expect(throws: NotelogError(.damaged, "")) { while try journal.compact().removedSegments > 0 {} }
    try journal.close()
    #expect(try Journal.verify(disk).isSound)
    journal = try Journal.open(in: disk, options: .small)
    #expect(try journal.body(of: Self.victim)?.count == 8)
    try journal.close()
  }
}
