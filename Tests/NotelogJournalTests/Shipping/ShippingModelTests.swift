// Shipping against a history of dictionaries: every moment that was shipped comes back as it was, whatever happens to the
// store, the archive and the machine in between.

@testable import NotelogFormat
@testable import Notelog
import NotelogBase
import NotelogTestSupport
import Testing

/// A journal that is shipped, and what it was after each transaction.
private struct ShippingModel {
  typealias State = [Int: [UInt8]]

  struct Wrong: Error, CustomStringConvertible {
    let description: String
  }

  /// What one branch was.
  struct Line {
    /// What there was after a transaction.
    var states: [(revision: UInt64, state: State)]
    /// When transactions were committed.
    var times: [(revision: UInt64, time: UInt64)] = []
    /// What was shipped, and when.
    var shipped: [(revision: UInt64, time: UInt64)] = []

    func state(at revision: UInt64) -> State { states.last { $0.revision <= revision }?.state ?? [:] }
  }

  private var random: SeededGenerator
  private let options: JournalOptions
  private let clock: Counter
  private var disk = SimulatedDisk()
  private let archive = SimulatedDisk()
  private var journal: Journal
  private var shipper: Shipper
  private var state: State = [:]
  private var lines: [String: Line] = [:]
  private var branch = ""
  private(set) var step = 0
  private(set) var restoreCount = 0
  private(set) var expiredCount = 0

  /// A clock that goes on when it is told to.
  final class Counter: Sendable {
    private let value = Lock<UInt64>(1_000_000)
    var now: UInt64 { value.withLock { $0 } }
    func advance(by count: UInt64) { value.withLock { $0 += count } }
  }

  init(seed: UInt64) throws {
    random = SeededGenerator(mixing: seed)
    var options = JournalOptions.small
    options.compactsAutomatically = random.oneIn(2)
    options.keepsCommitTimes = random.oneIn(2)
    let clock = Counter()
    options.clock = { clock.now }
    (self.options, self.clock) = (options, clock)
    journal = try Journal.create(in: disk, storeID: key(99), options: options)
    try disk.addKeyring()
    shipper = Shipper(disk, to: FolderArchive(archive), clock: { clock.now })
    try begin()
  }

  /// Begins with a branch.
  private mutating func begin() throws {
    branch = String(prefix: try Examination(disk, storeID: nil).newest?.header.branchPrefix ?? 0)
    if lines[branch] == nil { lines[branch] = Line(states: [(journal.lastSequence, state)]) }
  }

  mutating func run(_ count: Int) throws {
    while step < count {
      clock.advance(by: random.next() % 3)
      try operate(random.pick(0..<1000))
      step += 1
    }
    try ship()
    try checkAll()
  }

  private mutating func operate(_ choice: Int) throws {
    switch choice {
    case 0..<600: try commit()
    case 600..<760: try ship()
    case 760..<800: _ = try journal.compact(WorkBudget(byteCount: random.pick(1..<20_000)))
    case 800..<830: _ = try journal.compact()
    case 830..<840: try journal.checkpoint()
    case 840..<870: try reopen()
    case 870..<900: try crash()
    case 900..<910: try goOnFromAnotherMoment()
    case 910..<920: try expire()
    case 920..<930: shipper = newShipper()
    default: try checkOne()
    }
  }

  private func newShipper() -> Shipper {
    let clock = clock
    return Shipper(disk, to: FolderArchive(archive), clock: { clock.now })
  }

  private mutating func commit() throws {
    var batch = Batch()
    var numbers: Set<Int> = []
    for _ in 0..<random.pick(1..<4) { numbers.insert(random.pick(0..<30)) }
    for number in numbers.sorted() {
      if random.oneIn(4) {
        batch.delete(key(number), collection: UInt16(number % 3))
        state[number] = nil
      } else {
        let body = random.bytes(count: random.oneIn(20) ? random.pick(0..<6000) : random.pick(0..<300))
        batch.put(key(number), collection: UInt16(number % 3), bodyByteCount: body.count) {
          $0.copy(body.rawSpan, at: 0)
        }
        state[number] = body
      }
    }
    let durability = [Durability.buffered, .flushed, .durable].randomElement(using: &random) ?? .durable
    let revision = try journal.commit(&batch, durability)
    lines[branch]?.states.append((revision, state))
    lines[branch]?.times.append((revision, clock.now))
  }

  private mutating func ship() throws {
    let summary = try NotelogJournalTests.ship(shipper)
    try expect(summary.findings.isEmpty, "shipping found \(summary.findings)")
    try expect(
      summary.revision == journal.lastSequence, "\(summary.revision) of \(journal.lastSequence) was shipped")
    guard lines[branch]?.shipped.last?.revision != summary.revision else { return }
    // The time of a moment is its last commit's, where that is known.
    let time =
      options.keepsCommitTimes
      ? lines[branch]?.times.last { $0.revision <= summary.revision }?.time : clock.now
    lines[branch]?.shipped.append((summary.revision, time ?? 0))
  }

  private mutating func reopen() throws {
    try journal.close()
    journal = try Journal.open(in: disk, options: options)
  }

  private mutating func crash() throws {
    let loss = LossModel.allCases.randomElement(using: &random) ?? .allLost
    disk = disk.crashImageNow(loss, seed: random.next())
    journal = try Journal.open(in: disk, options: options)
    shipper = newShipper()
    let last = journal.lastSequence
    let shipped = lines[branch]?.shipped.last?.revision ?? 0
    try expect(last >= shipped, "after \(loss) the store ends at \(last), and the archive at \(shipped)")
    state = try Self.contents(journal)
    // The numbers of what was lost may have been seen: they are not given out again.
    let kept = lines[branch]?.states.lastIndex { $0.revision <= last && $0.state == state }
    guard let kept, let line = lines[branch] else {
      throw Wrong(description: "after \(loss) it is no prefix")
    }
    let isHeld = line.states[(kept + 1)...].allSatisfy { $0.revision > shipped }
    try expect(isHeld, "after \(loss) it ends before \(shipped), which was shipped")
    lines[branch]?.states.removeSubrange((kept + 1)...)
  }

  /// Restores a moment, and goes on with that store.
  private mutating func goOnFromAnotherMoment() throws {
    // Mostly the newest: then the branch goes on from the one before.
    let isNewest = !random.oneIn(4)
    if isNewest { try ship() }
    guard
      let moment = isNewest
        ? lines[branch]?.shipped.last : lines[branch]?.shipped.randomElement(using: &random)
    else { return }
    let expected = lines[branch]?.state(at: moment.revision) ?? [:]
    try journal.close()
    disk = SimulatedDisk()
    _ = try restore(archive, to: disk, at: .revision(moment.revision), branch: branch)
    journal = try Journal.open(in: disk, options: options)
    state = try Self.contents(journal)
    try expect(state == expected, "restored at \(moment.revision), it holds something else")
    shipper = newShipper()
    try begin()
  }

  private mutating func expire() throws {
    guard let line = lines.values.randomElement(using: &random),
      let from = line.shipped.randomElement(using: &random)
    else { return }
    let folder = FolderArchive(archive)
    let expired = try Store.expired(in: folder, before: from.time, now: clock.now)
    guard expired.findings.isEmpty else {
      try expect(expired.names.isEmpty, "something expires although \(expired.findings)")
      return
    }
    // Others were listed before.
    shipper = newShipper()
    expiredCount += expired.names.count
    try folder.delete(expired.names)
    for (name, line) in lines {
      // Of moments of one time the last is meant.
      let atTime = options.keepsCommitTimes ? line.times.last { $0.time <= from.time } : nil
      let same = line.shipped.last { $0.time == from.time }?.revision
      // Where the branch has nothing of its own yet, another may be the newest.
      let newest = name == branch && line.states.count > 1 ? line.shipped.last?.revision : nil
      lines[name]?.shipped.removeAll { moment in
        moment.time < from.time && moment.revision != newest
          || moment.time == from.time && (moment.revision != same || moment.revision < atTime?.revision ?? 0)
      }
    }
  }

  private mutating func checkOne() throws {
    guard let (name, line) = lines.randomElement(using: &random) else { return }
    if let moment = line.shipped.randomElement(using: &random) {
      try check(moment.revision, name, isShipped: true)
    }
    guard let last = line.shipped.last?.revision, let first = line.states.first?.revision, first < last else {
      return
    }
    try check(UInt64(random.pick(Int(first)..<Int(last))), name, isShipped: false)
  }

  private mutating func checkAll() throws {
    for (name, line) in lines {
      for moment in line.shipped { try check(moment.revision, name, isShipped: true) }
    }
  }

  /// Restores a moment and compares it. One between those that were shipped may be missing, and then that is said.
  private mutating func check(_ revision: UInt64, _ name: String, isShipped: Bool) throws {
    let target = SimulatedDisk()
    let summary: RestoreSummary
    do {
      // A branch with nothing of its own expires with the one that has the same.
      let isLeft = try Store.branches(of: FolderArchive(archive)).contains { $0.name == name }
      summary = try restore(archive, to: target, at: .revision(revision), branch: isLeft ? name : nil)
    } catch let error as NotelogError where !isShipped && (error.code == .notFound || error.code == .damaged)
    { return } catch {
      throw Wrong(
        description: "revision \(revision) of \(name): \(error), \(lines[name]?.shipped.suffix(12) ?? [])")
    }
    guard summary.findings.isEmpty else {
      try expect(!isShipped, "revision \(revision) of \(name): \(summary.findings)")
      return
    }
    restoreCount += 1
    try expect(summary.revision == revision, "\(summary.revision) was restored for \(revision)")
    var options = options
    options.compactsAutomatically = false
    let restored = try Journal.open(in: target, options: options)
    try expect(restored.report.verdict == .sound, "restored: \(restored.report)")
    try expect(
      try Self.contents(restored) == lines[name]?.state(at: revision),
      "revision \(revision) of \(name), shipped: \(isShipped), holds something else")
    try restored.close()
  }

  private static func contents(_ journal: Journal) throws -> State {
    var contents: State = [:]
    for id in try journal.records() { contents[Int(id.low)] = try journal.body(of: id) }
    return contents
  }

  private func expect(_ condition: @autoclosure () throws -> Bool, _ message: @autoclosure () -> String)
    throws
  {
    guard try condition() else { throw Wrong(description: message()) }
  }
}

@Suite struct `Model of shipping` {
  @Test func `every moment that was shipped comes back as it was`() throws {
    let seeds = TestEffort.seeds(60, of: 1000, orOnly: "NOTELOG_SHIPPING_SEED")
    let counts = Lock((restored: 0, expired: 0))
    let failures = try Threads.map(seeds) { seed -> String? in
      var model: ShippingModel?
      do {
        var new = try ShippingModel(seed: seed)
        defer { model = new }
        try new.run(300)
        counts.withLock { $0 = ($0.restored + new.restoreCount, $0.expired + new.expiredCount) }
        return nil
      } catch { return "NOTELOG_SHIPPING_SEED=\(seed): step \(model?.step ?? 0): \(error)" }
    }.compactMap(\.self)
    #expect(failures.isEmpty, "\(failures.count): \(failures.prefix(5).joined(separator: "\n"))")
    let found = counts.withLock { $0 }
    #expect(found.restored > seeds.count * 20 && found.expired > seeds.count, "\(found)")
  }
}
