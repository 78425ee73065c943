// Histories and undo against a dictionary of versions: random transactions, two processes that take turns,
// compaction and crashes.

import Foundation
import NotelogBase
import NotelogTestSupport
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

  fileprivate static func sheets(in disk: SimulatedDisk, isNew: Bool = false) throws -> Store {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    options.keepsCommitTimes = true
    return try isNew
      ? create(in: disk, unlocking: TemporaryFolder.key, options: options)
      : open(in: disk, unlocking: TemporaryFolder.key, options: options)
  }
}

/// What histories and undo did, for a test to see that all of it happened.
private struct HistoryTally {
  var undone = 0
  var refused = 0
  var undoneAfterCrash = 0
  var shown = 0
  var largeUndone = 0
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
  private(set) var tally = HistoryTally()
  private(set) var history: [String] = []

  private var store: Store { stores[writing] }

  init(seed: UInt64) throws {
    random = SeededGenerator(mixing: seed)
    stores = [try Store.sheets(in: disk, isNew: true)]
    let first = Leaflet(title: "first")
    try store.write { tx in try tx.put(first) }
    note([first.id: first])
    before = nil
    try openSecond()
  }

  func run(_ steps: Int) throws {
    for _ in 0..<steps {
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
    for (id, sheet) in changes {
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
      if error.code == .conflict { return try expect(before == nil, "undo: \(error)") }
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
    if restored.contains(where: { before[$0]?.scan.count ?? 0 > 65_536 }) { tally.largeUndone += 1 }
    let changed = Set(undone.restored + undone.removed)
    // What ended as nothing and was nothing before leaves the last transaction where it is.
    if !changed.isEmpty { note(Dictionary(uniqueKeysWithValues: changed.map { ($0, before[$0]) })) }
    try expect(content == before, "more was to be taken back")
    try checkContent(of: store)
  }

  // MARK: - Everything else

  private func compact() throws {
    let summary =
      switch random.pick(0..<4) {
      case 0: try store.purge()
      case 1: try store.compact(.bytes(random.pick(1..<20_000)))
      default: try store.compact()
      }
    history.append("compact \(summary.removedSegments)\(summary.isUnfinished ? ", unfinished" : "")")
    if summary.removedSegments == 0 { return }
    isCertain = false
    promised = [:]
    for id in content.keys { promised[id] = versions[id]?.keys.max().map { [$0] } }
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
    stores = [stores[0], try Store.sheets(in: disk)]
    writing = 1
  }

  private func reopen() throws {
    history.append("reopen")
    try stores[1 - writing].close()
    try store.close()
    stores = [try Store.sheets(in: disk)]
    writing = 0
    try openSecond()
  }

  private func crash() throws {
    let loss = LossModel.allCases.randomElement(using: &random) ?? .allLost
    history.append("crash \(loss)")
    let image = disk.crashImageNow(loss, seed: random.next())
    for store in stores.reversed() { try store.close() }
    disk = image
    stores = [try Store.sheets(in: disk)]
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
    try expect(promised[id, default: []].isSubset(of: revisions), "a version is missing")
    if content[id] != nil { try expect(revisions.first == versions[id]?.keys.max(), "the newest is missing") }
    for version in found {
      guard let known = versions[id]?[version.revision] else { throw ModelError("a version never was") }
      try expect(version.isDeletion == (known == nil), "a deletion is none, or the other way round")
      let entry = try store.get(Leaflet.self, id, revision: version.revision)
      try expect((entry == nil) == (known == nil), "a version can't be read")
      guard let entry, let known else { continue }
      try expect(entry.title == known.title && entry.count == known.count, "a version is another")
      do { try expect(entry.scan == known.scan, "a version's value is another") } catch let error
        as NotelogError
      {
        // Compaction came to the value first.
        let isPromised = promised[id]?.contains(version.revision) == true
        try expect(error.code == .snapshotExpired && !isPromised, "a version's value: \(error)")
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
  @Test func `histories and undo do what a dictionary of versions does, beside others and after crashes`()
    throws
  {
    var tally = HistoryTally()
    for seed in TestEffort.seeds(60, of: 5_000, orOnly: "NOTELOG_HISTORY_SEED") {
      let model = try HistoryModel(seed: seed)
      do { try model.run(60) } catch {
        Issue.record(
          "NOTELOG_HISTORY_SEED=\(seed): \(error), after \(model.history.suffix(20).joined(separator: ", "))")
        return
      }
      tally.undone += model.tally.undone
      tally.refused += model.tally.refused
      tally.undoneAfterCrash += model.tally.undoneAfterCrash
      tally.shown += model.tally.shown
      tally.largeUndone += model.tally.largeUndone
    }
    // Every case was met.
    #expect(tally.undone > 50 && tally.refused > 10 && tally.undoneAfterCrash > 5, "\(tally)")
    #expect(tally.shown > 500 && tally.largeUndone > 5, "\(tally)")
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
          guard [.snapshotExpired, .conflict, .notFound].contains(error.code) else { throw error }
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
