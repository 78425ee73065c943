// A command line, understood: the command, its options' values and its arguments.

/// What the parser makes of a command line.
struct Invocation: Sendable {
  var command: Command
  /// Values by the option's long name; an option without a value counts as an empty one.
  var values: [String: [String]] = [:]
  /// The options with their values, in the order of the command line.
  var given: [(option: String, value: String)] = []
  var positionals: [String] = []
  /// What the command heard of damage.
  let damage = DamageHeard()

  /// Whether the option was given.
  func has(_ option: Option) -> Bool { values[option.long] != nil }

  /// The option's value; the last one, where it was given several times.
  func value(of option: Option) -> String? { values[option.long]?.last }

  /// The option's value as a number within `range`.
  func number<N: FixedWidthInteger>(of option: Option, in range: ClosedRange<N>) throws -> N? {
    try quantity(
      of: option, in: range, ["": 1], "a number from \(range.lowerBound) to \(range.upperBound)")
  }

  /// The option's value as one of those that a type has.
  func choice<Choice: RawRepresentable<String> & CaseIterable>(
    of option: Option, among _: Choice.Type
  ) throws -> Choice? {
    guard let text = value(of: option) else { return nil }
    if let choice = Choice(rawValue: text) { return choice }
    let words = Choice.allCases.map(\.rawValue)
    let list = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
    throw ToolError.usage("--\(option.long) takes \(list), not '\(text)'")
  }

  /// The path of the store: the first argument of every command that has one.
  var store: String { positionals[0] }

  /// The option's value as a number with one of some units behind it; `form` says what it takes.
  func quantity<N: FixedWidthInteger>(
    of option: Option, in range: ClosedRange<N>, _ units: [String: N], _ form: String
  ) throws -> N? {
    guard let text = value(of: option) else { return nil }
    let unit = text.last.map { $0.isNumber ? "" : String($0) } ?? ""
    guard let factor = units[unit], let number = N(text.dropLast(unit.count)),
      case (let product, false) = number.multipliedReportingOverflow(by: factor), range.contains(product)
    else { throw ToolError.usage("--\(option.long) takes \(form), not '\(text)'") }
    return product
  }
}
