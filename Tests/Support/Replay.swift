// Walks through a recorded run, and crashes at any moment of it.

import NotelogBase

/// A recorded run, replayed call by call: going forward costs what the calls in between changed.
struct Replay: Sendable {
  private let initial: DiskState
  private let steps: [SimulatedDisk.Step]
  private var state: DiskState
  private var next = 0

  init(of disk: SimulatedDisk) {
    (initial, steps) = disk.core.withLock { ($0.initial, $0.steps) }
    state = initial
  }

  /// The disk as the running system sees it just after a call.
  mutating func advance(toAfter call: Int) -> DiskState {
    if next > 0, steps[next - 1].call > call {
      state = initial
      next = 0
    }
    while next < steps.count, steps[next].call <= call {
      state.apply(steps[next].effect)
      next += 1
    }
    return state
  }

  /// The disk after a crash that followed the call, and a number that differs where the disk does.
  mutating func crash(
    after call: Int, _ loss: LossModel, seed: UInt64
  ) -> (disk: DiskState, fingerprint: Int) {
    var random = SeededGenerator(
      mixing: seed, UInt64(call), UInt64(LossModel.allCases.firstIndex(of: loss) ?? 0))
    return advance(toAfter: call).afterCrash(loss, using: &random)
  }
}
