// How long a put waits while the store is compacted: a part of `notelog-bench scale`.
import CPeers
import Foundation
import Notelog
import Synchronization

/// A store of which a half is dead is compacted on one thread, while another goes on putting, one note a
/// commit.
struct CompactionPause {
  private static let batch = 1000
  /// As long as bodies are on average.
  private static let body = String(repeating: "notelog ", count: 50)

  /// What lives in the store: half of it is copied.
  let byteCount: Int

  /// Measures puts that are left to the system, and durable ones.
  func run(at path: String, _ report: (Figure) -> Void) throws {
    var options = Store.Options()
    options.compaction = .whenAsked
    let store = try Store.create(at: path, unlocking: .key((0..<32).map { UInt8($0) }), options: options)
    let count = try fill(store)
    for (round, durability) in [Durability.buffered, .durable].enumerated() {
      // A half of all notes anew, another each time: half of each segment is dead.
      try put(store, (0..<count).lazy.filter { Self.hash($0) >> UInt64(round) & 1 == 0 })
      report(try measure(store, count, durability))
    }
    try store.close()
  }

  /// Puts notes until they take as many bytes as asked for.
  private func fill(_ store: Store) throws -> Int {
    var count = 0
    while store.info().liveByteCount < byteCount {
      try put(store, count..<count + 10 * Self.batch)
      count += 10 * Self.batch
    }
    return count
  }

  private static func hash(_ number: Int) -> UInt64 {
    var state = UInt64(truncatingIfNeeded: number)
    return NumberedNote.mix(&state)
  }

  private func put(_ store: Store, _ numbers: some Sequence<Int>) throws {
    var notes = try store.batch(of: Note.self)
    for number in numbers {
      try notes.put(NumberedNote.make(number, body: Self.body))
      if notes.count == Self.batch { try notes.commit(.flushed) }
    }
    try notes.commit(.flushed)
  }

  /// Compacts, and has another thread put meanwhile.
  private func measure(_ store: Store, _ count: Int, _ durability: Durability) throws -> Figure {
    let isDone = Atomic(false)
    let times = Mutex<[UInt64]>([])
    let copied = Mutex(0.0)
    let seconds = try Threads.run(2) { thread in
      if thread == 0 {
        defer { isDone.store(true, ordering: .releasing) }
        try store.compact { done, _ in
          copied.withLock { $0 = Double(done) }
          return true
        }
        return
      }
      var taken: [UInt64] = []
      taken.reserveCapacity(1 << 22)
      var notes = try store.batch(of: Note.self)
      var number = count
      while !isDone.load(ordering: .acquiring) {
        let start = nowNanoseconds()
        try notes.put(NumberedNote.make(number, body: Self.body))
        try notes.commit(durability)
        taken.append(nowNanoseconds() - start)
        number += 1
      }
      times.withLock { $0 = taken }
    }
    let all = times.withLock { $0 }
    var figure = Figure(
      engine: "notelog", workload: "pause-\(durability)", value: Double(all.max() ?? 0) / 1e6,
      unit: "ms at most")
    figure.latencies = Latencies(all)
    figure.counts = [
      ("puts", Double(all.count)), ("copiedMegabytes", copied.withLock { $0 } / 1e6), ("seconds", seconds),
    ]
    return figure
  }
}
