// Histories and undo against a dictionary of versions: random transactions, two processes that take turns,
// compaction and crashes; in stores that keep versions, too.

import Foundation
import NotelogBase
import NotelogTestSupport
import Synchronization
import Testing

@testable import Notelog

struct Leaflet: Record, Equatable {
  var id = RecordID()
  var count = 0
  var title = ""
  /// Now and then too long for the record.
  var scan: [UInt8] = []
  static let schema = Schema<Leaflet>("sheet") {
    Plain("count", \.count, indexed: true)
    Sealed("title", \.title, key: "personal", compressed: true)
    Sealed("scan", \.scan)
  }
}

private typealias Content = [RecordID: Leaflet]

extension Store {
  fileprivate func content() throws -> Content {
    var found: Content = [:]
    for entry in try query(Leaflet.self).entries() { found[entry.id] = try entry.record() }
    return found
  }

  fileprivate static func sheets(
    in disk: SimulatedDisk, isNew: Bool = false, clock: HandClock? = nil
  ) throws -> Store {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    options.keepsCommitTimes = true
    if let clock {
      if isNew { options.keepsVersions = .seconds(HandClock.keptSeconds) }
      options.clock = { clock.now }
    }
    return try isNew
      ? create(in: disk, unlocking: TemporaryFolder.key, options: options)
      : open(in: disk, unlocking: TemporaryFolder.key, options: options)
  }
}

/// A clock that stands still until it is set.
final class HandClock: Sendable {
  static let keptSeconds: Int64 = 100
  private let milliseconds = Atomic<UInt64>(1_000_000_000)

  var now: UInt64 { milliseconds.load(ordering: .sequentiallyConsistent) }
  func set(_ time: UInt64) { milliseconds.store(time, ordering: .sequentiallyConsistent) }
  func advance(seconds: Int64) { set(now + UInt64(seconds * 1000)) }
}

/// What histories and undo did, for a test to see that all of it happened.
private struct HistoryTally {
  var undone = 0
  var refused = 0
  var undoneAfterCrash = 0
  var shown = 0
  var largeUndone = 0
  var keptAfterCompaction = 0
  var largeKept = 0
  var expired = 0
  var undoneAfterCompaction = 0
}

private final class HistoryModel {
  private var disk = SimulatedDisk()
  /// Two processes, of which one writes.
  private var stores: [Store]
  private var writing = 0
  private var random: SeededGenerator
  private var content: Content = [:]
  /// What there was before the last transaction, and what that wrote; nothing where it stored a schema.
  private var before: Content?
  private var written: Set<RecordID> = []
  /// Whether the last transaction can be taken back for sure.
  private var isCertain = true
  private var isAfterCrash = false
  /// Every version that ever was; nil is a deletion.
  private var versions: [RecordID: [UInt64: Leaflet?]] = [:]
  /// Those of them that no compaction can have removed.
  private var promised: [RecordID: Set<UInt64>] = [:]
  /// In a store that keeps versions, its clock, and the latest that it ever said.
  private let clock: HandClock?
  private var latest: UInt64 = 0
  /// When a version was replaced, and when a transaction was committed.
  private var replaced: [RecordID: [UInt64: UInt64]] = [:]
  private var committed: [UInt64: UInt64] = [:]
  /// The last transaction before the last purge.
  private var purged: UInt64 = 0
  private var isAfterCompaction = false
  private(set) var tally = HistoryTally()
  private(set) var history: [String] = []

  private var store: Store { stores[writing] }

  init(seed: UInt64, keepsVersions: Bool) throws {
    random = SeededGenerator(mixing: seed)
    clock = keepsVersions ? HandClock() : nil
    stores = [try Store.sheets(in: disk, isNew: true, clock: clock)]
    let first = Leaflet(title: "first")
    try store.write { tx in try tx.put(first) }
    note([first.id: first])
    before = nil
    try openSecond()
  }

  func run(_ steps: Int) throws {
    for _ in 0..<steps {
      try moveClock()
      switch random.pick(0..<100) {
      case 0..<30: try write()
      case 30..<36: try upload()
      case 36..<60: try undo()
      case 60..<68: try compact()
      case 68..<76: try hand()
      case 76..<82: try reopen()
      case 82..<88: try crash()
      default: try check()
      }
    }
    try check()
    for store in stores.reversed() { try store.close() }
    let verification = try Store.verify(in: disk, unlocking: TemporaryFolder.key)
    try expect(verification.findings.isEmpty, "verify: \(verification.findings)")
  }

  // MARK: - What a store promises that keeps versions

  private func moveClock() throws {
    guard let clock else { return }
    switch random.pick(0..<40) {
    case 0: clock.set(clock.now - 30_000)
    case 1: clock.advance(seconds: 150)
    default: clock.advance(seconds: Int64(random.pick(0..<8)))
    }
    latest = max(latest, clock.now)
  }

  private func isYoung(_ time: UInt64?) -> Bool {
    time.map { $0 + UInt64(HandClock.keptSeconds) * 1000 > latest } ?? false
  }

  /// Whether a version must be there.
  private func isPromised(_ id: RecordID, _ revision: UInt64) -> Bool {
    if clock == nil { return promised[id]?.contains(revision) == true }
    // A deletion by itself says nothing that its absence does not.
    if versions[id]?[revision] == .some(nil) { return isYoung(committed[revision]) && revision > purged }
    let next = versions[id, default: [:]].keys.filter { $0 > revision }.min()
    return next.map { $0 > purged && isYoung(replaced[id]?[revision]) } ?? true
  }

  // MARK: - Writing

  private func sheet(_ id: RecordID) -> Leaflet {
    Leaflet(
      id: id, count: random.pick(0..<9), title: random.letters(count: random.pick(0..<60)),
      scan: random.bytes(count: random.oneIn(6) ? random.pick(65_537..<70_000) : random.pick(0..<600)))
  }

  private func someID() -> RecordID {
    let known = versions.keys.sorted().randomElement(using: &random)
    return known.flatMap { random.oneIn(4) ? nil : $0 } ?? RecordID(high: random.next(), low: random.next())
  }

  private func write() throws {
    var steps: [(RecordID, Leaflet?)] = []
    for _ in 0..<random.pick(1..<5) {
      let id = someID()
      steps.append((id, random.oneIn(4) ? nil : sheet(id)))
    }
    var changes: [RecordID: Leaflet?] = [:]
    for (id, sheet) in steps where sheet != nil || content[id] != nil || changes[id] ?? nil != nil {
      changes.updateValue(sheet, forKey: id)
    }
    if changes.isEmpty { return }
    try store.write { tx in
      for (id, sheet) in steps {
        if let sheet { try tx.put(sheet) } else { try tx.delete(Leaflet.self, id) }
      }
    }
    history.append("write \(changes.count)")
    note(changes)
  }

  /// A large value that is streamed in ahead of its record; now and then it is given up.
  private func upload() throws {
    guard let id = content.keys.sorted().randomElement(using: &random), var sheet = content[id] else {
      return
    }
    sheet.scan = random.bytes(count: random.pick(70_000..<140_000))
    var place = 0
    let upload = try store.upload(to: \Leaflet.scan, of: id) { buffer in
      let count = min(buffer.byteCount, sheet.scan.count - place)
      buffer.copy(sheet.scan.rawSpan.extracting(place..<place + count), at: 0)
      place += count
      return count
    }
    if random.oneIn(3) { return history.append("upload given up") }
    try store.write { tx in try tx.update(Leaflet.self, id) { $0.set(\.scan, upload) } }
    history.append("upload")
    note([id: sheet])
  }

  /// Takes note of a transaction.
  private func note(_ changes: [RecordID: Leaflet?]) {
    let revision = store.snapshot().revision
    before = content
    written = Set(changes.keys)
    (isCertain, isAfterCrash) = (true, false)
    isAfterCompaction = false
    committed[revision] = clock?.now
    for (id, sheet) in changes {
      if let last = versions[id]?.keys.max() { replaced[id, default: [:]][last] = clock?.now }
      content[id] = sheet
      versions[id, default: [:]].updateValue(sheet, forKey: revision)
      promised[id, default: []].insert(revision)
    }
  }

  private func undo() throws {
    let undone: UndoneTransaction
    do { undone = try store.undoLast() } catch let error as NotelogError {
      history.append("undo refused: \(error.code)")
      tally.refused += 1
      if before == nil, [.invalidArgument, .snapshotExpired].contains(error.code) { return }
      if clock != nil {
        isCertain = committed.keys.max().map { $0 > purged && isYoung(committed[$0]) } ?? true
      }
      try expect(error.code == .snapshotExpired && !isCertain, "undo: \(error)")
      return
    }
    history.append("undo")
    guard let before else { throw ModelError("a schema was taken back") }
    let restored = written.filter { before[$0] != nil }
    let removed = written.filter { before[$0] == nil && content[$0] != nil }
    try expect(undone.restored == restored.sorted() && undone.removed == removed.sorted(), "undo did others")
    try expect(undone.time != nil, "it had no time")
    tally.undone += 1
    if isAfterCrash { tally.undoneAfterCrash += 1 }
    if isAfterCompaction { tally.undoneAfterCompaction += 1 }
    if restored.contains(where: { before[$0]?.scan.count ?? 0 > 65_536 }) { tally.largeUndone += 1 }
    let changed = Set(undone.restored + undone.removed)
    // What ended as nothing and was nothing before leaves the last transaction where it is.
    if !changed.isEmpty { note(Dictionary(uniqueKeysWithValues: changed.map { ($0, before[$0]) })) }
    try expect(content == before, "more was to be taken back")
    try checkContent(of: store)
  }

  // MARK: - Everything else

  private func compact() throws {
    let isPurge = random.oneIn(clock == nil ? 4 : 12)
    let summary =
      switch random.pick(0..<3) {
      case _ where isPurge: try store.purge()
      case 0: try store.compact(.bytes(random.pick(1..<20_000)))
      default: try store.compact()
      }
    history.append("compact \(summary.removedSegments)\(summary.isUnfinished ? ", unfinished" : "")")
    if isPurge, clock != nil {
      purged = store.snapshot().revision
      for id in versions.keys {
        try expect(try store.versions(of: id).count <= 1, "a purge left older versions")
      }
    }
    if summary.removedSegments == 0 { return }
    isAfterCompaction = true
    if clock != nil { return try countKept(isPurge) }
    isCertain = false
    promised = [:]
    for id in content.keys { promised[id] = versions[id]?.keys.max().map { [$0] } }
  }

  private func countKept(_ isPurge: Bool) throws {
    for id in versions.keys {
      let found = Set(try store.versions(of: id).map(\.revision))
      for (revision, version) in versions[id, default: [:]] {
        guard found.contains(revision) else {
          tally.expired += 1
          continue
        }
        guard revision != versions[id]?.keys.max() else { continue }
        tally.keptAfterCompaction += 1
        if version?.scan.count ?? 0 > 65_536 { tally.largeKept += 1 }
      }
    }
  }

  /// The other process goes on.
  private func hand() throws {
    history.append("hand over")
    try store.suspend()
    writing = 1 - writing
    try store.resume()
  }

  private func openSecond() throws {
    try stores[0].suspend()
    stores = [stores[0], try Store.sheets(in: disk, clock: clock)]
    writing = 1
  }

  private func reopen() throws {
    history.append("reopen")
    try stores[1 - writing].close()
    try store.close()
    stores = [try Store.sheets(in: disk, clock: clock)]
    writing = 0
    try openSecond()
  }

  private func crash() throws {
    let loss = LossModel.allCases.randomElement(using: &random) ?? .allLost
    history.append("crash \(loss)")
    let image = disk.crashImageNow(loss, seed: random.next())
    for store in stores.reversed() { try store.close() }
    disk = image
    stores = [try Store.sheets(in: disk, clock: clock)]
    writing = 0
    try openSecond()
    // An upload that was given up may have been lost: nobody knows what it was.
    (isCertain, isAfterCrash) = (false, true)
    try checkContent(of: store)
  }

  private func check() throws {
    try checkContent(of: store)
    let other = stores[1 - writing]
    _ = try other.refresh()
    try checkContent(of: other)
    guard let id = versions.keys.sorted().randomElement(using: &random) else { return }
    for store in stores { try check(id, in: store) }
  }

  private func checkContent(of store: Store) throws {
    let found = try store.content()
    try expect(found == content, "\(found.count) records instead of \(content.count), or others")
  }

  /// A history has what is promised, in order, and nothing that never was.
  private func check(_ id: RecordID, in store: Store) throws {
    let found = try store.versions(of: id)
    let revisions = found.map(\.revision)
    try expect(revisions == Set(revisions).sorted(by: >), "versions are out of order")
    for revision in versions[id, default: [:]].keys where isPromised(id, revision) {
      try expect(revisions.contains(revision), "version \(revision) of \(id) is missing")
    }
    if content[id] != nil { try expect(revisions.first == versions[id]?.keys.max(), "the newest is missing") }
    for version in found {
      guard let known = versions[id]?[version.revision] else { throw ModelError("a version never was") }
      try expect(version.isDeletion == (known == nil), "a deletion is none, or the other way round")
      let entry = try store.get(Leaflet.self, id, revision: version.revision)
      try expect((entry == nil) == (known == nil), "a version can't be read")
      if clock != nil { try expect(version.time != nil, "a version has no time") }
      guard let entry, let known else { continue }
      try expect(entry.title == known.title && entry.count == known.count, "a version is another")
      do { try expect(entry.scan == known.scan, "a version's value is another") } catch let error
        as NotelogError
      {
        // Compaction came to the value first.
        try expect(
          error.code == .snapshotExpired && !isPromised(id, version.revision), "a version's value: \(error)")
      }
      tally.shown += 1
    }
  }

  private func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    guard condition else { throw ModelError(message()) }
  }
}

private struct ModelError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

@Suite struct HistoryModelTests {
  @Test(arguments: [false, true])
  func `histories and undo do what a dictionary of versions does, beside others and after crashes`(
    keepsVersions: Bool
  ) throws {
    var tally = HistoryTally()
    for seed in TestEffort.seeds(60, of: 5_000, orOnly: "NOTELOG_HISTORY_SEED") {
      let model = try HistoryModel(seed: seed, keepsVersions: keepsVersions)
      do { try model.run(60) } catch {
        Issue.record(
          "NOTELOG_HISTORY_SEED=\(seed), keeps \(keepsVersions): \(error), after \(model.history.suffix(20).joined(separator: ", "))"
        )
        return
      }
      tally.undone += model.tally.undone
      tally.refused += model.tally.refused
      tally.undoneAfterCrash += model.tally.undoneAfterCrash
      tally.shown += model.tally.shown
      tally.largeUndone += model.tally.largeUndone
      tally.keptAfterCompaction += model.tally.keptAfterCompaction
      tally.largeKept += model.tally.largeKept
      tally.expired += model.tally.expired
      tally.undoneAfterCompaction += model.tally.undoneAfterCompaction
    }
    // Every case was met.
    #expect(tally.undone > 50 && tally.refused > 10 && tally.undoneAfterCrash > 5, "\(tally)")
    #expect(tally.shown > 500 && tally.largeUndone > 5, "\(tally)")
    guard keepsVersions else { return }
    #expect(tally.keptAfterCompaction > 500 && tally.largeKept > 50 && tally.expired > 50, "\(tally)")
    #expect(tally.undoneAfterCompaction > 10, "\(tally)")
  }

  /// A recovery leaves out the transaction that published a compaction: what was before must not be taken for
  /// certain then.
  @Test func `after a crash at any moment undo leads to the state before, or says that it can't`() throws {
    let states = Self.states
    let sweep = CrashSweep<Int>(
      name: "undo", seed: 1, budgets: [TestEffort.isSoak ? nil : 400],
      workload: { disk, notebook in
        let store = try Store.sheets(in: disk, isNew: true)
        for (number, change) in Self.changes.enumerated() {
          try change(store)
          notebook.note(number)
        }
        try store.close()
      },
      check: { disk, point, notes in
        guard let store = try? Store.sheets(in: disk) else {
          if notes.isEmpty { return }
          throw ModelError("the store can't be opened")
        }
        guard let state = states.lastIndex(of: try store.content()) else { throw ModelError("no such state") }
        guard state >= notes.last ?? 0 else {
          throw ModelError("state \(state) after \(notes.count) changes")
        }
        do { try store.undoLast() } catch let error as NotelogError {
          guard [.snapshotExpired, .invalidArgument, .notFound].contains(error.code) else { throw error }
          guard try store.content() == states[state] else { throw ModelError("refused, and changed") }
          return
        }
        let allowed = Self.predecessors[state] ?? []
        guard allowed.contains(where: { states[$0] == (try? store.content()) ?? [:] }) else {
          throw ModelError("undo of state \(state) leads elsewhere")
        }
      })
    let tally = sweep.run()
    #expect(tally.failures.isEmpty, "\(tally.summary)")
    #expect(tally.pairCount > 200)
  }
}

extension HistoryModelTests {
  private static let ids = (1...4).map { RecordID(high: 9, low: $0) }

  private static func sheet(_ number: Int, _ count: Int, scan: Int = 3_000) -> Leaflet {
    var random = SeededGenerator(seed: UInt64(count))
    return Leaflet(
      id: ids[number], count: count, title: "title \(count)", scan: random.bytes(count: scan))
  }

  /// A script with a compaction that removes what the transaction before it replaced, and leaves what was
  /// before that.
  private static let changes: [@Sendable (Store) throws -> Void] = [
    { try $0.putAll([sheet(0, 1), sheet(1, 2)]) },
    { try $0.write { tx in _ = try tx.put(sheet(0, 3)) } },
    { try $0.putAll([sheet(2, 4, scan: 12_000)]) },
    { try $0.write { tx in _ = try tx.put(sheet(0, 5, scan: 70_000)) } },
    { try $0.write { tx in _ = try tx.put(sheet(0, 6)) } },
    { try $0.undoLast() },
    { try $0.write { tx in _ = try tx.delete(Leaflet.self, ids[0]) } },
    { _ = try $0.compact() },
    { try $0.write { tx in _ = try tx.put(sheet(0, 7)) } },
    { try $0.undoLast() },
    { try $0.write { tx in _ = try tx.put(sheet(1, 8)) } },
    { _ = try $0.purge() },
  ]

  /// The state after each change.
  private static let states: [Content] = {
    let (zero, one, two) = (sheet(0, 1), sheet(1, 2), sheet(2, 4, scan: 12_000))
    func all(_ sheets: Leaflet?...) -> Content {
      Dictionary(uniqueKeysWithValues: sheets.compactMap(\.self).map { ($0.id, $0) })
    }
    return [
      all(zero, one), all(sheet(0, 3), one), all(sheet(0, 3), one, two),
      all(sheet(0, 5, scan: 70_000), one, two), all(sheet(0, 6), one, two),
      all(sheet(0, 5, scan: 70_000), one, two), all(one, two), all(one, two), all(sheet(0, 7), one, two),
      all(one, two), all(sheet(1, 8), two), all(sheet(1, 8), two), [:],
    ]
  }()

  /// Where an undo may lead from the last of the states that look the same.
  private static let predecessors: [Int: [Int]] = [
    0: [12], 1: [0], 2: [1], 3: [2], 4: [3], 5: [2, 4], 6: [5], 8: [7], 9: [5, 8], 10: [9], 11: [9],
  ]
}
