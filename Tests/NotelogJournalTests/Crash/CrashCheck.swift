// What must hold of a store after a crash: INV-R1 to INV-R7, tried on one disk.

import NotelogBase
@testable import Notelog
import NotelogFormat
import NotelogTestSupport

/// Looks at what a crash of a scripted workload left.
struct CrashCheck: Sendable {
  /// The record that recoveries write to show that the store goes on.
  static let extraKey = ID16(low: 0, high: 0x6578_7472_6100)

  /// The record that is written after a crash and not made durable at once.
  static let flushedKey = ID16(low: 1, high: 0x6578_7472_6100)

  let store: ScriptedStore
  let history: History

  init(_ store: ScriptedStore) {
    self.store = store
    history = store.history
  }

  struct Violation: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  private var seed: UInt64 { store.script.seed }

  /// Throws where the disk is not what the rules allow after these crashes, given what had been acknowledged.
  func check(_ disk: SimulatedDisk, _ point: CrashPoint, _ notes: [Acknowledgement]) throws {
    let journal: Journal
    do { journal = try open(disk, "first opening") } catch let error as NotelogError
      where error.code == .notFound
    {
      // Only a store whose creation was never acknowledged may be missing, and then it can be created.
      if notes.isEmpty {
        if point.crashes.count == 1 { try recreate(disk, point) }
        return
      }
      throw Violation("the store is gone")
    }
    let state = try Self.stateWithoutExtra(journal)
    guard history.prefix(in: minimum(notes, point)...history.count, holding: state) != nil else {
      throw Violation(explain(state, notes, point))
    }
    try checkTailsKept(disk, journal)
    try checkRepeats(disk, state, point, isPromised: !notes.isEmpty)
    try checkGoesOn(disk, journal, state, point)
  }

  /// How many transactions must be there.
  private func minimum(_ notes: [Acknowledgement], _ point: CrashPoint) -> Int {
    var sequence: UInt64 = 0
    for case .committed(let number, let durability) in notes {
      let isPromised = durability == .durable || (durability == .flushed && !point.isPowerLoss)
      if isPromised { sequence = max(sequence, number) }
    }
    return history.count(upTo: sequence)
  }

  /// Opens and verifies: after a crash of an honest disk there is no damage, only torn tails.
  private func open(_ disk: SimulatedDisk, _ what: String) throws -> Journal {
    let before = disk.crashPoints.count
    // Now and then without the id: then the segments say whose they are.
    let storeID = disk.usedByteCount % 3 == 0 ? nil : ScriptedStore.storeID
    let verification = try Journal.verify(disk, storeID: storeID)
    if disk.crashPoints.count != before { throw Violation("verifying wrote to the disk") }
    if !verification.report.damages.isEmpty {
      throw Violation("\(what): verify reports \(verification.report.damages)")
    }
    let journal = try ScriptedStore.open(disk, seed: seed)
    if !journal.report.damages.isEmpty {
      throw Violation("\(what): opening reports \(journal.report.damages)")
    }
    return journal
  }

  /// What was cut is kept aside, durably.
  private func checkTailsKept(_ disk: SimulatedDisk, _ journal: Journal) throws {
    let crashed = disk.crashImageNow(.allLost)
    for tail in journal.report.torn {
      let kept = crashed.fileNames.filter { $0.hasPrefix("torn/") }.compactMap { crashed.contents($0)?.count }
      if !kept.contains(tail.byteCount) { throw Violation("the torn tail \(tail) is not kept") }
    }
  }

  /// INV-R4, INV-R7: another crash right after recovery, and another recovery, serve the same.
  private func checkRepeats(
    _ disk: SimulatedDisk, _ state: History.State, _ point: CrashPoint, isPromised: Bool
  ) throws {
    for loss in [LossModel.allLost, .processKilled, .subsetKept] {
      let again = disk.crashImageNow(loss, seed: point.seed)
      let second: Journal
      do { second = try open(again, "opening again after \(loss)") } catch let error as NotelogError
        where error.code == .notFound && !isPromised && state.isEmpty
      {
        // A store whose creation was not acknowledged, and in which nothing was written, may still go.
        continue
      }
      let found = try Self.stateWithoutExtra(second)
      if found != state {
        throw Violation("recovered twice (\(loss)), the store differs: \(Self.difference(found, state))")
      }
      let verification = try Journal.verify(again, storeID: ScriptedStore.storeID)
      if verification.report.verdict != .sound {
        throw Violation("after recovery verify says \(verification.report.verdict)")
      }
    }
  }

  /// The store takes a durable transaction, keeps it, closes in order and opens clean.
  private func checkGoesOn(
    _ disk: SimulatedDisk, _ journal: Journal, _ state: History.State, _ point: CrashPoint
  ) throws {
    // Not durable yet, it may be torn, and with it whatever had been left unsynced before; that is no damage.
    let flushed = try Self.write(Self.flushedKey, .flushed, to: journal)
    let tearing = [LossModel.sectorsTorn, .pagesTorn, .firstLost, .bytesLost][Int(point.seed % 4)]
    let torn = disk.crashImageNow(tearing, seed: point.seed)
    var left = try ScriptedStore.state(of: open(torn, "opening after a flushed commit and \(tearing)"))
    left[Self.flushedKey] = nil
    left[Self.extraKey] = nil
    if left != state {
      throw Violation("after a flushed commit and \(tearing): \(Self.difference(left, state))")
    }
    let revision = try Self.write(Self.extraKey, .durable, to: journal)
    if let last = state.values.map(\.revision).max(), flushed <= last || revision <= flushed {
      throw Violation("revision \(flushed) or \(revision) is given out again")
    }
    var expected = state
    expected[Self.flushedKey] = History.Version(revision: flushed, body: [7, 0, 0, 0, 0, 0, 0, 0])
    expected[Self.extraKey] = History.Version(revision: revision, body: [7, 0, 0, 0, 0, 0, 0, 0])
    let losses = LossModel.allCases
    let loss = losses[Int(point.seed % UInt64(losses.count))]
    let crashed = disk.crashImageNow(loss, seed: point.seed)
    let second = try open(crashed, "opening after a commit and \(loss)")
    let found = try ScriptedStore.state(of: second)
    if found != expected {
      throw Violation("after a commit and \(loss) the store differs: \(Self.difference(found, expected))")
    }
    try journal.close()
    let closed = disk.crashImageNow(.allLost)
    var contents: [String: [UInt8]]?
    for _ in 0..<3 {
      let third = try open(closed, "opening after closing")
      if third.report.verdict != .sound || !third.report.wasClosed {
        throw Violation("closed in order, it opens \(third.report.verdict)")
      }
      if try ScriptedStore.state(of: third) != expected { throw Violation("closing changed the store") }
      try third.close()
      // The first opening may have left to do what needs no sync: to delete what was never published.
      let now = Self.contents(closed)
      let changed = Set(now.keys).union((contents ?? now).keys).filter { now[$0] != (contents ?? now)[$0] }
      if !changed.isEmpty { throw Violation("opening a closed store changed \(changed.sorted())") }
      contents = now
    }
  }

  private static func write(
    _ key: ID16, _ durability: Durability, to journal: Journal
  ) throws -> UInt64 {
    var batch = Batch()
    batch.put(key, collection: 2, bodyByteCount: 8) { $0.storeBytes(of: 7, as: UInt64.self) }
    return try journal.commit(&batch, durability)
  }

  private func recreate(_ disk: SimulatedDisk, _ point: CrashPoint) throws {
    do { try ScriptedStore.create(on: disk, seed: seed).close() } catch let error as NotelogError
      where error.code == .alreadyExists && point.crashes.last?.loss == .staleTail
    {
      // A file full of older bytes may have been a store once: that is for its owner to decide.
    }
  }

  // MARK: - Looking

  static func stateWithoutExtra(_ journal: Journal) throws -> History.State {
    var state = try ScriptedStore.state(of: journal)
    state[extraKey] = nil
    return state
  }

  private static func contents(_ disk: SimulatedDisk) -> [String: [UInt8]] {
    var contents: [String: [UInt8]] = [:]
    for name in disk.fileNames where name != "lock" { contents[name] = disk.contents(name) }
    return contents
  }

  private static func difference(_ found: History.State, _ expected: History.State) -> String {
    let keys = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }.sorted()
    return keys.prefix(4).map { key in
      let now = found[key].map { "revision \($0.revision)" } ?? "nothing"
      let then = expected[key].map { "revision \($0.revision)" } ?? "nothing"
      return "record \(key.low) is \(now), expected \(then)"
    }.joined(separator: "; ")
  }

  private func explain(_ state: History.State, _ notes: [Acknowledgement], _ point: CrashPoint) -> String {
    let minimum = minimum(notes, point)
    if let count = history.prefix(in: 0...history.count, holding: state) {
      return "the store holds \(count) transactions, and \(minimum) were promised"
    }
    return "the store is no prefix of what was committed; against all that was promised: "
      + Self.difference(state, history.state(after: minimum))
  }
}

extension CrashPoint {
  /// A number for the choices of a check.
  var seed: UInt64 {
    crashes.reduce(0) { $0 &* 31 &+ UInt64($1.call) &* 131 &+ UInt64($1.loss.rawValue.utf8.count) &+ $1.seed }
  }
}
