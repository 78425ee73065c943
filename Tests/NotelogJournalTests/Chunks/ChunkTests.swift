// Large values: their chunks live as long as a record names them, whatever happens to the store. FORMAT.md
// §8.

@testable import NotelogBase
@testable import Notelog
import NotelogFormat
import NotelogTestSupport
import Testing

@Suite struct ChunkTests {
  private static let record = key(1)
  private static let value = ID16(low: 7, high: 0x7661_6c75_6500)

  /// What the chunk of a number holds; the last one is shorter.
  private func content(_ number: Int, of count: Int, version: Int = 0) -> [UInt8] {
    var random = SeededGenerator(mixing: UInt64(number), UInt64(version))
    return random.bytes(count: number == count - 1 ? 100 : 1_000)
  }

  private func upload(
    _ value: ID16, count: Int, version: Int = 0, perTransaction: Int = 3, to journal: Journal
  ) throws {
    journal.catalog.chunks.beginUpload(value)
    var batch = Batch()
    for number in 0..<count {
      batch.put(content(number, of: count, version: version), number, isLast: number == count - 1, of: value)
      if batch.count == perTransaction { try journal.commit(&batch, .buffered) }
    }
    try journal.commit(&batch, .buffered)
  }

  private func put(_ id: ID16, naming values: [ID16], _ journal: Journal) throws {
    var batch = Batch()
    batch.put(id, collection: 1, envelope: WrittenEnvelope(values: values), bodyByteCount: 8) { _ in }
    try journal.commit(&batch, .durable)
  }

  /// Whether all of a value's chunks are there, and are what they were.
  private func isWhole(_ value: ID16, count: Int, version: Int = 0, in journal: Journal) throws -> Bool {
    var buffer = ReadBuffer()
    for number in 0..<count {
      guard let mark = try journal.readChunk(UInt32(number), of: value, into: &buffer) else { return false }
      guard mark == ChunkMark(UInt32(number), isLast: number == count - 1),
        buffer.body.copiedBytes() == content(number, of: count, version: version)
      else { return false }
    }
    return try journal.readChunk(UInt32(count), of: value, into: &buffer) == nil
  }

  /// Fills segments, so that compaction has something to do.
  private func churn(_ journal: Journal, _ rounds: Int = 4) throws {
    for round in 0..<rounds {
      for number in 100..<140 { try journal.put(key(number), [UInt8](repeating: UInt8(round), count: 300)) }
    }
  }

  @Test(arguments: [true, false])
  func `INV-V1 chunks live as long as a live record names their value`(isReopened: Bool) throws {
    let store = try TemporaryStore()
    var journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    func reopen() throws {
      guard isReopened else { return }
      try journal.close()
      journal = try Journal.open(in: store.storage, options: .small)
    }
    try upload(Self.value, count: 60, to: journal)
    try put(Self.record, naming: [Self.value], journal)
    journal.catalog.chunks.endUpload(Self.value)
    try churn(journal)
    try reopen()
    // Another version of the record that names the value too.
    try put(Self.record, naming: [Self.value], journal)
    for _ in 0..<2 {
      _ = try journal.compact()
      #expect(try isWhole(Self.value, count: 60, in: journal))
      try churn(journal, 1)
      try reopen()
    }
    let with = journal.statistics.segments.byteCount
    try put(Self.record, naming: [], journal)
    try reopen()
    _ = try journal.compact()
    var buffer = ReadBuffer()
    #expect(try journal.readChunk(0, of: Self.value, into: &buffer) == nil)
    #expect(journal.statistics.segments.byteCount < with - 50_000)
    #expect(try Journal.verify(store.storage).report.damages == [])
  }

  @Test func `the automatic policy counts chunks as live, and frees those that died`() throws {
    let store = try TemporaryStore()
    var journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    try upload(Self.value, count: 200, to: journal)
    try put(Self.record, naming: [Self.value], journal)
    journal.catalog.chunks.endUpload(Self.value)
    try journal.close()
    // Opened again, it is not known yet which chunks live: by the records alone, nearly all of the store
    // would be dead.
    journal = try Journal.open(in: store.storage, options: .small)
    let written = journal.statistics.segments.byteCount
    for _ in 0..<3 { try journal.compactIfDue() }
    #expect(journal.catalog.segments.liveByteCount > 200_000)
    #expect(journal.statistics.segments.byteCount > written - 50_000)
    #expect(try isWhole(Self.value, count: 200, in: journal))
    try put(Self.record, naming: [], journal)
    try journal.compactIfDue()
    #expect(journal.statistics.segments.byteCount < 100_000)
    #expect(try Journal.verify(store.storage).report.damages == [])
  }

  @Test func `an upload that no record refers to goes with the next compaction, and not before it has ended`()
    throws
  {
    let store = try TemporaryStore()
    var journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    try churn(journal)
    try upload(Self.value, count: 40, to: journal)
    try churn(journal)
    _ = try journal.compact()
    #expect(try isWhole(Self.value, count: 40, in: journal))
    let with = journal.statistics.segments.byteCount
    journal.catalog.chunks.endUpload(Self.value)
    _ = try journal.compact()
    #expect(journal.statistics.segments.byteCount < with - 30_000)
    // A process that dies in an upload leaves nothing that lives either.
    try upload(Self.value, count: 40, version: 1, to: journal)
    try journal.close()
    journal = try Journal.open(in: store.storage, options: .small)
    _ = try journal.compact()
    #expect(journal.statistics.segments.byteCount < with - 30_000)
    #expect(try Journal.verify(store.storage).report.damages == [])
  }

  @Test(arguments: [true, false])
  func `a snapshot keeps the large values of its records`(isKnown: Bool) throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    try upload(Self.value, count: 30, to: journal)
    try put(Self.record, naming: [Self.value], journal)
    journal.catalog.chunks.endUpload(Self.value)
    // Whether it was known where chunks are when the snapshot was made must make no difference.
    if isKnown { try journal.loadChunks() }
    var snapshot: Snapshot? = journal.snapshot()
    try journal.delete(Self.record)
    try churn(journal)
    _ = try journal.compact()
    try churn(journal)
    _ = try journal.compact()
    #expect(try isWhole(Self.value, count: 30, in: journal))
    var buffer = ReadBuffer()
    #expect(try snapshot?.read(Self.record, into: &buffer) != nil)
    let with = journal.statistics.segments.byteCount
    snapshot = nil
    _ = try journal.compact()
    #expect(try journal.readChunk(0, of: Self.value, into: &buffer) == nil)
    #expect(journal.statistics.segments.byteCount < with - 20_000)
  }

  @Test func `a store that was not closed keeps the chunks of closed transactions`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try upload(Self.value, count: 50, to: journal)
    var batch = Batch()
    batch.put(Self.record, collection: 1, envelope: WrittenEnvelope(values: [Self.value]), bodyByteCount: 8) {
      _ in
    }
    try journal.commit(&batch, .flushed)
    let killed = disk.crashImageNow(.processKilled)
    for _ in 0..<2 {
      let again = try Journal.open(in: killed, options: .small)
      #expect(try isWhole(Self.value, count: 50, in: again))
      _ = try again.compact()
      #expect(try isWhole(Self.value, count: 50, in: again))
    }
    #expect(try Journal.verify(killed).report.damages == [])
  }

  @Test func `INV-V3 a chunk that is missing is found by verify and by salvage, with its record`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try upload(Self.value, count: 5, to: journal)
    try put(Self.record, naming: [Self.value], journal)
    // A record that names a value of which nothing was ever written.
    try put(key(2), naming: [key(77)], journal)
    try journal.close()
    let report = try Journal.verify(disk).report
    #expect(report.damages.map(\.kind) == [.chunks] && report.damages.first?.record?.bytes == key(2))
    // One bit of the third chunk.
    let name = try #require(disk.fileNames.first { $0.hasSuffix(".journal") })
    var bytes = try #require(disk.contents(name))
    let place = try #require(FrameMap(disk).frames.filter { $0.kind == 3 }.dropFirst(2).first).range
    bytes[place.lowerBound + 100] ^= 4
    disk.replace(name, with: bytes)
    let damages = try Journal.verify(disk).report.damages
    #expect(damages.contains { $0.kind == .payload && $0.record?.bytes == Self.record })
    let again = try Journal.open(in: disk, options: .small)
    var buffer = ReadBuffer()
    #expect(try again.readChunk(1, of: Self.value, into: &buffer) != nil)
    // Where no footer lists it, not even its number is known.
    let third = try? again.readChunk(2, of: Self.value, into: &buffer)
    #expect(third == nil)
    try again.close()
    let target = SimulatedDisk()
    let saved = try Journal.salvage(from: disk, to: target)
    #expect(saved.chunkCount == 4)
    #expect(
      Set(saved.losses.filter { $0.kind == .largeValue }.compactMap(\.record?.bytes)) == [
        Self.record, key(2),
      ])
  }

  @Test func `salvage saves the chunks of what it saves, and no others`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try upload(Self.value, count: 20, to: journal)
    try put(Self.record, naming: [Self.value], journal)
    try upload(key(78), count: 20, version: 1, to: journal)
    try journal.close()
    let target = SimulatedDisk()
    let saved = try Journal.salvage(from: disk, to: target)
    #expect(saved.chunkCount == 20 && saved.losses.isEmpty)
    let again = try Journal.open(in: target, options: .small)
    #expect(try isWhole(Self.value, count: 20, in: again))
    var buffer = ReadBuffer()
    #expect(try again.readChunk(0, of: key(78), into: &buffer) == nil)
  }

  @Test func `chunks are read while compaction moves them and writers replace values`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    let count = 25
    @Sendable func value(_ number: Int, _ version: Int) -> ID16 {
      ID16(low: UInt64(number), high: UInt64(version + 1))
    }
    for number in 0..<4 {
      try upload(value(number, 0), count: count, to: journal)
      try put(key(number), naming: [value(number, 0)], journal)
      journal.catalog.chunks.endUpload(value(number, 0))
    }
    try Threads.run(4) { thread in
      for round in 0..<20 {
        switch thread {
        case 0:
          _ = try journal.compact()
        case 1:
          // Record 3 gets one new value after another.
          let new = value(3, round + 1)
          try upload(new, count: count, version: round + 1, to: journal)
          try put(key(3), naming: [new], journal)
          journal.catalog.chunks.endUpload(new)
        case 2:
          try churn(journal, 1)
        default:
          for number in 0..<3 { #expect(try isWhole(value(number, 0), count: count, in: journal)) }
        }
      }
    }
    #expect(try isWhole(value(3, 20), count: count, version: 20, in: journal))
    _ = try journal.compact()
    var buffer = ReadBuffer()
    for version in 0..<20 { #expect(try journal.readChunk(0, of: value(3, version), into: &buffer) == nil) }
    try journal.close()
    #expect(try Journal.verify(store.storage).report.damages == [])
  }
}

extension Batch {
  fileprivate mutating func put(_ content: [UInt8], _ number: Int, isLast: Bool, of value: ID16) {
    putChunk(ChunkMark(UInt32(number), isLast: isLast), of: value, sealedByteCount: content.count) { bytes in
      bytes.copy(content.rawSpan, at: 0)
    }
  }
}
