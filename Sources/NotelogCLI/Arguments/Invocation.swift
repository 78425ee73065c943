// A command line, understood: the command, its options' values and its arguments.

/// What the parser makes of a command line.
struct Invocation: Sendable {
  var command: Command
  /// Values by the option's long name; an option without a value counts as an empty one.
  var values: [String: [String]] = [:]
  var positionals: [String] = []

  /// Whether the option was given.
  func has(_ option: Option) -> Bool { values[option.long] != nil }

  /// The option's value; the last one, where it was given several times.
  func value(of option: Option) -> String? { values[option.long]?.last }

  /// The option's value as a number within `range`.
  func number<N: FixedWidthInteger>(
    of option: Option, in range: ClosedRange<N>
  ) throws(ToolError) -> N? {
    guard let text = value(of: option) else { return nil }
    guard let number = N(text), range.contains(number) else {
      throw .usage(
        "--\(option.long) takes a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }
    return number
  }

  /// The path of the store: the first argument of every command that has one.
  var store: String { positionals[0] }
}
