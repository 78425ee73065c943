// The journal against a dictionary: 1,000 seeds × 1,000 operations, with everything that can happen to a
// store mixed in.

@testable import NotelogFormat
@testable import Notelog
@testable import NotelogBase
import NotelogTestSupport
import Testing

/// A journal, what it should hold, and what may be left of it after a crash.
private struct JournalModel {
  typealias State = [Int: [UInt8]]

  struct Wrong: Error, CustomStringConvertible {
    let description: String
  }

  /// One transaction: records by number, nothing where one is deleted.
  private typealias Change = [Int: [UInt8]?]

  private var random: SeededGenerator
  private let options: JournalOptions
  private var disk = SimulatedDisk()
  private let backup = SimulatedDisk()
  private var journal: Journal
  /// What was durable for certain, and the transactions since.
  private var durable: State = [:]
  private var pending: [Change] = []
  private var state: State = [:]
  private var snapshots: [(snapshot: Snapshot, state: State)] = []
  private(set) var step = 0

  init(seed: UInt64) throws {
    random = SeededGenerator(mixing: seed)
    var options = JournalOptions.small
    // Some ids share their fingerprints, or nearly all of them do.
    options.fingerprintBitCount = [64, 12, 3].randomElement(using: &random) ?? 64
    options.compactsAutomatically = random.oneIn(2)
    options.cacheByteCount = random.oneIn(2) ? 0 : 1 << 20
    self.options = options
    disk.allocates = !random.oneIn(4)
    journal = try Journal.create(in: disk, storeID: key(99), options: options)
  }

  mutating func run(_ count: Int) throws {
    while step < count {
      try operate(random.pick(0..<1000))
      step += 1
    }
    try checkAll("at the end")
    try reopen()
    let report = try Journal.verify(disk).report
    try expect(report.verdict == .sound, "verified: \(report.damages) \(report.torn)")
  }

  private mutating func operate(_ choice: Int) throws {
    switch choice {
    case 0..<420: try commit(changeCount: 1)
    case 420..<500: try commit(changeCount: random.pick(2..<8))
    case 500..<900: try check(random.pick(0..<40))
    case 900..<930:
      if snapshots.count < 3 { snapshots.append((journal.snapshot(), state)) }
    case 930..<955: try checkSnapshot()
    case 955..<962: try checkAll("listed")
    case 962..<974: _ = try journal.compact(WorkBudget(byteCount: random.pick(1..<20_000)))
    case 974..<980: _ = try journal.compact()
    case 980..<986: try journal.checkpoint()
    case 986..<988: try journal.synchronize()
    case 988..<991: try reopen()
    case 991..<996: try crash()
    case 996..<998: try backUp()
    default: try expect(journal.scrub().findings.isEmpty, "a scrub found something")
    }
  }

  private mutating func commit(changeCount: Int) throws {
    var change: Change = [:]
    for _ in 0..<changeCount {
      let number = random.pick(0..<40)
      let body = random.bytes(count: random.oneIn(20) ? random.pick(0..<6000) : random.pick(0..<300))
      change[number] = .some(random.oneIn(4) ? nil : body)
    }
    var batch = Batch()
    for (number, body) in change {
      if let body {
        batch.put(key(number), collection: UInt16(number % 3), bodyByteCount: body.count) { bytes in
          bytes.copy(body.rawSpan, at: 0)
        }
      } else {
        batch.delete(key(number), collection: UInt16(number % 3))
      }
    }
    let durability =
      [Durability.buffered, .flushed, .flushed, .durable].randomElement(using: &random) ?? .durable
    try journal.commit(&batch, durability)
    apply(change, to: &state)
    pending.append(change)
    if durability == .durable { noteDurable() }
  }

  private func apply(_ change: Change, to state: inout State) {
    for (number, body) in change { state[number] = body }
  }

  private mutating func noteDurable() {
    durable = state
    pending = []
  }

  private func check(_ number: Int) throws {
    let found = try journal.body(of: key(number))
    try expect(found == state[number], "record \(number) is \(found?.count ?? -1) bytes")
  }

  private func checkAll(_ what: String) throws {
    try expect(try Self.contents(journal) == state, what)
  }

  private static func contents(_ journal: Journal) throws -> State {
    var contents: State = [:]
    for id in try journal.records() {
      guard let body = try journal.body(of: id) else { throw Wrong(description: "listed and not there") }
      contents[Int(id.low)] = body
    }
    return contents
  }

  private mutating func checkSnapshot() throws {
    guard !snapshots.isEmpty else { return }
    let index = random.pick(0..<snapshots.count)
    let (snapshot, expected) = snapshots[index]
    var buffer = ReadBuffer()
    var contents: State = [:]
    for id in try snapshot.records() {
      guard try snapshot.read(id, into: &buffer) != nil else {
        throw Wrong(description: "a snapshot lists what it does not have")
      }
      contents[Int(id.low)] = buffer.body.copiedBytes()
    }
    try expect(contents == expected, "a snapshot of \(expected.count) records has changed")
    for number in 0..<40 where expected[number] == nil {
      try expect(try snapshot.read(key(number), into: &buffer) == nil, "a snapshot sees a later record")
    }
    if random.oneIn(2) { snapshots.remove(at: index) }
  }

  private mutating func reopen() throws {
    snapshots = []
    try journal.close()
    noteDurable()
    journal = try Journal.open(in: disk, options: options)
    try expect(journal.report.verdict == .sound && journal.report.wasClosed, "closed: \(journal.report)")
    // Not always: shards stay in the checkpoint until somebody needs them.
    if random.oneIn(2) { try checkAll("reopened") }
  }

  private mutating func crash() throws {
    snapshots = []
    let loss = LossModel.allCases.randomElement(using: &random) ?? .allLost
    disk = disk.crashImageNow(loss, seed: random.next())
    journal = try Journal.open(in: disk, options: options)
    try expect(journal.report.damages.isEmpty, "after \(loss): \(journal.report.damages)")
    let found = try Self.contents(journal)
    var candidate = durable
    var isFound = found == candidate && (loss.isPowerLoss || pending.isEmpty)
    for (index, change) in pending.enumerated() where !isFound {
      apply(change, to: &candidate)
      isFound = found == candidate && (loss.isPowerLoss || index == pending.count - 1)
    }
    try expect(isFound || found == state, "after \(loss) it is no prefix that holds what was durable")
    state = found
    noteDurable()
  }

  private mutating func backUp() throws {
    let report = try NotelogJournalTests.backUp(disk, to: backup)
    try expect(report.findings.isEmpty, "a backup found \(report.findings)")
    noteDurable()
    let target = SimulatedDisk()
    try expect(try restore(backup, to: target).findings.isEmpty, "a restored store is damaged")
    let restored = try Journal.open(in: target, options: options)
    try expect(restored.report.verdict == .sound, "restored: \(restored.report)")
    try expect(try Self.contents(restored) == state, "a backup holds something else")
    try restored.close()
  }

  private func expect(_ condition: @autoclosure () throws -> Bool, _ message: @autoclosure () -> String)
    throws
  {
    guard try condition() else { throw Wrong(description: message()) }
  }
}

@Suite struct `Model of the journal` {
  @Test func `a journal does what a dictionary does, whatever happens to it`() throws {
    let seeds = TestEffort.seeds(120, of: 20_000, orOnly: "NOTELOG_JOURNAL_SEED")
    let failures = try Threads.map(seeds) { seed -> String? in
      var model: JournalModel?
      do {
        var new = try JournalModel(seed: seed)
        defer { model = new }
        try new.run(1000)
        return nil
      } catch { return "NOTELOG_JOURNAL_SEED=\(seed): step \(model?.step ?? 0): \(error)" }
    }.compactMap(\.self)
    #expect(failures.isEmpty, "\(failures.count): \(failures.prefix(5).joined(separator: "\n"))")
  }
}
