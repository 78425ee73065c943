// How long a put waits while a key is rotated, and while the same store is compacted: `notelog-bench scale
// --part rotation`.
import CPeers
import Foundation
import Notelog
import Synchronization

/// All notes of a store are sealed anew on one thread, while four others go on putting, one note a commit.
struct RotationPause {
  private static let batch = 1000
  private static let group = 64
  private static let writerCount = 4
  private static let controlSeconds = 5.0

  /// How many notes the store has: each has two fields that are sealed.
  let count: Int

  func run(at path: String, _ report: (Figure) -> Void) throws {
    var options = Store.Options()
    options.compaction = .automatic
    let store = try Store.create(at: path, unlocking: .key((0..<32).map { UInt8($0) }), options: options)
    var notes = try store.batch(of: Note.self)
    for number in 0..<count {
      try notes.put(NumberedNote.make(number))
      if notes.count == Self.batch { try notes.commit(.flushed) }
    }
    try notes.commit()
    let resealed = Tally()
    // What the same writers wait for on this machine when the fifth thread leaves the store alone: it sleeps,
    // or has a processor.
    report(try measure(store, "pause-alone", resealed) { usleep(UInt32(Self.controlSeconds * 1_000_000)) })
    report(try measure(store, "pause-busy", resealed) { Self.compute() })
    // The same records written once more, so that writers do their share of compaction and checkpoints.
    report(
      try measure(store, "pause-updates", resealed) { [count] in
        for start in stride(from: 0, to: count, by: Self.group) {
          try store.putAll((start..<min(start + Self.group, count)).map { NumberedNote.make($0) }, .buffered)
        }
      })
    report(
      try measure(store, "pause-rotation", resealed) {
        while true {
          let step = try store.rotate("default", .time(.milliseconds(20)))
          resealed.count.withLock { $0 += step.resealedCount }
          if step.isFinished { return }
          if let obstacle = step.obstacle { throw Failure("the rotation does not end: \(obstacle)") }
        }
      })
    report(try measure(store, "pause-compaction", resealed) { _ = try store.purge() })
    guard try store.countSealedValues().counts.count == 1, store.info().keys[0].generations.count == 1 else {
      throw Failure("something is under the old generation")
    }
    try store.close()
  }

  /// Keeps a processor busy with nothing of the store's.
  private static func compute() {
    let end = nowNanoseconds() + UInt64(controlSeconds * 1e9)
    var state: UInt64 = 1
    while nowNanoseconds() < end { for _ in 0..<1000 { _ = NumberedNote.mix(&state) } }
  }

  /// Runs `body` on a thread, and has others put meanwhile.
  private func measure(
    _ store: Store, _ workload: String, _ resealed: Tally,
    _ body: @escaping @Sendable () throws -> Void
  ) throws -> Figure {
    let isDone = Atomic(false)
    let times = Mutex<[UInt64]>([])
    let first = Atomic(store.info().recordCount)
    let seconds = try Threads.run(1 + Self.writerCount) { thread in
      if thread == 0 {
        defer { isDone.store(true, ordering: .releasing) }
        return try body()
      }
      var taken: [UInt64] = []
      taken.reserveCapacity(1 << 20)
      while !isDone.load(ordering: .acquiring) {
        let note = NumberedNote.make(first.add(1, ordering: .relaxed).oldValue)
        let start = nowNanoseconds()
        try store.putAll([note], .buffered)
        taken.append(nowNanoseconds() - start)
        // Not as fast as they can: the store would grow as fast as it is sealed anew.
        usleep(200)
      }
      times.withLock { $0 += taken }
    }
    let all = times.withLock { $0 }
    var figure = Figure(
      engine: "notelog", workload: workload, value: Double(all.max() ?? 0) / 1e6, unit: "ms at most")
    figure.latencies = Latencies(all)
    figure.counts = [
      ("puts", Double(all.count)), ("resealed", Double(resealed.count.withLock { $0 })), ("seconds", seconds),
    ]
    return figure
  }
}

/// How many values were sealed anew.
private final class Tally: Sendable {
  let count = Mutex(0)
}
