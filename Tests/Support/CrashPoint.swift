// One crash, or one crash after another, as a line that can be pasted to see it again.

/// The crashes that led to a disk: the first in the workload, each later one in the recovery from the one
/// before.
package struct CrashPoint: Sendable, Hashable, CustomStringConvertible {
  /// One crash.
  package struct Crash: Sendable, Hashable {
    /// The last call that was made.
    package let call: Int
    package let loss: LossModel
    package let seed: UInt64
  }

  package let crashes: [Crash]

  /// Whether any of the crashes took the machine down: if none did, what the system was given is still there.
  package var isPowerLoss: Bool { crashes.contains { $0.loss.isPowerLoss } }

  package init(_ crashes: [Crash]) { self.crashes = crashes }

  /// Reads what `description` wrote.
  package init?(_ text: some StringProtocol) {
    var crashes: [Crash] = []
    for part in text.split(separator: ">") {
      let fields = part.split(separator: ":")
      guard fields.count == 3, let call = Int(fields[0]), let loss = LossModel(rawValue: String(fields[1])),
        let seed = UInt64(fields[2])
      else { return nil }
      crashes.append(Crash(call: call, loss: loss, seed: seed))
    }
    self.crashes = crashes
  }

  func followed(by crash: Crash) -> CrashPoint { CrashPoint(crashes + [crash]) }

  package var description: String {
    crashes.map { "\($0.call):\($0.loss.rawValue):\($0.seed)" }.joined(separator: ">")
  }
}
