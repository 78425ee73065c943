// One process follows what others commit, through compactions, recoveries and hand-overs: FORMAT.md §25.

import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct `Model of following` {
  /// What is committed, and the moments that somebody has kept.
  private struct Bench {
    let disk = SimulatedDisk()
    var model: [ID16: [UInt8]] = [:]
    var random: SeededGenerator
    var writer: Journal
    let options: JournalOptions

    init(seed: UInt64, _ options: JournalOptions) throws {
      random = SeededGenerator(seed: seed)
      self.options = options
      writer = try Journal.create(in: disk, storeID: key(99), options: options)
    }

    mutating func write() throws {
      var batch = Batch()
      var changed = model
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let id = key(Int.random(in: 0..<120, using: &random))
        if Int.random(in: 0..<5, using: &random) == 0 {
          batch.delete(id, collection: 1)
          changed[id] = nil
        } else {
          let body = random.bytes(count: Int.random(in: 0..<300, using: &random))
          batch.put(id, collection: 1, bodyByteCount: body.count) { $0.copy(body.rawSpan, at: 0) }
          changed[id] = body
        }
      }
      try writer.commit(&batch, [.buffered, .flushed, .durable].randomElement(using: &random) ?? .durable)
      model = changed
    }

    /// Ends the writer as a kill does: nothing more is written, what was written stays.
    mutating func kill() throws {
      try writer.abandon()
      writer = try Journal.open(in: disk, options: options)
    }

    mutating func reopen() throws {
      try writer.close()
      writer = try Journal.open(in: disk, options: options)
    }
  }

  private static func contents(_ journal: Journal) throws -> [ID16: [UInt8]] {
    var contents: [ID16: [UInt8]] = [:]
    for id in try journal.records() {
      contents[id] = try journal.body(of: id)
    }
    return contents
  }

  private static func contents(_ snapshot: Snapshot) throws -> [ID16: [UInt8]] {
    var contents: [ID16: [UInt8]] = [:]
    var buffer = ReadBuffer()
    for id in try snapshot.records() {
      guard try snapshot.read(id, into: &buffer) != nil else { continue }
      contents[id] = buffer.body.array()
    }
    return contents
  }

  /// INV-P2, INV-P3.
  @Test(arguments: TestEffort.sample(0..<1000, 24))
  func `a follower has what was committed, and its snapshots what they had`(seed: Int) throws {
    var options = JournalOptions.small
    options.compactsAutomatically = seed % 3 == 0
    options.checkpointTail = 60
    if seed % 4 == 1 { options.fingerprintBitCount = 6 }
    var bench = try Bench(seed: UInt64(seed), options)
    try bench.write()
    var reading = options
    reading.isReadOnly = true
    let follower = try Journal.open(in: bench.disk, options: reading)
    var told = Told()
    let box = told
    follower.log.watch.set { sequences, _ in box.note(sequences) }
    var kept: [(snapshot: Snapshot, model: [ID16: [UInt8]])] = []
    for step in 0..<160 {
      switch Int.random(in: 0..<24, using: &bench.random) {
      case 0: _ = try bench.writer.compact()
      case 1: try bench.writer.checkpoint()
      case 2: try bench.reopen()
      case 3: try bench.kill()
      case 4:
        try bench.writer.suspend()
        #expect(throws: NotelogError(.suspended, "")) { try bench.write() }
        try bench.writer.resume()
      default: try bench.write()
      }
      guard Int.random(in: 0..<3, using: &bench.random) == 0 else { continue }
      try follower.refresh()
      try #require(try Self.contents(follower) == bench.model, "seed \(seed), step \(step)")
      for (index, moment) in kept.enumerated() {
        try #require(
          try Self.contents(moment.snapshot) == moment.model, "seed \(seed), step \(step), snapshot \(index)")
      }
      if kept.count < 4 { kept.append((follower.snapshot(), bench.model)) }
      if Bool.random(using: &bench.random), !kept.isEmpty { kept.removeFirst() }
      #expect(try follower.refresh() == false)
    }
    told = box
    #expect(told.isAscending)
    try follower.refresh()
    let statistics = (
      follower.statistics.segments.liveByteCount, bench.writer.statistics.segments.liveByteCount
    )
    #expect(statistics.0 == statistics.1, "seed \(seed)")
    kept = []
    try follower.close()
    try bench.writer.close()
  }

  @Test func `a store that held nothing when it was lent is followed too`() throws {
    let disk = SimulatedDisk()
    let (first, options) = (
      try Journal.create(in: disk, storeID: key(99), options: .small), JournalOptions.small
    )
    let reader = try Journal.open(in: disk, options: Self.reading)
    try first.suspend()
    let second = try Journal.open(in: disk, options: options)
    try second.put(key(1), [1])
    #expect(try first.refresh())
    #expect(try reader.refresh())
    #expect(try first.body(of: key(1)) == [1])
    #expect(try reader.body(of: key(1)) == [1])
    try second.close()
    try first.resume()
    try first.put(key(2), [2])
    #expect(try reader.refresh())
    #expect(try Self.contents(reader) == [key(1): [1], key(2): [2]])
    try first.close()
  }

  /// The bug: the number of a transaction that was half written was taken for used, and the reader waited for
  /// the next one for ever.
  @Test(arguments: [false, true])
  func `a reader that is opened while somebody writes hears of what was being written`(isFirstOfTwo: Bool)
    throws
  {
    let disk = SimulatedDisk()
    let writer = try Journal.create(in: disk, storeID: key(99), options: .small)
    var ends: [LogPosition] = []
    for number in 1...5 {
      try writer.put(key(number), [UInt8(number)], number < 4 ? .durable : .flushed)
      ends.append(writer.log.state.withLock { $0.visibleEnd })
    }
    let markByteCount = Layout.frameHeaderByteCount + CommitMark.byteCount
    let missing =
      isFirstOfTwo ? ends[2].offset..<ends[3].offset : ends[4].offset - markByteCount..<ends[4].offset
    let file = try disk.open(FileName.segment(ends[4].segment), .update)
    var written = Buffer()
    var zeros = Buffer()
    #expect(try written.fill(missing.count, from: file, at: missing.lowerBound) == missing.count)
    zeros.appendZeros(missing.count)
    try file.writeAll(zeros.bytes, at: missing.lowerBound)
    let reader = try Journal.open(in: disk, options: Self.reading)
    #expect(try Self.contents(reader).count == (isFirstOfTwo ? 3 : 4))
    #expect(try !reader.refresh())
    try file.writeAll(written.bytes, at: missing.lowerBound)
    #expect(try reader.refresh())
    #expect(try Self.contents(reader) == Self.contents(writer))
    #expect(reader.lastSequence == writer.lastSequence)
  }

  /// The bug: a process that opened a store failed with an input/output error, because another one closed it
  /// and cut its last segment.
  @Test func `what a reader expects next is told without a look behind the end, which may be cut`() throws {
    let disk = SimulatedDisk()
    let writer = try Journal.create(in: disk, storeID: key(99), options: .small)
    var ends: [LogPosition] = []
    for number in 1...4 {
      try writer.put(key(number), [UInt8(number)], number < 3 ? .durable : .flushed)
      ends.append(writer.log.state.withLock { $0.visibleEnd })
    }
    let file = try disk.open(FileName.segment(ends[1].segment), .update)
    var zeros = Buffer()
    zeros.appendZeros(ends[2].offset - ends[1].offset)
    try file.writeAll(zeros.bytes, at: ends[1].offset)
    let examination = try Examination(disk, storeID: nil)
    try file.truncate(to: ends[1].offset)
    #expect(examination.nextSequence == 5)
    #expect(try examination.nextVisible() == 3)
  }

  /// What another process has only flushed is not durable before that one gives the lock back.
  @Test func `an empty durable commit waits for who has the lock`() throws {
    let disk = SimulatedDisk()
    var leased = JournalOptions.small
    leased.isLeased = true
    let first = try Journal.create(in: disk, storeID: key(99), options: leased)
    let second = try Journal.open(in: disk, options: leased)
    try first.put(key(1), [1], .flushed)
    #expect(try second.refresh())
    var batch = Batch()
    #expect(throws: NotelogError(.busy, "")) { try second.commit(&batch, .durable) }
    try first.suspend()
    #expect(try second.commit(&batch, .durable) == first.lastSequence)
    let image = disk.crashImageNow(.allLost, seed: 1)
    #expect(try Journal.open(in: image, options: .small).body(of: key(1)) == [1])
  }

  /// Whoever closes the store cuts its last segment while it is read, and the next writer goes on in it.
  @Test func `a read that fails once is tried again, and one that keeps failing is heard`() throws {
    let disk = SimulatedDisk()
    let writer = try Journal.create(in: disk, storeID: key(99), options: .small)
    try writer.put(key(1), [1])
    let reader = try Journal.open(in: disk, options: Self.reading)
    try writer.put(key(2), [2])
    disk.plan(Fault(.error(SystemErrno.inputOutput), of: [.read], passing: 0, lasts: true))
    #expect(throws: NotelogError(.inputOutput, "")) { try reader.refresh() }
    disk.forgetFaults()
    disk.plan(Fault(.error(SystemErrno.inputOutput), of: [.read], passing: 0))
    #expect(try reader.refresh())
    #expect(try reader.body(of: key(2)) == [2])
  }

  /// The lock stays where others might still be writing, or would take what is being uploaded for dead.
  @Test func `a log that failed, and one that a large value is being uploaded to, are not lent`() throws {
    let bench = try Bench(seed: 2, .small)
    bench.writer.catalog.chunks.beginUpload(key(7))
    #expect(throws: NotelogError(.busy, "")) { try bench.writer.suspend() }
    #expect(bench.writer.holdsLock)
    bench.writer.catalog.chunks.endUpload(key(7))
    try bench.writer.suspend()
    try bench.writer.resume()
    bench.disk.plan(Fault(.error(SystemErrno.inputOutput), of: [.write], passing: 0))
    #expect(throws: NotelogError(.poisoned, "")) { try bench.writer.put(key(1), [1]) }
    #expect(throws: NotelogError(.poisoned, "")) { try bench.writer.suspend() }
    #expect(bench.writer.holdsLock)
    try? bench.writer.close()
  }

  /// Who goes on writing without what others committed would overwrite it.
  @Test func `a log that can't be followed to its end is not gone on with`() throws {
    let disk = SimulatedDisk()
    let first = try Journal.create(in: disk, storeID: key(99), options: .small)
    try first.put(key(1), [1])
    try first.suspend()
    let second = try Journal.open(in: disk, options: .small)
    for number in 2..<6 { try second.put(key(number), [UInt8](repeating: 9, count: 100), .durable) }
    let place = try #require(try second.catalog.location(of: key(3)))
    try second.close()
    let name = FileName.segment(place.segment)
    var bytes = try #require(disk.contents(name))
    bytes[Int(place.offset) + 60] ^= 1
    let file = try disk.open(name, .update)
    try file.writeAll(bytes.rawSpan, at: 0)
    file.close()
    #expect(throws: NotelogError(.damaged, "")) { try first.resume() }
    #expect(!first.holdsLock)
    #expect(throws: NotelogError(.suspended, "")) { try first.put(key(1), [2]) }
    try first.close()
  }

  /// INV-P1: reading, following and closing leave every file as it was.
  @Test func `a process that does not hold the lock changes nothing`() throws {
    var bench = try Bench(seed: 1, .small)
    for _ in 0..<60 { try bench.write() }
    let other = try Journal.open(in: bench.disk, options: Self.reading)
    try bench.writer.suspend()
    let files = {
      Dictionary(uniqueKeysWithValues: bench.disk.fileNames.map { ($0, bench.disk.contents($0)) })
    }
    let before = files()
    try bench.writer.refresh()
    try #require(try Self.contents(bench.writer) == bench.model)
    #expect(throws: NotelogError(.suspended, "")) { try bench.write() }
    #expect(throws: NotelogError(.suspended, "")) { try bench.writer.compact() }
    #expect(throws: NotelogError(.suspended, "")) { try bench.writer.checkpoint() }
    #expect(throws: NotelogError(.suspended, "")) { try bench.writer.compactIfDue() }
    try other.refresh()
    try other.close()
    try bench.writer.close()
    #expect(files() == before)
  }

  private static var reading: JournalOptions {
    var options = JournalOptions.small
    options.isReadOnly = true
    return options
  }

  /// Two processes that write in turns, each of which takes in what the other did.
  @Test(arguments: TestEffort.sample(0..<500, 16))
  func `who takes the lock again goes on where the other ended`(seed: Int) throws {
    var options = JournalOptions.small
    options.checkpointTail = 60
    options.isLeased = true
    var bench = try Bench(seed: UInt64(seed + 1000), options)
    try bench.write()
    try bench.writer.suspend()
    var other = try Journal.open(in: bench.disk, options: options)
    try other.suspend()
    for step in 0..<120 {
      swap(&bench.writer, &other)
      for _ in 0..<Int.random(in: 1...3, using: &bench.random) {
        switch Int.random(in: 0..<16, using: &bench.random) {
        case 0: _ = try bench.writer.compact()
        case 1: try bench.writer.checkpoint()
        case 2: try bench.reopen()
        case 3: try bench.kill()
        default: try bench.write()
        }
        try #require(try Self.contents(bench.writer) == bench.model, "seed \(seed), step \(step)")
      }
      if step % 7 == 3 {
        // It dies without a word, and the other takes over.
        try bench.writer.abandon()
        bench.writer = try Journal.open(in: bench.disk, options: options)
      }
      try bench.writer.suspend()
      if step % 3 == 0 {
        try other.refresh()
        try #require(try Self.contents(other) == bench.model, "seed \(seed), step \(step)")
      }
    }
    try bench.writer.close()
    try other.close()
    let journal = try Journal.open(in: bench.disk, options: options)
    #expect(try Self.contents(journal) == bench.model)
    #expect(journal.report.verdict == .sound)
    try journal.close()
  }
}

/// What a watcher was told.
private final class Told: Sendable {
  private let state = Lock((last: UInt64(0), isAscending: true))

  var isAscending: Bool { state.withLock { $0.isAscending } }

  func note(_ sequences: ClosedRange<UInt64>) {
    state.withLock { state in
      if sequences.lowerBound <= state.last { state.isAscending = false }
      state.last = sequences.upperBound
    }
  }
}
