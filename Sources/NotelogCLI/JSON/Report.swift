// What a command found, as one list of rows: lines for people, members of one JSON object for programs.

/// Rows, in the order in which they are printed.
struct Report {
  private(set) var lines: [String] = []
  private var members: [JSONValue.Member] = []
  /// How wide the names before the words are.
  private let width: Int

  init(width: Int) { self.width = width }

  /// Adds a row: its name and words on a line, unless there are none, and its members.
  mutating func row(_ name: String, _ words: String?, _ more: JSONValue = [:]) {
    rows(name, words.map { [$0] } ?? [], more)
  }

  /// Adds rows of the same name, whose members are one.
  mutating func rows(_ name: String, _ words: [String], _ more: JSONValue = [:]) {
    lines += words.map { name.padded(to: width) + $0 }
    add(more)
  }

  /// Adds members that no line has, or a line further up.
  mutating func add(_ more: JSONValue) {
    if case .object(let more) = more { members += more }
  }

  var json: JSONValue { .object(members) }
}

extension Console {
  /// Prints JSON on a line of its own.
  static func print(_ json: JSONValue) throws {
    try out.write(json.text + "\n")
  }
}

extension Invocation {
  /// Prints a result the way it was asked for: as JSON, or as lines.
  func print(_ lines: @autoclosure () -> [String], or json: @autoclosure () -> JSONValue) throws {
    if has(.json) { return try Console.print(json()) }
    for line in lines() { try Console.out.write(line + "\n") }
  }

  /// The same for a result of one line.
  func print(_ line: @autoclosure () -> String, or json: @autoclosure () -> JSONValue) throws {
    try print([line()], or: json())
  }

  func print(_ report: Report) throws { try print(report.lines, or: report.json) }
}
