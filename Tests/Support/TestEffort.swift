// How much a test run tries: a sample of all cases, or all of them in a soak run.

import Foundation

/// How much a test run is asked to try.
package enum TestEffort {
  /// A value of the environment.
  package static func variable(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }

  /// Whether this is a soak run, which tries all cases.
  package static let isSoak = variable("NOTELOG_SOAK") == "1" || replay != nil

  /// The one case that is to be repeated, if any.
  package static let replay = variable("NOTELOG_REPLAY")

  /// Chooses the sample. `scripts/test` prints it; it is a hash of the sources and tests unless NOTELOG_SEED
  /// says another.
  package static let seed = variable("NOTELOG_SEED").flatMap { UInt64($0) } ?? 0

  /// The cases to try, in their order: one drawn from each of `count` equal parts; all of them in a soak run.
  package static func sample<Cases: RandomAccessCollection>(_ cases: Cases, _ count: Int) -> [Cases.Element] {
    if isSoak || count >= cases.count { return Array(cases) }
    var random = SeededGenerator(mixing: seed, UInt64(cases.count), UInt64(count))
    return (0..<count).map { part in
      let range = part * cases.count / count..<(part + 1) * cases.count / count
      return cases[cases.index(cases.startIndex, offsetBy: random.pick(range))]
    }
  }

  /// The seeds to try, of `total`: or the one that this variable of the environment names.
  package static func seeds(_ count: Int, of total: UInt64, orOnly name: String) -> [UInt64] {
    if let one = variable(name).flatMap({ UInt64($0) }) { return [one] }
    return sample(0..<total, count)
  }
}
