// What the tool says when it cannot go on: a message, perhaps a hint, and the exit code.

/// An error for the person at the terminal; the message is lower case and without a full stop.
struct ToolError: Error, Equatable, Sendable {
  var code: ExitCode
  var message: String
  var hint: String?
  /// Whether what was asked for may be done all the same.
  var isOutcomeUnknown = false

  init(_ code: ExitCode, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// An error in the command line itself.
  static func usage(_ message: String, hint: String? = nil) -> ToolError {
    ToolError(.usage, message, hint: hint)
  }

  /// The reader of stdout went away: the tool ends without a word.
  static let closedPipe = ToolError(.done, "the reader of standard output went away")

  static let interrupted = ToolError(.interrupted, "interrupted")
}
