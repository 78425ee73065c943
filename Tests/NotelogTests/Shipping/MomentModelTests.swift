// Every moment of a store's life, restored from its archive and compared: record by record, with revisions, plain and
// sealed values.

import Foundation
import NotelogBase
import NotelogFormat
import NotelogTestSupport
import Testing

@testable import Notelog

private struct Sheet: Record, Equatable {
  var id = RecordID()
  var count = 0
  var title = ""
  var body: String?
  /// Now and then too long for the record.
  var scan: [UInt8] = []
  static let schema = Schema<Sheet>("sheet") {
    Plain("count", \.count, indexed: true)
    Sealed("title", \.title)
    Sealed("body", \.body, key: "personal", compressed: true)
    Sealed("scan", \.scan, key: "scans")
  }
}

private struct Wrong: Error, CustomStringConvertible {
  let description: String
}

/// What one branch was.
private struct Line {
  /// Of each record, what it was from which revision on.
  var history: [RecordID: [(revision: UInt64, sheet: Sheet?)]] = [:]
  var revisions: [UInt64]
  /// Up to which revision it was shipped, by pieces of which each needs a credential.
  var shipped: [(upTo: UInt64, credential: Credential)] = []
  /// What may be missing: nobody held it when it was replaced.
  var unpinned: [ClosedRange<UInt64>] = []

  func state(at revision: UInt64) -> [RecordID: Version] {
    history.compactMapValues { versions in
      versions.last { $0.revision <= revision }.flatMap { version in
        version.sheet.map { Version(revision: version.revision, sheet: $0) }
      }
    }
  }

  /// The same up to a revision.
  func prefix(_ revision: UInt64) -> Line {
    var line = self
    line.history = history.mapValues { $0.filter { $0.revision <= revision } }
    line.revisions.removeAll { $0 > revision }
    return line
  }
}

private struct Version: Equatable {
  let revision: UInt64
  let sheet: Sheet
}

/// A store that is shipped, written to, compacted, killed, recovered and restored.
private final class MomentModel {
  private var random: SeededGenerator
  private let archive = SimulatedDisk()
  private var disk = SimulatedDisk()
  private var current: Store?
  private var shipper: Shipper
  private var credential = MomentModel.key(0)
  private var keyCount: UInt8 = 1
  private var lines: [String: Line] = [:]
  private var branch = ""
  /// Behind that revision numbers may be left out: a compaction changed what is live, or something was lost.
  private var leftOutAt: UInt64 = 0
  private let keepsVersions: Bool
  private let keepsEvidence: Bool
  private(set) var transactionCount = 0
  private(set) var restoreCount = 0
  /// What was done, for the message of a failure.
  private(set) var events: [String] = []

  private static func key(_ number: UInt8) -> Credential { .key([UInt8](repeating: number, count: 32)) }

  private var store: Store {
    get throws {
      guard let current else { throw Wrong(description: "the store is not open") }
      return current
    }
  }
  private var line: Line {
    get { lines[branch] ?? Line(revisions: []) }
    set { lines[branch] = newValue }
  }

  init(seed: UInt64, keepsEvidence: Bool) throws {
    random = SeededGenerator(mixing: seed)
    self.keepsEvidence = keepsEvidence
    keepsVersions = random.oneIn(2)
    shipper = Shipper(disk, to: FolderArchive(archive))
    let store = try Store.create(in: disk, unlocking: credential, options: options)
    current = store
    try store.write { tx in
      let sheet = Sheet()
      _ = try tx.put(sheet)
      try tx.delete(Sheet.self, sheet.id)
    }
    try begin(Line(revisions: [lastRevision]))
    try ship()
  }

  private var options: Store.Options {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    if keepsVersions { options.keepsVersions = .seconds(3600) }
    options.keepsEvidence = keepsEvidence
    return options
  }

  private var lastRevision: UInt64 { get throws { try store.info().nextRevision - 1 } }

  private func begin(_ line: Line) throws {
    branch = String(prefix: try Examination(disk, storeID: nil).newest?.header.branchPrefix ?? 0)
    if lines[branch] == nil { lines[branch] = line }
  }

  // MARK: - What happens

  func run(transactions: Int, checkingEvery interval: Int) throws {
    while transactionCount < transactions { try operate(random.pick(0..<400)) }
    try ship()
    var offset = random.pick(0..<interval)
    for (name, line) in lines.sorted(by: { $0.key < $1.key }) {
      for revision in line.revisions where revision <= line.shipped.last?.upTo ?? 0 {
        if offset % interval == 0 { try check(revision, name) }
        offset += 1
      }
    }
  }

  private func operate(_ choice: Int) throws {
    switch choice {
    case 0..<240: try write()
    case 240..<320: try ship()
    case 320..<335: try compact()
    case 335..<345: try compactLocked()
    case 345..<355: try reopen()
    case 355..<365: try kill()
    case 365..<370: try losePower()
    case 370..<376: try rotate()
    case 376: try rekey()
    case 377..<380: try goOnFromMoment()
    default: try checkOne()
    }
  }

  private func note(_ event: String) { events.append(event) }

  private func write() throws {
    var next = line.state(at: .max).mapValues(\.sheet)
    var changes: [(id: RecordID, sheet: Sheet?)] = []
    for _ in 0..<random.pick(1..<4) {
      let known = random.oneIn(3) ? nil : next.keys.sorted().randomElement(using: &random)
      let id = known ?? RecordID(ID16(low: random.next(), high: random.next()))
      if changes.contains(where: { $0.id == id }) { continue }
      let sheet = known != nil && (random.oneIn(3) || next.count > 40) ? nil : sheet(id)
      changes.append((id, sheet))
      next[id] = sheet
    }
    let level = Notelog.Durability.allCases.randomElement(using: &random) ?? .durable
    try store.write(level) { tx in
      for (id, sheet) in changes {
        if let sheet { _ = try tx.put(sheet) } else { try tx.delete(Sheet.self, id) }
      }
    }
    transactionCount += 1
    let revision = try lastRevision
    for (id, sheet) in changes { line.history[id, default: []].append((revision, sheet)) }
    line.revisions.append(revision)
    note("\(level) \(revision)")
  }

  private func sheet(_ id: RecordID) -> Sheet {
    Sheet(
      id: id, count: random.pick(0..<9), title: String(repeating: "t", count: random.pick(0..<30)),
      body: random.oneIn(4)
        ? nil : String(repeating: "body \(random.pick(0..<99)) ", count: random.pick(0..<60)),
      scan: random.bytes(count: random.oneIn(150) ? random.pick(65_530..<70_000) : random.pick(0..<60)))
  }

  private func ship() throws {
    let summary = try random.oneIn(5) ? store.ship(to: FolderArchive(archive)) : shipper.ship()
    // The one that holds a pin has to have looked, too.
    if line.shipped.isEmpty { try shipper.ship() }
    try expect(summary.findings.isEmpty, "shipping found \(summary.findings)")
    try expect(summary.revision == lastRevision, "\(summary.revision) of \(try lastRevision) was shipped")
    note("ship \(summary.revision)")
    line.shipped.append((summary.revision, credential))
  }

  private func compact() throws {
    let isWhole = random.oneIn(3)
    let summary = try store.compact(isWhole ? .unlimited : WorkBudget(byteCount: random.pick(1..<40_000)))
    note("compact \(try lastRevision): \(summary.removedSegments)")
    if summary.removedSegments > 0 { leftOutAt = try lastRevision }
    try expect(summary.damagedSegments.isEmpty, "compaction found damage")
  }

  private func compactLocked() throws {
    try store.close()
    try open(unlocking: nil)
    try compact()
    try store.close()
    try open()
    note("locked")
  }

  private func reopen() throws {
    try store.close()
    try open()
    note("reopen \(try lastRevision)")
  }

  private func open() throws { try open(unlocking: credential) }
  private func open(unlocking credential: Credential?) throws {
    let store = try Store.open(in: disk, unlocking: credential, options: options)
    current = store
    if credential != nil { try expectSound(store, "opened") }
  }

  /// The process dies, and the shipper, another one, goes on.
  private func kill() throws {
    current = nil
    try open()
    note("kill \(try lastRevision)")
    try findWhatIsLeft()
    noteUnpinned(to: leftOutAt)
    leftOutAt = line.revisions.last ?? 0
  }

  /// The machine dies: the shipper, too.
  private func losePower() throws {
    let loss = LossModel.allCases.randomElement(using: &random) ?? .allLost
    let image = disk.crashImageNow(loss, seed: random.next())
    try store.close()
    disk = image
    shipper = Shipper(disk, to: FolderArchive(archive))
    // Until there is one again, what was replaced may go.
    let isPinned = random.oneIn(2)
    note("\(loss), pinned: \(isPinned)")
    if isPinned { try expect(shipper.ship().findings.isEmpty, "shipping finds a crash to be damage") }
    try open()
    try findWhatIsLeft()
    if !isPinned { noteUnpinned(to: line.revisions.last ?? 0) }
    leftOutAt = line.revisions.last ?? 0
    try ship()
    // From now on it holds a pin.
    try shipper.ship()
  }

  /// What a recovery takes along makes no moments before numbers that are left out.
  private func noteUnpinned(to revision: UInt64) {
    let from = line.shipped.last?.upTo ?? 0
    if from < revision { line.unpinned.append(from + 1...revision) }
  }

  /// One of the states since the last that was shipped. Of several that are the same, the first: numbers of what was lost
  /// may be left out.
  private func findWhatIsLeft() throws {
    let found = try Self.contents(store)
    let (shipped, last) = (line.shipped.last?.upTo ?? 0, try lastRevision)
    let states = [shipped] + line.revisions.filter { $0 > shipped && $0 <= last }
    let end = states.first { line.state(at: $0) == found }
    guard let end else { throw Wrong(description: "what is left is no state since \(shipped)") }
    line = line.prefix(end)
  }

  private func rotate() throws {
    let name = random.oneIn(2) ? "personal" : "scans"
    let step = try store.rotate(
      name, random.oneIn(2) ? .unlimited : WorkBudget(byteCount: random.pick(1..<9000)))
    note(
      "rotate \(name) \(try lastRevision): \(step.resealedCount), retired \(step.retired), \(step.obstacle ?? "")"
    )
    try noteRevisions()
  }

  /// What was shipped before opens with the old credential alone.
  private func rekey() throws {
    try ship()
    let new = Self.key(keyCount)
    keyCount &+= 1
    try store.rekey(credential, to: new)
    credential = new
    note("rekey \(try lastRevision)")
    try noteRevisions()
  }

  /// What was sealed anew has another revision.
  private func noteRevisions() throws {
    let before = line.state(at: .max)
    for (id, version) in try Self.contents(store) where before[id] != version {
      try expect(before[id]?.sheet == version.sheet, "a value is another one, sealed anew")
      line.history[id, default: []].append((version.revision, version.sheet))
      line.revisions.append(version.revision)
    }
    line.revisions.append(try lastRevision)
    line.revisions.sort()
  }

  /// Restores a moment, and goes on with that store.
  private func goOnFromMoment() throws {
    if random.oneIn(2) { try ship() }
    let (name, line) = lines.sorted { $0.key < $1.key }.randomElement(using: &random) ?? ("", line)
    guard let moment = line.shipped.randomElement(using: &random) else { return }
    try store.close()
    disk = SimulatedDisk()
    let summary = try Store.restore(
      FolderArchive(archive), to: disk, at: .revision(moment.upTo), branch: name, unlocking: moment.credential
    )
    note("go on from \(moment.upTo) of \(name)")
    try expect(summary.findings.allSatisfy(Self.isOfOtherKeyring), "restored: \(summary.findings)")
    credential = moment.credential
    try open()
    try expectSound(store, "restored at \(moment.upTo)")
    try expect(
      Self.contents(store) == line.state(at: moment.upTo),
      "restored at \(moment.upTo), it holds something else")
    shipper = Shipper(disk, to: FolderArchive(archive))
    var new = line.prefix(moment.upTo)
    (new.shipped, new.unpinned, new.revisions) = ([], [], [moment.upTo])
    try begin(new)
    try ship()
    // Others may go on from there, too: each with keys of its own.
    if random.oneIn(3) { try rekey() }
  }

  // MARK: - Looking back

  private func checkOne() throws {
    let (name, line) = lines.sorted { $0.key < $1.key }.randomElement(using: &random) ?? ("", line)
    if let revision = line.revisions.randomElement(using: &random) { try check(revision, name) }
  }

  /// A keyring of another time or branch, which the credential does not open.
  private static func isOfOtherKeyring(_ finding: Finding) -> Bool {
    finding.part == .keyring && finding.description.contains("does not open with it")
  }

  private func check(_ revision: UInt64, _ name: String) throws {
    guard let line = lines[name], let moment = line.shipped.first(where: { $0.upTo >= revision }) else {
      return
    }
    let place = "revision \(revision) of \(name), shipped at \(moment.upTo)"
    let isPromised = !line.unpinned.contains { $0.contains(revision) }
    let target = SimulatedDisk()
    let summary: RestoreSummary
    do {
      summary = try Store.restore(
        FolderArchive(archive), to: target, at: .revision(revision), branch: name,
        unlocking: moment.credential)
    } catch {
      return try expect(!isPromised, "\(place): \(error)")
    }
    let isEnd = line.shipped.contains { $0.upTo == revision }
    func isAllowed(_ finding: Finding) -> Bool {
      // Between two rounds a keyring may count a schema that is not there yet. It has all keys.
      Self.isOfOtherKeyring(finding)
        || !isEnd && finding.description.contains("none that opens is of the moment")
    }
    guard summary.findings.allSatisfy(isAllowed) else {
      return try expect(!isPromised, "\(place): \(summary.findings)")
    }
    restoreCount += 1
    try expect(summary.revision == revision, "\(place): \(summary.revision) was restored")
    do {
      let restored = try Store.open(in: target, unlocking: moment.credential, options: options)
      try expectSound(restored, place)
      let found = try Self.contents(restored)
      let expected = line.state(at: revision)
      let others = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }
      try expect(others.isEmpty, "\(place): \(others.count) records of \(expected.count) are others")
      try restored.close()
    } catch let error as NotelogError { throw Wrong(description: "\(place), restored: \(error)") }
  }

  /// What honest use does is no alarm.
  private func expectSound(_ store: Store, _ place: String) throws {
    guard keepsEvidence else { return }
    let found = try store.audit().findings
    try expect(found.isEmpty, "\(place): \(found)")
  }

  private static func contents(_ store: Store) throws -> [RecordID: Version] {
    var contents: [RecordID: Version] = [:]
    for entry in try store.query(Sheet.self).entries() {
      contents[entry.id] = Version(revision: entry.revision, sheet: try entry.record())
    }
    return contents
  }

  private func expect(
    _ condition: @autoclosure () throws -> Bool, _ message: @autoclosure () throws -> String
  ) throws {
    guard try condition() else { throw Wrong(description: try message()) }
  }
}

@Suite struct `Moments of a store` {
  /// INV-C10.
  @Test(arguments: [false, true])
  func `every moment comes back as it was, through rotations, locked compactions, crashes and restores`(
    keepsEvidence: Bool
  ) throws {
    let seeds = TestEffort.seeds(4, of: 40, orOnly: "NOTELOG_MOMENT_SEED")
    let restoreCount = Lock(0)
    let failures = try Threads.map(seeds) { seed -> String? in
      var model: MomentModel?
      do {
        let new = try MomentModel(seed: seed, keepsEvidence: keepsEvidence)
        model = new
        try new.run(transactions: 250, checkingEvery: TestEffort.isSoak ? 1 : 10)
        restoreCount.withLock { $0 += new.restoreCount }
        return nil
      } catch {
        let events = model?.events.suffix(TestEffort.replay == nil ? 25 : 4000).joined(separator: ", ") ?? ""
        return
          "NOTELOG_MOMENT_SEED=\(seed): transaction \(model?.transactionCount ?? 0): \(error), after \(events)"
      }
    }.compactMap(\.self)
    #expect(failures.isEmpty, "\(failures.count): \(failures.prefix(5).joined(separator: "\n"))")
    #expect(restoreCount.withLock { $0 } > seeds.count * 30)
  }
}
