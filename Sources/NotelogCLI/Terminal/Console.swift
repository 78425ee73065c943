// Where a command's words go: data to stdout, everything else to stderr.
import Foundation

/// The tool's outside: its outputs and what they are connected to.
struct Console: Sendable {
  let out = Output(descriptor: STDOUT_FILENO)
  let outIsTerminal = isatty(STDOUT_FILENO) == 1
  let errorIsTerminal = isatty(STDERR_FILENO) == 1
  /// Colour only on a terminal that has it, and only if the user did not refuse it.
  let outHasColour: Bool

  init() {
    let environment = ProcessInfo.processInfo.environment
    outHasColour = outIsTerminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
  }

  /// One line on stderr, `notelog: error: …` for instance. It is for people: what is kept in a log reaches a terminal later.
  func say(_ kind: String, _ message: String) {
    // Nothing can be done where even stderr is gone.
    try? Output(descriptor: STDERR_FILENO).writeNow("notelog: \(kind): \(Escaping.line(message))\n")
  }

  /// Asks on the terminal whether to go on: whatever is no yes is a no.
  func confirm(_ question: String) throws(ToolError) {
    guard isatty(STDIN_FILENO) == 1, errorIsTerminal else {
      throw .usage("without a terminal to ask, --yes goes on")
    }
    try Output(descriptor: STDERR_FILENO).writeNow(Escaping.line(question) + " [y/N] ")
    guard ["y", "yes"].contains(readLine()?.lowercased()) else {
      throw ToolError(.no, "nothing was changed")
    }
  }

  /// Stored text for one line of output, its control characters escaped: what programs read is JSON.
  func line(_ text: String) -> String { Escaping.line(text) }

  /// `text` in an ANSI style, where the terminal has colour.
  func styled(_ text: String, _ style: Style) -> String {
    outHasColour ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  enum Style: Int, Sendable {
    case bold = 1
    case dim = 2
    case red = 31
    case green = 32
  }
}

/// `1 segment`, `2 segments`.
func counted(_ count: Int, _ noun: String) -> String {
  "\(count) \(noun)\(count == 1 ? "" : "s")"
}
