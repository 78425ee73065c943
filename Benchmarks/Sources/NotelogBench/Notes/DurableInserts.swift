// Durable commits of all engines, in turns.
import CPeers
import Foundation

/// One note a commit, and a sync: what the device does in one moment it doesn't in the next, so that engines
/// measured one after the other are measured on different devices. They are all open at once, and go on by
/// some hundred commits in turn.
struct DurableInserts {
  private static let turnCount = 10
  /// How many notes one writer inserts; several together insert four times as many.
  private static let countOfOne = 2000

  let dataset: Dataset
  let writers: Int

  var workload: String { writers == 1 ? "durable-insert" : "durable-insert-\(writers)" }

  /// An engine's sessions, one for each writer, and what they have done.
  private struct Entrant {
    let sessions: Sessions
    let times: LatencyTable
    var seconds = 0.0
  }

  /// Measures the engines, each in a folder of its own.
  func run(_ engines: [any NoteEngine], in folder: URL, _ report: (Figure) -> Void) throws {
    let count = min(dataset.count, Self.countOfOne * (writers == 1 ? 1 : 4))
    var entrants = try engines.map { engine in
      let path = folder.appending(path: "\(workload)-\(engine.name)").path
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try engine.open(path, EngineOptions(isDurable: true))
      return Entrant(
        sessions: Sessions(try (0..<writers).map { _ in try engine.session() }),
        times: LatencyTable(count))
    }
    for turn in 0..<Self.turnCount {
      let part = count * turn / Self.turnCount..<count * (turn + 1) / Self.turnCount
      for index in entrants.indices {
        // None always follows the same.
        let index = (index + turn) % entrants.count
        entrants[index].seconds += try insert(part, entrants[index])
      }
    }
    for (engine, entrant) in zip(engines, entrants) {
      var figure = Figure(
        engine: engine.name, workload: workload, value: Double(count) / entrant.seconds, unit: "notes/s")
      figure.latencies = entrant.times.latencies
      report(figure)
    }
    // Sessions end before their engines close.
    entrants.removeAll()
    for engine in engines { try engine.close() }
  }

  /// Inserts a range of notes, and says how long that took.
  private func insert(_ part: Range<Int>, _ entrant: Entrant) throws -> Double {
    let (writers, sessions, sink) = (writers, entrant.sessions, entrant.times.sink)
    return try Threads.run(writers) { writer in
      let start = part.lowerBound + part.count * writer / writers
      let end = part.lowerBound + part.count * (writer + 1) / writers
      try sessions[writer].insert(start..<end, batch: 1, sink.dropping(start))
    }
  }
}

/// The times of operations that several threads do, each in places of its own.
@safe private final class LatencyTable: Sendable {
  // SAFETY: allocated in init, freed in deinit.
  private nonisolated(unsafe) let base: UnsafeMutablePointer<UInt64>
  private let count: Int

  init(_ count: Int) {
    self.count = count
    unsafe base = .allocate(capacity: count)
    unsafe base.initialize(repeating: 0, count: count)
  }

  deinit { unsafe base.deallocate() }

  var sink: LatencySink { unsafe LatencySink(base) }

  var latencies: Latencies? { unsafe Latencies(Array(UnsafeBufferPointer(start: base, count: count))) }
}
