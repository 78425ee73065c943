// `notelog-bench hotpath [--json] [--quick]`: sealing and opening beside C, the floor, and beside what others do.

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

  init(isQuick: Bool) {
    rounds = isQuick ? 5 : 31
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
      for verb in ["seal", "open"] {
        let bench = try Contest(isSeal: verb == "seal", size: size, keyByte: Self.keyByte)
        let count = try calibrate(bench)
        let (own, floor) = try alternate(bench.notelog, bench.floor, count: count, threads: 1)
        let name = "\(verb)/\(size)"
        report(
          Line(
            name: name, nanoseconds: own, floorNanoseconds: floor, allocations: try bench.allocations(over: count)))
        let (ownTwo, floorTwo) = try alternate(bench.notelog, bench.floor, count: count, threads: 2)
        report(
          Line(
            name: name + "/2threads", nanoseconds: ownTwo, floorNanoseconds: floorTwo, speedup: own / ownTwo,
            floorSpeedup: floor / floorTwo))
        for peer in bench.peers {
          let time = try median(count: max(1, count / 8), peer.body)
          report(Line(name: "\(name)/\(peer.name)", nanoseconds: time))
        }
      }
    }
  }

  /// How many operations fill a round.
  private func calibrate(_ bench: Contest) throws -> Int {
    var count = 16
    while true {
      let seconds = try Self.seconds { try bench.floor(0, count) }
      if seconds > roundSeconds / 4 { return max(1, Int(Double(count) * roundSeconds / seconds)) }
      count *= 2
    }
  }

  /// The median times of an operation of two contestants that take turns.
  private func alternate(
    _ one: @escaping Contest.Body, _ other: @escaping Contest.Body, count: Int, threads: Int
  ) throws -> (Double, Double) {
    var times: ([Double], [Double]) = ([], [])
    // One round of each to warm up, not counted.
    for round in -1..<rounds {
      let pair: (Double, Double)
      if round.isMultiple(of: 2) {
        let first = try Self.nanoseconds(threads, count, one)
        pair = (first, try Self.nanoseconds(threads, count, other))
      } else {
        let first = try Self.nanoseconds(threads, count, other)
        pair = (try Self.nanoseconds(threads, count, one), first)
      }
      if round < 0 { continue }
      times.0.append(pair.0)
      times.1.append(pair.1)
    }
    return (Self.median(times.0), Self.median(times.1))
  }

  private func median(count: Int, _ body: Contest.Body) throws -> Double {
    Self.median(try (0..<max(3, rounds / 4)).map { _ in try Self.seconds { try body(0, count) } / Double(count) * 1e9 })
  }

  /// Wall time divided by all operations of all threads.
  private static func nanoseconds(_ threads: Int, _ count: Int, _ body: @escaping Contest.Body) throws -> Double {
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
