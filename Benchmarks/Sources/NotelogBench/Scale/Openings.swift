// How long opening takes: a part of `notelog-bench scale`.
import CPeers
import Foundation
import Notelog

/// Stores of several sizes, each closed in order, that are opened in turns and asked for one note.
///
/// In turns, because a machine that others share is not as fast from one minute to the next.
struct Openings {
  private static let batch = 1000
  private static let rounds = 201

  let steps: [Int]
  let credential: Credential

  func run(in folder: URL, _ report: (Figure) -> Void) throws {
    let paths = steps.map { folder.appending(path: "openings-\($0)").path }
    for (step, path) in zip(steps, paths) { try fill(path, step) }
    waitForDisk()
    var taken = [[(opening: UInt64, reading: UInt64)]](repeating: [], count: steps.count)
    for round in 0..<Self.rounds {
      // Forth and back: none always follows the same.
      for index in round % 2 == 0 ? Array(steps.indices) : steps.indices.reversed() {
        var state = UInt64(round)
        let number = Int(NumberedNote.mix(&state) >> 1) % steps[index]
        taken[index].append(try measure(paths[index], number))
      }
    }
    for (step, times) in zip(steps, taken) {
      report(figure(step, "open", times.map(\.opening)))
      report(figure(step, "first read", times.map(\.reading)))
      report(figure(step, "open + read", times.map { $0.opening + $0.reading }))
    }
    for path in paths { try FileManager.default.removeItem(atPath: path) }
  }

  private func fill(_ path: String, _ count: Int) throws {
    let store = try Store.create(at: path, unlocking: credential)
    for start in stride(from: 0, to: count, by: Self.batch) {
      let numbers = start..<min(start + Self.batch, count)
      try store.putAll(numbers.lazy.map { NumberedNote.make($0) }, .flushed)
    }
    try store.close()
  }

  private func measure(_ path: String, _ number: Int) throws -> (opening: UInt64, reading: UInt64) {
    let start = nowNanoseconds()
    let store = try Store.open(at: path, unlocking: credential)
    let opened = nowNanoseconds()
    let title = try store.get(Note.self, NumberedNote.id(number))?.title
    let end = nowNanoseconds()
    guard title == "note \(number)" else { throw Failure("note \(number) is not what was written") }
    try store.close()
    return (opened - start, end - opened)
  }

  private func figure(_ step: Int, _ workload: String, _ times: [UInt64]) -> Figure {
    var figure = Figure(
      engine: "notelog", workload: "\(step) notes: " + workload,
      value: Double(times.sorted()[times.count / 2]) / 1e6, unit: "ms")
    figure.latencies = Latencies(times)
    return figure
  }
}
