// A command line, understood: the command, its options' values and its arguments.

/// What the parser makes of a command line.
struct Invocation: Sendable {
  var command: Command
  /// The options with their values, in the order of the command line; an option without a value has an empty
  /// one.
  var given: [(option: String, value: String)] = []
  var positionals: [String] = []
  /// What the command heard of damage.
  let damage = DamageHeard()

  /// Whether the option was given.
  func has(_ option: Option) -> Bool { given.contains { $0.option == option.long } }

  /// Which of some options was given, of which one may be; nil without one.
  func only(of options: [Option]) throws -> Option? {
    let given = options.filter(has)
    guard given.count < 2 else {
      throw ToolError.usage("--\(given[0].long) and --\(given[1].long) are both given, and one is enough")
    }
    return given.first
  }

  /// The option's value; the last one, where it was given several times.
  func value(of option: Option) -> String? { values(of: option).last }

  /// All values of an option that may be given several times.
  func values(of option: Option) -> [String] { given.filter { $0.option == option.long }.map(\.value) }

  /// The option's value as a number within `range`.
  func number<N: FixedWidthInteger>(of option: Option, in range: ClosedRange<N>) throws -> N? {
    try quantity(of: option, in: range, ["": 1], "a number from \(range.lowerBound) to \(range.upperBound)")
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

  /// The option's value as a time, in seconds: `90s`, `15m`, `12h` or `30d`.
  func seconds(of option: Option, upTo limit: UInt32? = nil) throws -> UInt32? {
    let form = "a time like 90s, 15m, 12h or 30d" + (limit.map { ", up to \($0 / 3600)h" } ?? "")
    return try quantity(of: option, in: 1...(limit ?? .max), ["s": 1, "m": 60, "h": 3600, "d": 86_400], form)
  }

  /// The option's value as a number of bytes: `65536`, `64K`, `4M` or `1G`.
  func byteCount(of option: Option, in range: ClosedRange<Int>? = nil) throws -> Int? {
    let form = range.map { "from \($0.lowerBound >> 10)K to \($0.upperBound >> 20)M" } ?? "like 64M or 1G"
    return try quantity(
      of: option, in: range ?? 0...Int.max, ["": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30],
      "a number of bytes " + form)
  }
}
