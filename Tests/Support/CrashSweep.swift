// Runs a workload once and looks at the disk after a crash at every call of it, in every loss model.

/// A workload, what is to hold after a crash of it, and how much of that to try.
///
/// A failing case prints as `name@crashes`; with that line in the environment variable NOTELOG_REPLAY, only
/// this case is tried. Workloads that use one thread repeat exactly; where several run, the calls fall in
/// another order.
package struct CrashSweep<Note: Sendable>: Sendable {
  /// Throws where the disk is not as it must be. The notes are those that came before the first crash.
  package typealias Check =
    @Sendable (_ disk: SimulatedDisk, _ point: CrashPoint, _ notes: [Note]) throws -> Void

  /// Names the workload and its seed.
  package let name: String
  package let seed: UInt64
  package var losses = LossModel.allCases
  /// How many pairs of a call and a loss are tried at most, drawn by the seed; all of them if nil. Each
  /// further number is for the crashes in the recovery from one crash of the level before.
  package var budgets: [Int?] = [nil]
  /// The run. What it throws fails the sweep.
  package let workload: @Sendable (SimulatedDisk, Notebook<Note>) throws -> Void
  /// What nested crashes interrupt.
  package let recover: @Sendable (SimulatedDisk) throws -> Void
  package let check: Check

  package init(
    name: String, seed: UInt64, budgets: [Int?] = [nil],
    workload: @escaping @Sendable (SimulatedDisk, Notebook<Note>) throws -> Void,
    recover: @escaping @Sendable (SimulatedDisk) throws -> Void = { _ in },
    check: @escaping Check
  ) {
    self.name = name
    self.seed = seed
    self.budgets = budgets
    self.workload = workload
    self.recover = recover
    self.check = check
  }

  /// Tries it, and counts.
  package func run() -> CrashTally {
    let disk = SimulatedDisk()
    let notebook = Notebook<Note>(of: disk)
    var tally = CrashTally()
    do { try workload(disk, notebook) } catch {
      tally.failures.append("\(name): the workload itself: \(error)")
      return tally
    }
    if let line = TestEffort.variable("NOTELOG_REPLAY") {
      guard line.hasPrefix(name + "@"), let point = CrashPoint(line.dropFirst(name.count + 1)) else {
        return tally
      }
      repeatCrash(point, on: disk, notebook, into: &tally)
    } else {
      sweep(disk, after: CrashPoint([]), budgets[...], notesOf: notebook, into: &tally)
    }
    return tally
  }

  /// Crashes a recorded run, checks what is left, and crashes the recovery from it in turn.
  private func sweep(
    _ disk: SimulatedDisk, after earlier: CrashPoint, _ budgets: ArraySlice<Int?>,
    notesOf notebook: Notebook<Note>,
    into tally: inout CrashTally
  ) {
    guard let budget = budgets.first else { return }
    var replay = Replay(of: disk)
    var call = -1
    var seen: Set<Int> = []
    for (point, loss) in pairs(of: disk, atMost: budget) {
      if point != call { seen = [] }
      call = point
      let crash = CrashPoint.Crash(call: point, loss: loss, seed: seed)
      let (state, fingerprint) = replay.crash(after: point, loss, seed: seed)
      // Losses that leave the same disk at the same moment are one case.
      guard seen.insert(fingerprint).inserted else { continue }
      let whole = earlier.followed(by: crash)
      examine(state, whole, notebook, into: &tally)
      tally.pairs[whole.crashes.count, default: 0] += 1
      guard budgets.count > 1, tally.failures.isEmpty else { continue }
      let second = SimulatedDisk(state)
      guard (try? recover(second)) != nil else { continue }
      sweep(second, after: whole, budgets.dropFirst(), notesOf: notebook, into: &tally)
    }
  }

  /// The pairs of a call and a loss to try, in the calls' order.
  private func pairs(of disk: SimulatedDisk, atMost budget: Int?) -> [(Int, LossModel)] {
    var pairs = disk.crashPoints.flatMap { call in losses.map { (call, $0) } }
    if let budget, pairs.count > budget {
      var random = SeededGenerator(mixing: seed, 1)
      pairs.shuffle(using: &random)
      pairs = pairs.prefix(budget).sorted { $0.0 < $1.0 }
    }
    return pairs
  }

  private func examine(
    _ state: DiskState, _ point: CrashPoint, _ notebook: Notebook<Note>, into tally: inout CrashTally
  ) {
    // No crash, no case: the sweep gives every point at least one.
    guard let first = point.crashes.first else { return }
    do { try check(SimulatedDisk(state), point, notebook.notes(upToCall: first.call)) } catch {
      tally.failures.append("NOTELOG_REPLAY='\(name)@\(point)': \(error)")
    }
  }

  private func repeatCrash(
    _ point: CrashPoint, on disk: SimulatedDisk, _ notebook: Notebook<Note>, into tally: inout CrashTally
  ) {
    var disk = disk
    for (index, crash) in point.crashes.enumerated() {
      print("crash \(index + 1) after \(disk.describe(call: crash.call)), \(crash.loss.rawValue)")
      let image = disk.crashImage(after: crash.call, crash.loss, seed: crash.seed)
      if index == point.crashes.count - 1 {
        examine(image.state, point, notebook, into: &tally)
      } else {
        try? recover(image)
      }
      disk = image
    }
  }
}

/// What a sweep tried, and what it found.
package struct CrashTally: Sendable {
  /// Distinct pairs of a call and a loss that leaves another disk than the losses tried before it at that
  /// call; by how many crashes came one after another.
  package var pairs: [Int: Int] = [:]
  /// One line for each case that failed.
  package var failures: [String] = []

  package init() {}

  /// All pairs, nested ones included.
  package var pairCount: Int { pairs.values.reduce(0, +) }

  package static func + (left: CrashTally, right: CrashTally) -> CrashTally {
    var sum = left
    sum.pairs.merge(right.pairs, uniquingKeysWith: +)
    sum.failures += right.failures
    return sum
  }

  /// The first failures, for a message.
  package var summary: String {
    "\(failures.count) of \(pairCount) cases failed\n" + failures.prefix(12).joined(separator: "\n")
  }
}
