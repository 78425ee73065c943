// The exit codes that scripts rely on.

/// How the tool ended. The numbers never change.
enum ExitCode: Int32, CaseIterable, Sendable {
  case done = 0
  case no = 1
  case failed = 2
  case damage = 3
  case leftOut = 4
  case noStore = 10
  case busy = 11
  case locked = 12
  case usage = 64
  case interrupted = 130

  /// Takes in how a part of the work ended: damage is said before all else, and what was left out before what went well.
  mutating func meet(_ part: ExitCode) {
    if part == .damage || part == .leftOut && self != .damage { self = part }
  }

  /// What the code means, as help and man page say it.
  var meaning: String {
    switch self {
    case .done: "done"
    case .no: "answered no: nothing found, or verify found damage"
    case .failed: "failed"
    case .damage: "damage was met; what is sound was still served"
    case .leftOut: "done, but for values of more than 16 MiB, which only 'get' brings, one at a time"
    case .noStore: "there is no store at this path"
    case .busy: "another process is writing to the store"
    case .locked: "a password or key is needed, or it was wrong"
    case .usage: "the command line was not understood"
    case .interrupted: "interrupted"
    }
  }
}
