// `notelog-bench hotpath [--json] [--quick] [--case seal/64]`: sealing and opening beside C, the floor, and
// beside what others do.

import Foundation
import NotelogBenchmarks

/// The sealing hot path, measured.
///
/// For each size, Notelog and the floor in C run in turn, many short rounds in the same process; the figures
/// are medians, ratios those of rounds. Both make the same OpenSSL calls, draw nonces 4 KiB at a time and
/// write the same layout.
struct HotPath {
  static let sizes = [16, 64, 256, 1_024, 4_096, 16_384, 65_536]
  static let additionalData = (0..<64).map { UInt8($0) }
  private static let keyByte: UInt8 = 0x42

  /// Rounds of each contestant, and how long a round takes at least.
  let rounds: Int
  let roundSeconds: Double

  /// The only case to run, such as `seal/64`; nil runs all.
  let only: String?

  init(isQuick: Bool, only: String? = nil) {
    self.only = only
    rounds = isQuick ? 6 : 45
    roundSeconds = isQuick ? 0.002 : 0.03
  }

  /// One line of the result.
  struct Line {
    let name: String
    let nanoseconds: Double
    var floorNanoseconds: Double?
    var ratio: Double?
    var speedup: Double?
    var floorSpeedup: Double?
    var allocations: Double?

    var json: String {
      var text = #"{"suite":"hotpath","case":"\#(name)","nanoseconds":\#(Self.rounded(nanoseconds))"#
      if let floorNanoseconds { text += #","floorNanoseconds":\#(Self.rounded(floorNanoseconds))"# }
      if let ratio { text += #","ratio":\#(Self.rounded(ratio))"# }
      if let speedup { text += #","speedup":\#(Self.rounded(speedup))"# }
      if let floorSpeedup { text += #","floorSpeedup":\#(Self.rounded(floorSpeedup))"# }
      if let allocations { text += #","allocations":\#(Self.rounded(allocations))"# }
      return text + "}"
    }

    var row: String {
      func column(_ value: Double?, _ unit: String) -> String {
        let text = value.map { "\(Self.rounded($0)) \(unit)" } ?? ""
        return String(repeating: " ", count: max(1, 14 - text.count)) + text
      }
      return name.padding(toLength: 24, withPad: " ", startingAt: 0) + column(nanoseconds, "ns")
        + column(floorNanoseconds, "ns C") + column(ratio, "× C") + column(speedup, "× one")
        + column(allocations, "allocs")
    }

    private static func rounded(_ value: Double) -> Double {
      value < 10 ? (value * 1_000).rounded() / 1_000 : (value * 10).rounded() / 10
    }
  }

  func run(_ report: (Line) -> Void) throws {
    for size in Self.sizes {
      for verb in ["seal", "open"] where only == nil || only == "\(verb)/\(size)" {
        // Where buffers and contexts happen to lie in memory is worth some percent, to either side: so
        // several contests are held, each with its own.
        let contests = try (0..<3).map { _ in
          try Contest(isSeal: verb == "seal", size: size, keyByte: Self.keyByte)
        }
        let count = try calibrate(contests[0])
        let name = "\(verb)/\(size)"
        let rounds = try alternate(contests, count: count)
        report(
          Line(
            name: name, nanoseconds: Self.median(rounds.map(\.own)),
            floorNanoseconds: Self.median(rounds.map(\.floor)),
            ratio: Self.median(rounds.map { $0.own / $0.floor }),
            allocations: try contests[0].allocations(over: count)))
        report(
          Line(
            name: name + "/2threads", nanoseconds: Self.median(rounds.map(\.ownTwo)),
            floorNanoseconds: Self.median(rounds.map(\.floorTwo)),
            ratio: Self.median(rounds.map { $0.ownTwo / $0.floorTwo }),
            speedup: Self.median(rounds.map { $0.own / $0.ownTwo }),
            floorSpeedup: Self.median(rounds.map { $0.floor / $0.floorTwo })))
        for peer in contests[0].peers {
          let times = try (0..<max(3, self.rounds / 4)).map { _ in
            try Self.nanoseconds(1, max(1, count / 8), peer.body)
          }
          report(Line(name: "\(name)/\(peer.name)", nanoseconds: Self.median(times)))
        }
      }
    }
  }

  /// How many operations fill a round.
  private func calibrate(_ contest: Contest) throws -> Int {
    var count = 16
    while true {
      let seconds = try Self.nanoseconds(1, count, contest.floor) * Double(count) / 1e9
      if seconds > roundSeconds / 4 { return max(1, Int(Double(count) * roundSeconds / seconds)) }
      count *= 2
    }
  }

  /// What an operation took in one round, on one thread and on two.
  private struct Round {
    var own = 0.0
    var floor = 0.0
    var ownTwo = 0.0
    var floorTwo = 0.0
  }

  /// Rounds in which Notelog and the floor take turns, one thread and two: all four see the same moment of
  /// the machine, whose second processor may belong to others in the next.
  private func alternate(_ contests: [Contest], count: Int) throws -> [Round] {
    var result: [Round] = []
    for contest in contests {
      // A round of each to warm up, not counted.
      for index in -1..<(rounds / contests.count) {
        var round = Round()
        let ownFirst = index.isMultiple(of: 2)
        if ownFirst { round.own = try Self.nanoseconds(1, count, contest.notelog) }
        round.floor = try Self.nanoseconds(1, count, contest.floor)
        if !ownFirst { round.own = try Self.nanoseconds(1, count, contest.notelog) }
        if ownFirst { round.ownTwo = try Self.nanoseconds(2, count, contest.notelog) }
        round.floorTwo = try Self.nanoseconds(2, count, contest.floor)
        if !ownFirst { round.ownTwo = try Self.nanoseconds(2, count, contest.notelog) }
        if index >= 0 { result.append(round) }
      }
    }
    return result
  }

  /// Wall time divided by all operations of all threads.
  private static func nanoseconds(_ threads: Int, _ count: Int, _ body: @escaping Contest.Body) throws
    -> Double
  {
    try Threads.run(threads) { thread in try body(thread, count) } / Double(threads * count) * 1e9
  }

  private static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted[sorted.count / 2]
  }
}
