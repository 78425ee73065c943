// What others do in the middle of a follower's look at the log: FORMAT.md §25, "Following". The cases are
// those of Tests/Models/following.pml.

import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

/// A disk at one of whose calls something happens first, as if the process had been stopped there meanwhile.
private final class InterruptedStorage: ForwardingStorage {
  private struct State {
    var passing = 0
    var action: (@Sendable () -> Void)?
  }

  let base: any Storage
  private let state = Lock(State())

  init(_ base: SimulatedDisk) { self.base = base }

  /// Has something happen before a call, after so many have passed.
  func plan(passing: Int, _ action: @escaping @Sendable () -> Void) {
    state.withLock { $0 = State(passing: passing, action: action) }
  }

  /// Whether it is still to happen.
  var isPlanned: Bool { state.withLock { $0.action != nil } }
  func forgetPlan() { state.withLock { $0.action = nil } }

  fileprivate func beginCall() {
    let action = state.withLock { state -> (@Sendable () -> Void)? in
      state.passing -= 1
      guard state.passing < 0 else { return nil }
      defer { state.action = nil }
      return state.action
    }
    action?()
  }

  func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    beginCall()
    return File(try base.open(name, mode), self)
  }

  func forEachName(in folder: String, _ visit: (Span<UInt8>) -> Void) throws(StorageError) {
    beginCall()
    try base.forEachName(in: folder, visit)
  }

  private final class File: ForwardingFile {
    let base: any StorageFile
    private let storage: InterruptedStorage

    init(_ base: any StorageFile, _ storage: InterruptedStorage) {
      self.base = base
      self.storage = storage
    }

    func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
      storage.beginCall()
      return try base.read(into: &bytes, at: offset)
    }

    func byteCount() throws(StorageError) -> Int {
      storage.beginCall()
      return try base.byteCount()
    }
  }
}

/// What a follower was told of.
private final class Heard: Sendable {
  private let state = Lock((all: [ClosedRange<UInt64>](), isAscending: true))

  func note(_ sequences: ClosedRange<UInt64>) {
    state.withLock { state in
      if let last = state.all.last, sequences.lowerBound <= last.upperBound { state.isAscending = false }
      state.all.append(sequences)
    }
  }

  var isAscending: Bool { state.withLock { $0.isAscending } }
  func holds(_ sequence: UInt64) -> Bool { state.withLock { $0.all.contains { $0.contains(sequence) } } }
}

/// Who writes, as one or several processes after each other.
// SAFETY: one thread uses it; the follower's calls run what is planned on the same.
private final class Bench: @unchecked Sendable {
  let disk = SimulatedDisk()
  var random: SeededGenerator
  /// Nothing where a process has died and no other one has come yet.
  private var running: Journal?
  var model: [ID16: [UInt8]] = [:]
  var sequences: [UInt64] = []

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    running = try Journal.create(in: disk, storeID: key(99), options: .small)
  }

  /// The process that writes; another one where the last has died.
  func writer() throws -> Journal {
    if let running { return running }
    let journal = try Journal.open(in: disk, options: .small)
    running = journal
    // What was under way is there or not.
    model = try contents(journal)
    return journal
  }

  func write(_ durability: Durability) throws {
    let journal = try writer()
    var batch = Batch()
    var changed = model
    for _ in 0..<random.pick(1..<4) {
      let id = key(random.pick(0..<10))
      if random.oneIn(4) {
        batch.delete(id, collection: 1)
        changed[id] = nil
      } else {
        let body = random.bytes(count: random.pick(0..<1500))
        batch.put(id, collection: 1, bodyByteCount: body.count) { $0.copy(body.rawSpan, at: 0) }
        changed[id] = body
      }
    }
    sequences.append(try journal.commit(&batch, durability))
    model = changed
  }

  /// Ends the writer as a kill does, at one of its next calls or at once; perhaps the next one dies too,
  /// while it recovers.
  private func kill() throws {
    let journal = try writer()
    if random.oneIn(2) {
      failFrom(random.pick(0..<40))
      try? write(.flushed)
      _ = try? journal.compact()
      for _ in 0..<8 { try? write(.flushed) }
      disk.forgetFaults()
    }
    try journal.abandon()
    running = nil
    guard random.oneIn(2) else { return }
    failFrom(random.pick(0..<90))
    let next = try? Journal.open(in: disk, options: .small)
    disk.forgetFaults()
    try next?.abandon()
  }

  private func failFrom(_ call: Int) {
    disk.plan(Fault(.error(SystemErrno.inputOutput), of: .everyCall, passing: call, lasts: true))
  }

  func act() throws {
    switch random.pick(0..<8) {
    case 0: _ = try writer().compact()
    case 1:
      try writer().suspend()
      try writer().resume()
    case 2, 3: try kill()
    case 4: for _ in 0..<12 { try write(.flushed) }
    case 5:
      // What is below the floor stays in its segment, what is above it is moved.
      try write(.durable)
      try write(.flushed)
      try kill()
    default: try write(random.oneIn(2) ? .durable : .flushed)
    }
  }
}

private func contents(_ journal: Journal) throws -> [ID16: [UInt8]] {
  var contents: [ID16: [UInt8]] = [:]
  for id in try journal.records() { contents[id] = try journal.body(of: id) }
  return contents
}

/// What a snapshot has of each record.
private func contents(_ snapshot: Snapshot) throws -> [ID16: [UInt8]] {
  var contents: [ID16: [UInt8]] = [:]
  var buffer = ReadBuffer()
  for number in 0..<10 where try snapshot.read(key(number), into: &buffer) != nil {
    contents[key(number)] = buffer.body.array()
  }
  #expect(try snapshot.records() == contents.keys.sorted())
  return contents
}

@Suite struct `Model of an interrupted look` {
  /// The bugs: a transaction that was committed between two calls of a look went by, unheard or unseen, where
  /// its writer died before the third and the next process had recovered by then, or several segments had
  /// come and gone.
  @Test(arguments: TestEffort.sample(0..<1000, 51))
  func `whatever others do between two calls of a look, everything is heard and seen`(seed: Int) throws {
    for passing in 0..<200 {
      let bench = try Bench(seed: UInt64(seed))
      for _ in 0..<bench.random.pick(1..<6) { try bench.write(.durable) }
      // It may open the store in the middle of a recovery.
      for _ in 0..<bench.random.pick(0..<3) { try bench.act() }
      let storage = InterruptedStorage(bench.disk)
      var options = JournalOptions.small
      options.isReadOnly = true
      let follower = try Journal.open(in: storage, options: options)
      let first = follower.lastSequence + 1
      let heard = Heard()
      follower.log.watch.set { sequences, _ in heard.note(sequences) }
      for _ in 0..<bench.random.pick(0..<3) { try bench.act() }
      let failure = Lock<(any Error)?>(nil)
      storage.plan(passing: passing) {
        do { for _ in 0..<bench.random.pick(1..<6) { try bench.act() } } catch {
          failure.withLock { $0 = error }
        }
      }
      // Whatever state the others leave, nothing in it is damage.
      try follower.refresh()
      let isOver = storage.isPlanned
      storage.forgetPlan()
      if let error = failure.withLock({ $0 }) { throw error }
      let writer = try bench.writer()
      try follower.refresh()
      let place = "seed \(seed), call \(passing)"
      try #require(try contents(follower) == bench.model, "\(place)")
      for sequence in bench.sequences where sequence >= first {
        try #require(heard.holds(sequence), "\(place): transaction \(sequence) was not heard of")
      }
      try #require(heard.isAscending, "\(place)")
      let byteCounts = (follower.statistics.segments.liveByteCount, writer.statistics.segments.liveByteCount)
      try #require(byteCounts.0 == byteCounts.1, "\(place)")
      try follower.close()
      try writer.close()
      if isOver { return }
    }
    Issue.record("seed \(seed): a look of so many calls")
  }

  /// The bug: a look came to a gap behind transactions that it had taken in itself. A snapshot made between
  /// two of those no longer had what was deleted in the gap.
  @Test(arguments: TestEffort.sample(0..<1000, 51))
  func `a snapshot that is made between two transactions of a look stays as it was`(seed: Int) throws {
    for passing in 0..<200 {
      let bench = try Bench(seed: UInt64(seed))
      for _ in 0..<bench.random.pick(1..<6) { try bench.write(.durable) }
      var options = JournalOptions.small
      options.isReadOnly = true
      let follower = try Journal.open(in: bench.disk, options: options)
      let keeper = SnapshotKeeper(follower, passing: passing)
      follower.orderKeeper.withLock { $0 = keeper }
      for _ in 0..<bench.random.pick(1..<9) { try bench.act() }
      try follower.refresh()
      let kept = keeper.kept
      if let kept {
        try #require(try contents(kept.snapshot) == kept.contents, "seed \(seed), transaction \(passing)")
      }
      try follower.close()
      try bench.writer().close()
      if kept == nil { return }
    }
    Issue.record("seed \(seed): a look of so many transactions")
  }
}

/// Makes a snapshot behind one of the transactions that a look takes in.
private final class SnapshotKeeper: OrderKeeper {
  private struct State {
    var passing: Int
    var kept: (snapshot: Snapshot, contents: [ID16: [UInt8]])?
  }

  private unowned let journal: Journal
  private let state: Lock<State>

  init(_ journal: Journal, passing: Int) {
    self.journal = journal
    state = Lock(State(passing: passing))
  }

  /// The snapshot, and what it had when it was made.
  var kept: (snapshot: Snapshot, contents: [ID16: [UInt8]])? { state.withLock { $0.kept } }

  func end(_ ticket: UInt64) {
    // Who wants a snapshot now waits until all is in its place.
    if journal.catalog.arrangement.isHeldByThisThread { return }
    let isDue = state.withLock { state in
      state.passing -= 1
      return state.passing == -1
    }
    guard isDue else { return }
    let snapshot = journal.snapshot()
    guard let contents = try? contents(snapshot) else { return }
    state.withLock { $0.kept = (snapshot, contents) }
  }

  func begin(_ frames: [PendingFrame], _ bytes: RawSpan) -> UInt64 { 0 }
  var unstored: [OrderName] { [] }
  func distrustAll() {}
  func store(in journal: Journal, carrying: [StoredOrder]?) {}
}

@Suite struct `Openings in the middle of a recovery` {
  /// The bug: who opened the store before recovery had cut a segment kept its old file, in which no footer
  /// was. Once a compaction had taken the segment, each look failed with an input/output error.
  @Test(arguments: [false, true], [false, true])
  func `who opens the store at any call of a recovery follows it to a compaction of everything`(
    looksAtRecovery: Bool, looksAtCommit: Bool
  ) throws {
    var reading = JournalOptions.small
    reading.isReadOnly = true
    var openings = 0
    for passing in 0..<400 {
      let disk = SimulatedDisk()
      var writer = try Journal.create(in: disk, storeID: key(99), options: .small)
      for number in 1...6 {
        try writer.put(
          key(number), [UInt8](repeating: UInt8(number), count: 100), number < 4 ? .durable : .flushed)
      }
      try writer.abandon()
      disk.plan(Fault(.error(SystemErrno.inputOutput), of: .everyCall, passing: passing, lasts: true))
      let interrupted = try? Journal.open(in: disk, options: .small)
      disk.forgetFaults()
      try interrupted?.abandon()
      let follower = try Journal.open(in: disk, options: reading)
      if follower.catalog.segments.all.contains(where: { $0.cutEnd != nil }) { openings += 1 }
      writer = try Journal.open(in: disk, options: .small)
      if looksAtRecovery {
        try follower.refresh()
        #expect(follower.catalog.segments.all.allSatisfy { $0.cutEnd == nil }, "call \(passing)")
      }
      try writer.put(key(7), [7], .durable)
      if looksAtCommit { try follower.refresh() }
      _ = try writer.compact()
      try follower.refresh()
      let place = "call \(passing)"
      #expect(try contents(follower) == contents(writer), "\(place)")
      #expect(
        follower.statistics.segments.liveByteCount == writer.statistics.segments.liveByteCount, "\(place)")
      try follower.close()
      try writer.close()
      if interrupted != nil { break }
    }
    #expect(openings > 0)
  }

  /// What a compaction has taken in is gone; whether its footer still checks for who has the file open is no
  /// reason to see nothing of what came after.
  @Test func `a compacted segment is taken in also where a source's footer can't be read any more`() throws {
    let disk = SimulatedDisk()
    let writer = try Journal.create(in: disk, storeID: key(99), options: .small)
    for number in 0..<60 { try writer.put(key(number), [UInt8](repeating: 1, count: 900), .durable) }
    for number in 0..<30 { try writer.put(key(number), [UInt8](repeating: 2, count: 900), .durable) }
    var reading = JournalOptions.small
    reading.isReadOnly = true
    let follower = try Journal.open(in: disk, options: reading)
    let source = try #require(follower.catalog.segments.all.first { $0.entry != nil })
    let file = try disk.open(source.name, .update)
    _ = try writer.compact()
    #expect(!disk.fileNames.contains(source.name))
    var zeros = Buffer()
    zeros.appendZeros(64)
    try file.writeAll(zeros.bytes, at: source.byteCount - 64)
    try follower.refresh()
    #expect(try contents(follower) == contents(writer))
    #expect(follower.statistics.segments.liveByteCount == writer.statistics.segments.liveByteCount)
    try follower.close()
    try writer.close()
  }

  /// The bug: of two frames of a record in one transaction a compaction copies the later one, and the earlier
  /// one looks the same. Where that could not be told, as a read failed, the rest was taken in; the next look
  /// began behind it, the sources went, and nobody found the record any more.
  @Test(arguments: [false, true], [false, true])
  func `a look that fails at any read of a compaction loses no record, nor does the next`(
    breaksFooter: Bool, isLasting: Bool
  ) throws {
    var reading = JournalOptions.small
    reading.isReadOnly = true
    for passing in stride(from: 0, to: 1000, by: isLasting ? 5 : 1) {
      let disk = SimulatedDisk()
      let writer = try Journal.create(in: disk, storeID: key(99), options: .small)
      for number in 0..<20 {
        var batch = Batch()
        for byte in [1, 2] as [UInt8] {
          let body = [UInt8](repeating: byte, count: 900)
          batch.put(key(number), collection: 1, bodyByteCount: body.count) { $0.copy(body.rawSpan, at: 0) }
        }
        try writer.commit(&batch, .durable)
      }
      let follower = try Journal.open(in: disk, options: reading)
      let source = try #require(follower.catalog.segments.all.first { $0.entry != nil })
      let file = try disk.open(source.name, .update)
      _ = try writer.compact()
      #expect(!disk.fileNames.contains(source.name))
      if breaksFooter {
        try file.writeAll([UInt8](repeating: 0, count: 64).rawSpan, at: source.byteCount - 64)
      }
      let model = try contents(writer)
      disk.plan(Fault(.error(SystemErrno.inputOutput), of: [.read], passing: passing, lasts: isLasting))
      _ = try? follower.refresh()
      let isOver = disk.firedFaults.isEmpty
      disk.forgetFaults()
      try #require(try contents(follower) == model, "read \(passing)")
      try follower.refresh()
      try #require(try contents(follower) == model, "read \(passing), the next look")
      #expect(
        follower.statistics.segments.liveByteCount == writer.statistics.segments.liveByteCount,
        "read \(passing)")
      try follower.close()
      try writer.close()
      if isOver { return }
    }
    Issue.record("a look of so many reads")
  }
}
