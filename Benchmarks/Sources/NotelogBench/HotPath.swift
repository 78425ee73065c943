// `notelog-bench hotpath [--json] [--quick] [--case seal/64]`: sealing and opening beside C, the floor, and beside what others do.

import Foundation
@_spi(Benchmarks) import Notelog

/// The sealing hot path, measured.
///
/// For each size, Notelog and the floor in C run in turn, many short rounds in the same process; the figures are
/// medians. Both make the same OpenSSL calls, draw nonces 4 KiB at a time and write the same layout.
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
    rounds = isQuick ? 6 : 33
    roundSeconds = isQuick ? 0.002 : 0.01
  }

  /// One line of the result.
  struct Line {
    let name: String
    let nanoseconds: Double
    var floorNanoseconds: Double?
    var speedup: Double?
    var floorSpeedup: Double?
    var allocations: Double?

    var ratio: Double? { floorNanoseconds.map { nanoseconds / $0 } }

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
        // Where buffers and contexts happen to lie in memory is worth some percent, to either side: so several
        // contests are held, each with its own.
        let contests = try (0..<3).map { _ in
          try Contest(isSeal: verb == "seal", size: size, keyByte: Self.keyByte)
        }
        let count = try calibrate(contests[0])
        let name = "\(verb)/\(size)"
        let (own, floor) = try alternate(contests, count: count, threads: 1)
        report(
          Line(
            name: name, nanoseconds: own, floorNanoseconds: floor,
            allocations: try contests[0].allocations(over: count)))
        let (ownTwo, floorTwo) = try alternate(contests, count: count, threads: 2)
        report(
          Line(
            name: name + "/2threads", nanoseconds: ownTwo, floorNanoseconds: floorTwo, speedup: own / ownTwo,
            floorSpeedup: floor / floorTwo))
        for peer in contests[0].peers {
          let time = try median(count: max(1, count / 8), peer.body)
          report(Line(name: "\(name)/\(peer.name)", nanoseconds: time))
        }
      }
    }
  }

  /// How many operations fill a round.
  private func calibrate(_ contest: Contest) throws -> Int {
    var count = 16
    while true {
      let seconds = try Self.seconds { try contest.floor(0, count) }
      if seconds > roundSeconds / 4 { return max(1, Int(Double(count) * roundSeconds / seconds)) }
      count *= 2
    }
  }

  /// The median times of an operation of Notelog and of the floor, which take turns.
  private func alternate(_ contests: [Contest], count: Int, threads: Int) throws -> (Double, Double) {
    var own: [Double] = []
    var floor: [Double] = []
    for contest in contests {
      // A round of each to warm up, not counted.
      for round in -1..<(rounds / contests.count) {
        var times: (Double, Double) = (0, 0)
        if round.isMultiple(of: 2) { times.0 = try Self.nanoseconds(threads, count, contest.notelog) }
        times.1 = try Self.nanoseconds(threads, count, contest.floor)
        if !round.isMultiple(of: 2) { times.0 = try Self.nanoseconds(threads, count, contest.notelog) }
        if round < 0 { continue }
        own.append(times.0)
        floor.append(times.1)
      }
    }
    return (Self.median(own), Self.median(floor))
  }

  private func median(count: Int, _ body: Contest.Body) throws -> Double {
    Self.median(
      try (0..<max(3, rounds / 4)).map { _ in try Self.seconds { try body(0, count) } / Double(count) * 1e9 })
  }

  /// Wall time divided by all operations of all threads.
  private static func nanoseconds(_ threads: Int, _ count: Int, _ body: @escaping Contest.Body) throws
    -> Double
  {
    guard threads > 1 else { return try seconds { try body(0, count) } / Double(count) * 1e9 }
    let crew = Crew(threads) { thread in try? body(thread, count) }
    return crew.run() / Double(threads * count) * 1e9
  }

  private static func seconds(_ body: () throws -> Void) rethrows -> Double {
    let time = try ContinuousClock().measure(body).components
    return Double(time.seconds) + Double(time.attoseconds) / 1e18
  }

  private static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted[sorted.count / 2]
  }

  /// Threads that start together.
  private final class Crew: @unchecked Sendable {
    private let ready = DispatchGroup()
    private let start = DispatchSemaphore(value: 0)
    private let done = DispatchGroup()
    private let count: Int

    // SAFETY: @unchecked because of the semaphores only, which are made to be shared.
    init(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
      self.count = count
      for index in 0..<count {
        ready.enter()
        done.enter()
        Thread { [ready, start, done] in
          ready.leave()
          start.wait()
          body(index)
          done.leave()
        }.start()
      }
    }

    /// From the start to the last one's end, in seconds.
    func run() -> Double {
      ready.wait()
      return HotPath.seconds {
        for _ in 0..<count { start.signal() }
        done.wait()
      }
    }
  }
}
