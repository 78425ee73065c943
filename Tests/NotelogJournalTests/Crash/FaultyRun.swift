// A program that meets a failing disk, does what it should, and checks what it is told.

@testable import Notelog
import NotelogStorage
import NotelogTestSupport

/// Runs a script on a disk with a fault planned, reopens after errors, and goes on.
struct FaultyRun {
  typealias Violation = CrashCheck.Violation

  let disk: SimulatedDisk
  let kind: Fault.Kind
  let script: Script
  private var entries: [History.Entry] = []
  /// How many of the entries were acknowledged as durable, or became so since.
  private var durableCount = 0
  /// A transaction whose commit failed: it may be there or not.
  private var doubtful: ScriptedTransaction?

  init(_ script: Script, on disk: SimulatedDisk, _ kind: Fault.Kind) {
    self.script = script
    self.disk = disk
    self.kind = kind
  }

  private var model: History.State { History(entries).state(after: entries.count) }

  mutating func run() throws {
    var journal = try create()
    for step in script.threads[0] {
      switch step {
      case .compact:
        do { _ = try journal.compact() } catch { try recover(&journal, from: error, of: nil) }
      case .checkpoint:
        do { try journal.checkpoint() } catch { try recover(&journal, from: error, of: nil) }
      case .reopen:
        do {
          try journal.close()
          durableCount = entries.count
        } catch {}
        journal = try reopen()
      case .commit(let transaction, let durability):
        do {
          let sequence = try ScriptedStore.commit(transaction, durability, to: journal)
          entries.append(History.Entry(sequence: sequence, transaction: transaction))
          if durability == .durable { durableCount = entries.count }
        } catch let error as NotelogError {
          try recover(&journal, from: error, of: transaction)
        }
      }
    }
    try checkEnd(&journal)
  }

  /// The disk at the end: nothing durable is missing without power, and the store closes and verifies.
  private mutating func checkEnd(_ journal: inout Journal) throws {
    disk.forgetFaults()
    for loss in [LossModel.allLost, .subsetKept] {
      let crashed = disk.crashImageNow(loss, seed: UInt64(disk.callCount))
      let found = try ScriptedStore.state(of: ScriptedStore.open(crashed, seed: 1))
      guard History(entries).prefix(in: durableCount...entries.count, holding: found) != nil else {
        throw Violation("after \(loss) at the end the store is no prefix with all that was durable")
      }
    }
    do { try journal.close() } catch { journal = try reopen() }
    let closed = disk.crashImageNow(.processKilled)
    let verification = try Journal.verify(closed, storeID: ScriptedStore.storeID)
    if !verification.report.damages.isEmpty {
      throw Violation("verify reports \(verification.report.damages)")
    }
    let found = try ScriptedStore.state(of: ScriptedStore.open(closed, seed: 1))
    if found != model { throw Violation("at the end the store differs from what was committed") }
  }

  private func create() throws -> Journal {
    for _ in 0..<3 {
      do { return try ScriptedStore.create(on: disk, seed: script.seed) } catch let error as NotelogError {
        try checkIsAnError(error)
        disk.forgetFaults()
        if error.code == .alreadyExists { return try ScriptedStore.open(disk, seed: script.seed) }
      }
    }
    throw Violation("the store can't be created once the fault is over")
  }

  /// What must hold once a commit has failed.
  private mutating func recover(
    _ journal: inout Journal, from error: NotelogError, of transaction: ScriptedTransaction?
  ) throws {
    try checkIsAnError(error)
    let lostReads = kind == .syncDropsPages(readsOldBytes: true)
    if error.code == .poisoned {
      // Nothing is accepted until the store is reopened, however often one tries.
      for durability in Durability.allCases {
        do {
          _ = try ScriptedStore.commit(
            ScriptedTransaction(number: 1, changes: [ScriptedChange(record: 1, byteCount: 8)]), durability,
            to: journal)
          throw Violation("a write was accepted after a failed one")
        } catch let error as NotelogError {
          if error.code != .poisoned { throw Violation("after a failed write: \(error.code)") }
        }
      }
      doubtful = transaction
      disk.forgetFaults()
      // Reads go on, and show no transaction in part.
      if !lostReads { try checkVisible(journal, transaction) }
      try? journal.close()
      journal = try reopen()
      return
    }
    // Anything else is an error of this one commit: nothing of it is there, and the store goes on. What has a
    // temporary name is disposable: if it could not be synced it is never renamed, and takes nothing with it.
    if disk.firedFaults.contains(where: { $0.call == .sync && !$0.name.hasSuffix(".partial") }) {
      throw Violation("a failed sync came out as \(error.code), and the store goes on")
    }
    disk.forgetFaults()
    if try readState(journal) != model {
      throw Violation("a commit that failed with \(error.code) changed the store")
    }
  }

  private func checkVisible(_ journal: Journal, _ transaction: ScriptedTransaction?) throws {
    let found = try readState(journal)
    if found == model { return }
    var with = model
    if let transaction { History.apply(entry(transaction, in: found), to: &with) }
    if found != with { throw Violation("after a failed commit reads show something else") }
  }

  /// The transaction under the number it got, if it shows.
  private func entry(_ transaction: ScriptedTransaction, in found: History.State) -> History.Entry {
    let revisions = transaction.changes.compactMap { change -> UInt64? in
      guard let version = found[change.key], version.body == transaction.body(of: change) else { return nil }
      return version.revision
    }
    let next = (entries.last?.sequence ?? 0) + 1
    return History.Entry(sequence: max(next, revisions.max() ?? 0), transaction: transaction)
  }

  /// Opens the store again, as often as it takes for the fault to be over, and finds out what is there.
  private mutating func reopen() throws -> Journal {
    var opened: Journal?
    for _ in 0..<3 where opened == nil {
      do { opened = try ScriptedStore.open(disk, seed: script.seed) } catch let error as NotelogError {
        try checkIsAnError(error)
        disk.forgetFaults()
      }
    }
    guard let journal = opened else { throw Violation("the store does not open once the fault is over") }
    if !journal.report.damages.isEmpty { throw Violation("reopened: \(journal.report.damages)") }
    let found = try readState(journal)
    var candidates = entries
    if let doubtful { candidates.append(entry(doubtful, in: found)) }
    doubtful = nil
    // Only a cache that went back to old bytes may lose what the process had written.
    let minimum = kind == .syncDropsPages(readsOldBytes: true) ? durableCount : entries.count
    guard let count = History(candidates).prefix(in: minimum...candidates.count, holding: found) else {
      throw Violation("reopened, the store is no prefix of what was committed")
    }
    entries = Array(candidates.prefix(count))
    // What an opening for writing serves, it has made durable.
    durableCount = journal.report.wasClosed ? min(durableCount, count) : count
    return journal
  }

  /// Reads everything; the fault may strike in that too.
  private func readState(_ journal: Journal) throws -> History.State {
    do { return try ScriptedStore.state(of: journal) } catch let error as NotelogError {
      try checkIsAnError(error)
      disk.forgetFaults()
      return try ScriptedStore.state(of: journal)
    }
  }

  /// Errors that must not come out are failures of the test.
  private func checkIsAnError(_ error: NotelogError) throws {
    let fired = disk.firedFaults
    guard !fired.isEmpty else { throw Violation("an error without a fault: \(error)") }
    switch kind {
    case .shortCount: throw Violation("a short count came out as an error: \(error)")
    case .error(SystemErrno.interrupted):
      throw Violation("an interruption came out as an error: \(error)")
    case .error(SystemErrno.noSpace) where error.code == .inputOutput:
      throw Violation("a full disk came out as \(error)")
    default: break
    }
  }
}
