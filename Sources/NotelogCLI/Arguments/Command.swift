// One command of the tool, and the table of them all.

/// A command: its words, its arguments, its help, and what it does.
struct Command: Sendable {
  /// `["list"]`, or `["password", "add"]`.
  var words: [String]
  /// One line, in lower case, without a full stop.
  var summary: String
  /// Paragraphs, for `--help` and the man page.
  var discussion: [String] = []
  var positionals: [Positional] = []
  var options: [Option] = []
  /// A command line as one would type it, with what it does.
  var examples: [Example] = []
  var run: @Sendable (Invocation, Console) throws(ToolError) -> ExitCode

  struct Example: Sendable {
    var line: String
    var does: String
  }

  var name: String { words.joined(separator: " ") }

  /// `notelog list [OPTION]... STORE [COLLECTION]`.
  var synopsis: String {
    let parts = ["notelog", name] + (options.isEmpty ? [] : ["[OPTION]..."]) + positionals.map(\.synopsis)
    return parts.joined(separator: " ")
  }

  /// The command's own options, then the common ones.
  var allOptions: [Option] { options + Option.common }
}

/// All commands that the tool has, in the order in which help lists them.
struct CommandTable: Sendable {
  var commands: [Command]

  /// - Precondition: an option's name means the same to every command, with a value or without one.
  init(_ commands: [Command]) {
    self.commands = commands
    var takesValue: [String: Bool] = [:]
    for option in commands.flatMap(\.options) + Option.common {
      let known = takesValue.updateValue(option.value != nil, forKey: option.long)
      precondition(known == nil || known == (option.value != nil), "--\(option.long) has two meanings")
    }
  }

  /// Every option of every command, once.
  var options: [Option] {
    var seen: Set<String> = []
    return (Option.common + commands.flatMap(\.options)).filter { seen.insert($0.long).inserted }
  }

  /// The first words of the commands, once each, in table order.
  var firstWords: [String] {
    var seen: Set<String> = []
    return commands.map { $0.words[0] }.filter { seen.insert($0).inserted }
  }

  /// The commands that begin with `words`.
  func commands(beginning words: [String]) -> [Command] {
    commands.filter { $0.words.starts(with: words) }
  }
}
